"""The rows of a join's streams that can have partners: in time, with a time, with keys that something can equal, and
with nothing against them in conditions on their stream alone.

The others are counted, by reason, and never lost silently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.residual import Check
from thalweg.plan.join_graph import Key
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.watermark import BEGINNING, Watermarks

Words = NDArray[np.int64]


@dataclass(slots=True)
class StreamCounts:
    """Of one stream's rows. Additive."""

    rows: int = 0
    late: int = 0
    most_late: int = 0
    """Ticks by which a row was late, at most."""
    filtered: int = 0
    """Dropped by a condition on this stream alone."""
    ahead: int = 0
    """Of a time later than is believed: joined, but the watermark does not follow them."""
    no_time: int = 0
    no_key: int = 0
    """A null among its keys, or a value no partner can have: never in a result."""
    results: int = 0
    """That came with a row of this stream."""
    expired: int = 0
    looked: int = 0
    """Entries of indexes compared while results were put together."""
    most_rows: int = 0
    """That its window held at once."""
    most_bytes: int = 0
    putting_ns: int = 0
    """Spent on putting results together and on inserting."""
    compiling_ns: int = 0
    """Spent on compiling and loading compiled loops, which no other time includes."""
    most_matches: int = 0
    hottest: str = ""
    """The keys of the row with the most results; empty with `redact`."""

    def counted_elsewhere(self) -> None:
        """Of rows that several have: who joins them says what came of it, one says how many there were."""
        self.rows = self.late = self.filtered = self.ahead = self.no_time = self.no_key = 0


@dataclass(frozen=True, slots=True)
class SetAside:
    """Rows of a stream that are not joined."""

    stream: str
    why: str
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows that take part."""

    batch: pa.RecordBatch
    keys: dict[Key, Words]
    times: Words
    ends: Words
    """Until when each may have partners."""


class JoinIntake:
    """Counts and watermarks of the streams."""

    def __init__(self, binding: JoinBinding) -> None:
        self.binding = binding
        self.watermarks = Watermarks(binding.lateness)
        self.counts = {alias: StreamCounts() for alias in binding.plan.graph.aliases}
        self.told = False
        """Whether somebody who sees all rows of a stream tells the latest time, as Spark's buckets do not."""
        self.set_aside: list[SetAside] | None = None
        """Rows that were late or had no time, where somebody asks for them."""
        self._checks = {
            alias: [Check(r) for r in binding.plan.residuals if r.at_intake and r.streams == (alias,)]
            for alias in binding.plan.graph.aliases
        }

    def admit(self, alias: str, batch: pa.RecordBatch) -> Admitted | None:
        """What is left of a batch; None: nothing."""
        found = self.in_time(alias, batch)
        return None if found is None else self._with_partners(alias, *found)

    def in_time(self, alias: str, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Words] | None:
        """The rows of a batch that have a time and are not late, with their times; None: no row has a time."""
        counts = self.counts[alias]
        counts.rows += batch.num_rows
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
        if latest is not None and not self.told:
            self.watermarks.seen(alias, latest)
        mark = self.watermarks.query
        if mark is not None and int(times.min()) < mark:
            in_time = times >= mark
            counts.late += batch.num_rows - int(in_time.sum())
            counts.most_late = max(counts.most_late, mark - int(times.min()))
            self._put_aside(alias, "late", batch, ~in_time)
            batch, times = only(batch, in_time), times[in_time]
        return batch, times

    def admit_table(self, alias: str, batch: pa.RecordBatch) -> Admitted | None:
        """Rows of a table: without a time, they join with rows of any."""
        self.counts[alias].rows += batch.num_rows
        batch = self.binding.plain(alias, batch)
        return self._with_partners(alias, batch, np.full(batch.num_rows, BEGINNING, np.int64))

    def _with_partners(self, alias: str, batch: pa.RecordBatch, times: Words) -> Admitted | None:
        """Those with nothing against them but what other streams hold."""
        counts = self.counts[alias]
        for check in self._checks[alias]:  # rows that cannot be in a result need no place in a window
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
        """The rows set aside since the last call; none where nobody asks for them."""
        if self.set_aside is None:
            return []
        aside, self.set_aside = self.set_aside, []
        return aside

    def _put_aside(self, alias: str, why: str, batch: pa.RecordBatch, rows: NDArray[np.bool_]) -> None:
        if self.set_aside is not None:
            self.set_aside.append(SetAside(alias, why, only(batch, rows)))


def latest_of(times: Words, bound: int | None) -> tuple[int | None, int]:
    """The largest time that is believed, if any is, and how many are beyond the bound.

    >>> latest_of(np.array([3, 9, 5]), None), latest_of(np.array([3, 9, 5]), 6), latest_of(np.array([9]), 6)
    ((9, 0), (5, 1), (None, 1))
    """
    if len(times) and bound is not None and int(times.max()) > bound:
        believed = times[times <= bound]
        return (int(believed.max()) if len(believed) else None), len(times) - len(believed)
    return (int(times.max()) if len(times) else None), 0


def only(batch: pa.RecordBatch, rows: NDArray[np.bool_]) -> pa.RecordBatch:
    """The rows where it is true."""
    return batch.filter(pa.array(rows))
