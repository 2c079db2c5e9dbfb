"""Aggregates over windows of time in this process: takes Arrow batches and returns the groups of closed windows.

Every batch is a round; a batch of more than `ROUND_ROWS` rows is several. The watermark is the largest time of finished
rounds minus the lateness. A window is returned when the watermark has passed its end; all windows are returned when the
input has ended. If the watermark is known elsewhere, as for joined or filtered rows, every batch is a round, and the
watermark at its end is requested after the batch has been added.

>>> from thalweg.plan.query.group_spec import AggregateColumn
>>> from thalweg.plan.joins.window import GroupWindow
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
from thalweg.plan.query.group_spec import GroupSpec
from thalweg.runtime.local.operator import PORT, AfterMark, Operator, empty_batch
from thalweg.runtime.local.rounds import in_rounds
from thalweg.runtime.watermark import END, Watermarks

if TYPE_CHECKING:
    from thalweg.runtime.clock import Clock

RESULT_ROWS = 32_768
"""The most rows of a batch of results."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counters of the groups since the start."""

    rows: int
    late: int
    """Late rows, which are not added to any window."""
    most_late: int
    """The most ticks by which a row was late."""
    no_time: int
    results: int
    held: int
    """Rows of state held now."""
    most_held: int
    watermark: int | None


Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]


class GroupingOperator(Operator):
    """Groups of windows, returned when a mark has passed a window's end. Marks are ticks of the time column.

    `prepared`: a function that computes the columns to group, and their schema; None if rows already have them."""

    def __init__(
        self, spec: GroupSpec, prepared: tuple[Prepare, pa.Schema] | None = None, *, name: str = "groups",
        reads: str = "",
    ) -> None:  # fmt: skip
        self.name, self.reads = name, {PORT: reads}
        self.spec, self._prepared = spec, prepared

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Start with empty groups, and return the schema of the results."""
        schema = schemas[PORT] if self._prepared is None else self._prepared[1]
        self.groups = WindowGroups(self.spec, schema)
        self.results = self.most_held = 0
        return self.groups.output

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add rows to the groups. No results are returned before a mark."""
        self.groups.add(rows if self._prepared is None else self._prepared[0](rows))
        self.most_held = max(self.most_held, len(self.groups))
        yield from ()

    def mark(self, port: str, mark: int) -> AfterMark:
        """Return the groups that a mark closes."""
        return AfterMark(mark, tuple(self.closed(mark)))

    def closed(self, mark: int) -> Iterator[pa.RecordBatch]:
        """Return the groups that a mark closes, computed on demand: there may be more than memory can hold."""
        for table in self.groups.closing(mark):
            self.results += table.num_rows
            yield from table.combine_chunks().to_batches(RESULT_ROWS)

    def counts(self, watermark: int | None) -> GroupCounts:
        """Return the counters so far."""
        groups = self.groups
        counts = (groups.rows, groups.late, groups.most_late, groups.no_time)
        return GroupCounts(*counts, self.results, len(groups), self.most_held, watermark)

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes of the open groups."""
        return len(self.groups), self.groups.nbytes

    def late(self) -> int:
        """Return the number of rows that came too late for any group."""
        return self.groups.late


def aggregate_batches(
    batches: Iterable[pa.RecordBatch],
    spec: GroupSpec,
    lateness_ticks: int = 0,
    report: Callable[[GroupCounts], None] | None = None,
    *,
    watermark: Callable[[], int | None] | None = None,
    schema: pa.Schema | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return the groups of closed windows: at least one batch, which may be empty, unless there is neither a batch nor
    a schema to take columns from. `report` is called with the counters after every round and at the end. `watermark`
    returns the watermark at the end of the last round; if it is given, the rows do not move the watermark."""
    if lateness_ticks < 0:
        raise PlanError(f"lateness={lateness_ticks}: must not be negative; use 0 or more")
    operator = GroupingOperator(spec)
    if schema is not None:
        operator.set_up({PORT: schema})
    marks = Watermarks({spec.time: lateness_ticks})
    rounds = in_rounds(batches) if watermark is None else batches
    return grouped_batches(rounds, operator, marks, watermark, report, is_set_up=schema is not None)


def grouped_batches(
    rounds: Iterable[pa.RecordBatch],
    operator: GroupingOperator,
    marks: Watermarks,
    watermark: Callable[[], int | None] | None,
    report: Callable[[GroupCounts], None] | None,
    *,
    is_set_up: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Like `aggregate_batches`, for an operator. Without `watermark`, the watermark is computed from the rows with the
    lateness of `marks`."""
    time = operator.spec.time

    def report_counts() -> None:
        if report is not None:
            report(operator.counts(marks.query))

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
            yield from operator.closed(marks.query)
        report_counts()
    if not is_set_up:
        return
    yield from operator.closed(END)
    if not operator.results:
        yield empty_batch(operator.groups.output)
    report_counts()
