"""Aggregates over windows of time in this process: Arrow batches in, the groups of closed windows out.

Every batch is a round, and one of more than `ROUND_ROWS` rows several. The watermark is the largest time of finished
rounds minus the lateness; a window is given out when the watermark has passed its end, and all of them when the input
has ended. Where the watermark is known elsewhere, as for joined rows or rows that were filtered, every batch is a
round, and the watermark at its end is asked for after the batch has been added.

>>> from thalweg.plan.group_spec import AggregateColumn
>>> from thalweg.plan.window import GroupWindow
>>> spec = GroupSpec("t", GroupWindow(10, 10), (), (AggregateColumn("count", None, pa.int64()),))
>>> batches = [pa.record_batch({"t": times}) for times in ([1, 2], [12, 5], [9, 31])]
>>> [batch.to_pylist() for batch in aggregate_batches(batches, spec)]
... # doctest: +NORMALIZE_WHITESPACE
[[{'window_start': 0, 'window_end': 10, 'agg 0': 3}],
 [{'window_start': 10, 'window_end': 20, 'agg 0': 1}],
 [{'window_start': 30, 'window_end': 40, 'agg 0': 1}]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.kernels.window_groups import WindowGroups
from thalweg.plan.group_spec import GroupSpec
from thalweg.runtime.local.operator import PORT, Operator, Passed, empty_batch
from thalweg.runtime.local.rounds import in_rounds
from thalweg.runtime.watermark import END, Watermarks

if TYPE_CHECKING:
    from thalweg.runtime.local.virtual.clock import Clock

RESULT_ROWS = 32_768
"""Of a batch, at most."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Since the beginning."""

    rows: int
    late: int
    """Not added to any window."""
    most_late: int
    """Ticks by which a row was late, at most."""
    no_time: int
    results: int
    held: int
    """Rows of state, now."""
    most_held: int
    watermark: int | None


Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]


class Grouping(Operator):
    """Groups of windows, given out when a mark has passed a window's end. Marks are ticks of the time column.

    `prepared`: what makes the columns that are grouped, and these columns; None: rows bring them."""

    def __init__(
        self, spec: GroupSpec, prepared: tuple[Prepare, pa.Schema] | None = None, *, name: str = "groups",
        reads: str = "",
    ) -> None:  # fmt: skip
        self.name, self.reads = name, {PORT: reads}
        self.spec, self._prepared = spec, prepared

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Begin anew."""
        schema = schemas[PORT] if self._prepared is None else self._prepared[1]
        self.groups = WindowGroups(self.spec, schema)
        self.results = self.most_held = 0
        return self.groups.output

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Nothing comes out before a mark."""
        self.groups.add(rows if self._prepared is None else self._prepared[0](rows))
        self.most_held = max(self.most_held, len(self.groups))
        yield from ()

    def mark(self, port: str, mark: int) -> Passed:
        """The groups that are closed by it."""
        closed = self.groups.close_all() if mark == END else self.groups.close(mark)
        self.results += closed.num_rows
        return Passed(mark, tuple(closed.combine_chunks().to_batches(RESULT_ROWS)))

    def counts(self, watermark: int | None) -> GroupCounts:
        """So far."""
        groups = self.groups
        counts = (groups.rows, groups.late, groups.most_late, groups.no_time)
        return GroupCounts(*counts, self.results, len(groups), self.most_held, watermark)

    def windows(self) -> tuple[int, int]:
        """Of the groups that are open."""
        return len(self.groups), self.groups.nbytes

    def late(self) -> int:
        """Rows in no group."""
        return self.groups.late


def aggregate_batches(
    batches: Iterable[pa.RecordBatch],
    spec: GroupSpec,
    lateness_ticks: int = 0,
    told: Callable[[GroupCounts], None] | None = None,
    *,
    watermark: Callable[[], int | None] | None = None,
    schema: pa.Schema | None = None,
) -> Iterator[pa.RecordBatch]:
    """The groups of closed windows; at least one batch, which may be empty, unless there is none to take columns from
    and no schema. `told` hears the counts after every round and at the end; `watermark` gives the one at the end of the
    round that was read last, which the rows themselves do not move then."""
    if lateness_ticks < 0:
        raise PlanError(f"lateness={lateness_ticks}: must not be negative; 0 is the least")
    operator = Grouping(spec)
    if schema is not None:
        operator.set_up({PORT: schema})
    marks = Watermarks({spec.time: lateness_ticks})
    rounds = in_rounds(batches) if watermark is None else batches
    return grouped_batches(rounds, operator, marks, watermark, told, is_set_up=schema is not None)


def grouped_batches(
    rounds: Iterable[pa.RecordBatch],
    operator: Grouping,
    marks: Watermarks,
    watermark: Callable[[], int | None] | None,
    told: Callable[[GroupCounts], None] | None,
    *,
    is_set_up: bool = True,
) -> Iterator[pa.RecordBatch]:
    """As `aggregate_batches`, of an operator. Without `watermark` it is found from the rows, by the lateness of
    `marks`."""
    time = operator.spec.time

    def tell() -> None:
        if told is not None:
            told(operator.counts(marks.query))

    for batch in rounds:
        if not is_set_up:
            operator.set_up({PORT: batch.schema})
            is_set_up = True
        yield from operator.serve(PORT, batch)
        if watermark is not None:
            marks.give(time, watermark())
        elif operator.groups.latest is not None:
            marks.seen(time, operator.groups.latest)
        marks.end_round()
        if marks.query is not None:
            yield from operator.mark(PORT, marks.query).rows
        tell()
    if not is_set_up:
        return
    yield from operator.mark(PORT, END).rows
    if not operator.results:
        yield empty_batch(operator.groups.output)
    tell()
