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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.kernels.window_groups import WindowGroups
from thalweg.plan.group_spec import GroupSpec
from thalweg.runtime.local.rounds import in_rounds
from thalweg.runtime.watermark import Watermarks

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
    groups = None if schema is None else WindowGroups(spec, schema)
    return _aggregated(batches, spec, groups, Watermarks({spec.time: lateness_ticks}), told, watermark)


def _aggregated(
    batches: Iterable[pa.RecordBatch],
    spec: GroupSpec,
    groups: WindowGroups | None,
    marks: Watermarks,
    told: Callable[[GroupCounts], None] | None,
    watermark: Callable[[], int | None] | None,
) -> Iterator[pa.RecordBatch]:
    results = most_held = 0

    def tell() -> None:
        if told is not None and groups is not None:
            counts = (groups.rows, groups.late, groups.most_late, groups.no_time)
            told(GroupCounts(*counts, results, len(groups), most_held, marks.query))

    for batch in in_rounds(batches) if watermark is None else batches:
        if groups is None:
            groups = WindowGroups(spec, batch.schema)
        groups.add(batch)
        most_held = max(most_held, len(groups))
        if watermark is not None:
            marks.give(spec.time, watermark())
        elif groups.latest is not None:
            marks.seen(spec.time, groups.latest)
        marks.end_round()
        closed = groups.output.empty_table() if marks.query is None else groups.close(marks.query)
        results += closed.num_rows
        yield from closed.combine_chunks().to_batches(RESULT_ROWS)
        tell()
    if groups is None:
        return
    closed = groups.close_all()
    results += closed.num_rows
    yield from closed.combine_chunks().to_batches(RESULT_ROWS)
    if not results:
        yield pa.RecordBatch.from_arrays([pa.array([], kind) for kind in groups.output.types], schema=groups.output)
    tell()
