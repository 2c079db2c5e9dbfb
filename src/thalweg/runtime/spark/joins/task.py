"""What is sent to Spark's workers for one join of DataFrames."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.cost.plan_chart import PlanChart
from thalweg.events import PlanObserved
from thalweg.kernels.window_store import WindowStore
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop, make_join_loop
from thalweg.runtime.joins.join_outcome import JoinRows, TaggedColumns
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import Taken, counted_elsewhere, encode, observed, take_counters
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.join_state import KeptJoin
from thalweg.runtime.joins.plan_watch import PlanWatch, plan_watch
from thalweg.runtime.limits import limits_of
from thalweg.runtime.spark.joins.task_sink import BYTES, FILE, FILE_SCHEMA, FILTER_WORK, ROWS, TaskSink, WrittenBucket

FORMAT = "format 2"
"""The format of chunks, of hashes and of the buckets they lead to. State of another format cannot be used."""
WORK = "__thalweg_work"
"""The column of the result that contains what was done, on separate rows."""


@dataclass(frozen=True)
class TakenWork:
    """What a bucket did between two reports."""

    counters: Taken
    plan: PlanObserved | None
    """What was expected of the plan, and what was counted; None if it is not watched."""


@dataclass(frozen=True)
class JoinTask:
    """The description of a join for workers, as plain values."""

    binding: JoinBinding
    settings: JoinSettings
    buckets: tuple[int, ...]
    """The ids of the buckets."""
    partitioning: Partitioning
    identity: str
    tables: dict[str, bytes]
    """The tables as Arrow streams."""
    start: StartPlan
    """The plan that the loops begin with."""
    followed: tuple[str, ...] = ()
    """The streams that use their Spark watermark."""
    wanted: JoinRows = JoinRows.RESULTS
    max_ahead: int | None = None
    """In ticks; None for no limit."""
    idle_after: int | None = None
    """In milliseconds; None to wait indefinitely."""
    chart: PlanChart | None = None
    """The chart that the plan follows; None if it follows none, or if too little is known before the start."""
    sink: TaskSink | None = None
    """Where tasks write the results; None if Spark writes them."""

    @property
    def limits(self) -> Limits:
        """The limits in this worker, which may have other memory than the driver."""
        return limits_of(self.settings.max_bytes, buckets=len(self.buckets))

    @cached_property
    def query(self) -> str:
        """The description that a checkpoint must match."""
        return described(self.binding, self.partitioning, len(self.buckets), self.wanted)

    def loop(self, *, snapshots: bool) -> WindowedJoin:
        """Return a new join loop."""
        settings, start = self.settings, self.start
        held = _TABLES.get(self.identity) if start.shape is None else None  # stores are those of a multiway join
        options = settings.options(
            self.limits.memory, in_buckets=True, snapshots=snapshots, may_change=start.may_change
        )  # fmt: skip
        loop = make_join_loop(
            self.binding, options, rng=np.random.default_rng(settings.seed), shape=start.shape,
            tables=held or {a: pa.ipc.open_stream(t).read_all() for a, t in self.tables.items()},
        )  # fmt: skip
        if self.tables and isinstance(loop, JoinLoop):
            _TABLES[self.identity] = {alias: loop.stores[alias] for alias in self.tables}
            while len(_TABLES) > MOST_JOINS_WITH_TABLES:
                _TABLES.popitem(last=False)
        if self.wanted is not JoinRows.RESULTS:
            loop.intake.set_aside = []
        if snapshots:  # Spark's watermark starts in 1970, and Spark fails on results that are not later
            loop.watermarks.query = 1000
        return loop

    @cached_property
    def tagged(self) -> TaggedColumns | None:
        """The columns of the output, if it contains rows that are not joined; None otherwise."""
        return None if self.wanted is JoinRows.RESULTS else TaggedColumns(self.binding, self.wanted)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The streams and columns of the output."""
        return self.binding.columns if self.tagged is None else self.tagged.columns

    @cached_property
    def output(self) -> pa.Schema:
        """The schema of the output, including the column `WORK`: one row per file, if tasks write the results."""
        if self.sink is not None:
            return pa.schema([*FILE_SCHEMA, pa.field(WORK, pa.string())])
        fields = self.binding.output if self.tagged is None else self.tagged.schema
        return pa.schema([*fields, pa.field(WORK, pa.string())])

    def joined(self, loop: WindowedJoin, alias: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the results of these rows, with the columns of `output`, but not the rows that are set aside."""
        if self.wanted is JoinRows.LATE:
            loop.find_late(alias, rows)
            return
        if self.sink is not None:
            yield from loop.process(alias, rows)  # not `output`: these are the rows of the files
            return
        for out in loop.process(alias, rows):
            yield self._with_work(out if self.tagged is None else self.tagged.results(out))

    def _with_work(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*batch.columns, pa.nulls(batch.num_rows, pa.string())], schema=self.output)

    def files(self, written: WrittenBucket) -> Iterator[pa.RecordBatch]:
        """Yield one row per file of results, and what a filter of joined rows did as a separate row."""
        if files := written.files:
            columns = {
                FILE: pa.array([file.to_json() for file in files], pa.string()),
                ROWS: pa.array([file.rows for file in files], pa.int64()),
                BYTES: pa.array([file.size for file in files], pa.int64()),
            }
            yield self.row(len(files), **columns)
        if written.filter_work is not None:
            yield self.row(**{FILTER_WORK: pa.array([written.filter_work])})

    def row(self, rows: int = 1, /, **columns: Any) -> pa.RecordBatch:
        """Return rows that are null except in these columns."""
        return pa.RecordBatch.from_arrays(
            [columns.get(field.name, pa.nulls(rows, field.type)) for field in self.output], schema=self.output
        )

    def watch(self) -> PlanWatch | None:
        """Return a watch for one bucket; None if the plan never changes."""
        if self.wanted is JoinRows.LATE or not self.start.may_change:
            return None
        copies = dict.fromkeys(self.partitioning.columns, len(self.buckets))
        return plan_watch(self.binding, self.settings, self.start, self.limits.memory, self.chart, copies)

    def taken(self, loop: WindowedJoin, watch: PlanWatch | None, *, is_last: bool = False) -> TakenWork:
        """Return what was done since the last call. The watch may choose another plan from now on, unless no rows
        follow."""
        counters = take_counters(loop)
        return TakenWork(counters, None if watch is None else watch.observe(loop, observed(counters), is_last=is_last))

    def work(
        self, taken: TakenWork, bucket: int, task: Mapping[str, Any], kept: KeptJoin | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield what was done, as a separate row."""
        counters = taken.counters
        if bucket != self.buckets[0]:  # only the first bucket counts the rows that all buckets have
            counters = counted_elsewhere(counters, self.partitioning.replicated)
        for one in observed(counters):
            if one.alias in self.binding.plan.streams:
                one.stream.replicated = one.alias in self.partitioning.replicated
                if kept is not None:
                    one.window.state_chunks, one.window.state_bytes = kept.in_store(one.alias)
        text = encode(counters, worker=f"bucket {self.buckets.index(bucket)}", task=task, plan=taken.plan)
        yield self.row(**{WORK: pa.array([text])})

    def lost(self, loop: WindowedJoin, bucket: int) -> list[pa.RecordBatch]:
        """Return the rows that were set aside since the last call."""
        if self.tagged is None:
            return []
        return [
            self._with_work(self.tagged.lost(part))
            for part in loop.intake.take_aside()
            # every bucket has the rows of a replicated stream
            if part.stream not in self.partitioning.replicated or bucket == self.buckets[0]
        ]


def described(
    binding: JoinBinding, partitioning: Partitioning, buckets: int, wanted: JoinRows = JoinRows.RESULTS
) -> str:  # fmt: skip
    """Return the description of a join that a checkpoint must match, one line per item. Lateness, policy and limits may
    change."""
    plan = binding.plan
    by = " = ".join(f"{alias}.{column}" for alias, column in partitioning.columns.items())
    lines = [FORMAT, f"on {' '.join(plan.on.split())}", f"buckets={buckets} by {by}"]
    for alias in plan.streams:
        stored = ", ".join(f"{field.name} {field.type}" for field in binding.stored[alias])
        lines.append(f"{alias}: window of {binding.windows[alias]} ticks, time {plan.times[alias]}, stored {stored}")
    lines += [f"{alias}: table" for alias in plan.tables]
    if wanted is JoinRows.LATE:
        lines.append("late rows alone")  # its windows are empty, so no other query may continue with them
    return "\n".join(lines)


_TABLES: OrderedDict[str, dict[str, WindowStore]] = OrderedDict()
"""The indexed tables by join, which all buckets in this process share."""
MOST_JOINS_WITH_TABLES = 4
