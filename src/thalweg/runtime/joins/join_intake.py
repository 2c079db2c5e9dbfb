"""The rows of a join's streams that can have partners: they have a time and are not late, their keys can be equal to
others, and they satisfy the conditions on their stream alone.

All other rows are counted by reason, and never lost silently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.events.parts import JoinedCounts
from thalweg.kernels.residual import ResidualCheck
from thalweg.plan.joins.graph import KeyClasses
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.watermark import BEGINNING, Watermarks

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SetAside:
    """Rows of a stream that are not joined, and the reason."""

    stream: str
    why: str
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows that take part in the join."""

    batch: pa.RecordBatch
    keys: dict[KeyClasses, Words]
    times: Words
    ends: Words
    """The time until which each row may have partners."""


class JoinIntake:
    """Selects the rows that take part in a join, and keeps the counters and watermarks of the streams."""

    def __init__(self, binding: JoinBinding) -> None:
        self.binding = binding
        self.watermarks = Watermarks(binding.lateness)
        self.counts = {
            alias: JoinedCounts.none(len(binding.plan.graph.aliases) - 1) for alias in binding.plan.graph.aliases
        }
        self.latest_is_given = False
        """Whether the latest time is set from outside. Spark's buckets do not see all rows of a stream."""
        self.set_aside: list[SetAside] | None = None
        """Rows that were late or had no time; None if they are not requested."""
        self._checks = {
            alias: [ResidualCheck(r) for r in binding.plan.residuals if r.at_intake and r.streams == (alias,)]
            for alias in binding.plan.graph.aliases
        }

    def admit(self, alias: str, batch: pa.RecordBatch) -> Admitted | None:
        """Return the rows of a batch that take part; None if there are none."""
        found = self.in_time(alias, batch)
        return None if found is None else self._with_partners(alias, *found)

    def in_time(self, alias: str, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Words] | None:
        """Return the rows of a batch that have a time and are not late, with their times; None if no row has a time."""
        counts = self.counts[alias].stream
        counts.rows += batch.num_rows
        counts.batches += 1
        batch = self.binding.plain(alias, batch)
        times, known = self.binding.times(alias, batch)
        if known is not None:
            counts.no_time += batch.num_rows - int(known.sum())
            self._put_aside(alias, "no time", batch, ~known)
            batch, times = only(batch, known), times[known]
        if not batch.num_rows:
            return None
        bound = self.watermarks.bound
        latest, beyond = latest_of(times, bound)
        counts.ahead += beyond
        if latest is not None and not self.latest_is_given:
            self.watermarks.seen(alias, latest)
        mark = self.watermarks.query
        if mark is not None and int(times.min()) < mark:
            in_time = times >= mark
            counts.late += batch.num_rows - int(in_time.sum())
            counts.most_late = max(counts.most_late, mark - int(times.min()))
            self._put_aside(alias, "late", batch, ~in_time)
            batch, times = only(batch, in_time), times[in_time]
        trusted = times[times <= bound] if beyond and bound is not None else times
        if len(trusted):
            first, last = int(trusted.min()), int(trusted.max())
            counts.first_time = first if counts.first_time is None else min(first, counts.first_time)
            counts.last_time = last if counts.last_time is None else max(last, counts.last_time)
        return batch, times

    def admit_table(self, alias: str, batch: pa.RecordBatch) -> Admitted | None:
        """Return the rows of a table that take part. They have no time, and join with rows of any time."""
        self.counts[alias].stream.rows += batch.num_rows
        batch = self.binding.plain(alias, batch)
        return self._with_partners(alias, batch, np.full(batch.num_rows, BEGINNING, np.int64))

    def _with_partners(self, alias: str, batch: pa.RecordBatch, times: Words) -> Admitted | None:
        """Return the rows that satisfy the conditions on their stream alone, and whose keys can have partners."""
        counts = self.counts[alias].stream
        for check in self._checks[alias]:  # rows that cannot be in a result must not take space in a window
            passed = check({(a, n): batch.column(n) for a, n in check.residual.columns})
            if not passed.all():
                counts.filtered += batch.num_rows - int(passed.sum())
                batch, times = only(batch, passed), times[passed]
        keys, usable = self.binding.keys(alias, batch)
        if usable is not None and not usable.all():
            counts.no_key += batch.num_rows - int(usable.sum())
            batch, times = only(batch, usable), times[usable]
            keys = {key: words[usable] for key, words in keys.items()}
        if not batch.num_rows:
            return None
        return Admitted(batch, keys, times, self.binding.ends(alias, batch, times))

    def take_aside(self) -> list[SetAside]:
        """Return the rows set aside since the last call; none if they are not requested."""
        if self.set_aside is None:
            return []
        aside, self.set_aside = self.set_aside, []
        return aside

    def _put_aside(self, alias: str, why: str, batch: pa.RecordBatch, rows: NDArray[np.bool_]) -> None:
        if self.set_aside is not None:
            self.set_aside.append(SetAside(alias, why, only(batch, rows)))


def latest_of(times: Words, bound: int | None) -> tuple[int | None, int]:
    """Return the largest trusted time, or None if there is none, and the number of times beyond the bound.

    >>> latest_of(np.array([3, 9, 5]), None), latest_of(np.array([3, 9, 5]), 6), latest_of(np.array([9]), 6)
    ((9, 0), (5, 1), (None, 1))
    """
    if len(times) and bound is not None and int(times.max()) > bound:
        trusted = times[times <= bound]
        return (int(trusted.max()) if len(trusted) else None), len(times) - len(trusted)
    return (int(times.max()) if len(times) else None), 0


def only(batch: pa.RecordBatch, rows: NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the rows for which `rows` is true."""
    return batch.filter(pa.array(rows))
