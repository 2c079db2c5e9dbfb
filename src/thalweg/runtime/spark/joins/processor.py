"""A bucket of a join in Spark's state store, round by round: what runs in the Python workers of a streaming query.

The state of a bucket is the head and the chunks of `join_state`. What was read once stays in this module as a warm
copy, since closures are unpickled for every task and workers are reused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from thalweg.runtime.join_packing import one_batch, unpacked
from thalweg.runtime.join_state import KeptJoin, pieces
from thalweg.runtime.spark.joins.task import JoinTask, memory_share
from thalweg.runtime.spark.task_name import name_of

_WARM: OrderedDict[tuple[str, str, int], KeptJoin] = OrderedDict()
"""By the join put on DataFrames, the streaming query and the bucket; the one unused for longest goes first."""


class SparkChunks:
    """The state of the bucket whose rows are being handled, as a store of bytes."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "value binary")
        self._chunks = handle.getMapState("chunks", "stream string, number long", "value binary")

    def head(self) -> bytes | None:
        """None: nothing was ever written."""
        found = self._head.get()
        return None if found is None else bytes(found[0])

    def set_head(self, data: bytes) -> None:
        """Replaces it."""
        self._head.update((data,))

    def chunk(self, stream: str, number: int) -> bytes | None:
        """None: it was removed."""
        found = self._chunks.getValue((stream, number))
        return None if found is None else bytes(found[0])

    def add(self, stream: str, number: int, data: bytes) -> None:
        """A number that was never used."""
        self._chunks.updateValue((stream, number), (data,))

    def remove(self, stream: str, number: int) -> None:
        """One that was added."""
        self._chunks.removeKey((stream, number))


class JoinProcessor(StatefulProcessor):
    """Grouped by bucket."""

    def __init__(self, task: JoinTask) -> None:
        self._task = task
        self._store: SparkChunks | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called for every task."""
        self._store = SparkChunks(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """A round of one bucket."""
        task, store = self._task, self._store
        assert store is not None
        bucket = int(key[0])
        context = TaskContext.get()
        query = (context.getLocalProperty("sql.streaming.queryId") if context else None) or ""
        place = (task.identity, query, bucket)
        # taken out while it works: a copy that was left half way is never used again
        kept = KeptJoin.open(store, task.query, _WARM.pop(place, None), lambda: task.loop(snapshots=True))
        active = dict(kept.head.active)
        if (mark_ms := timerValues.getCurrentWatermarkInMs()) > 0:  # before Spark knows one it says 0
            kept.loop.watermarks.not_before(mark_ms * 1000 + 1)  # to Spark, what is equal is late, too
        for out in run_round(task, kept, rows, timerValues.getCurrentProcessingTimeInMs(), active):
            yield _frame(out)
        for out in task.lost(kept.loop, bucket):
            yield _frame(out)
        kept.keep(store, active)
        for out in task.work(kept.loop, bucket, name_of(context), kept):
            yield _frame(out)
        _keep_warm(place, kept)

    def close(self) -> None:
        """Nothing is open."""


def run_round(
    task: JoinTask, kept: KeptJoin, packed: Iterator[pd.DataFrame], now_ms: int, active: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    """The rows of one micro-batch that fell to one bucket. `active`: when rows of each stream last came."""
    loop, aliases = kept.loop, task.binding.plan.graph.aliases
    marks = loop.watermarks
    if task.max_ahead is not None:
        marks.bound = now_ms * 1000 + task.max_ahead
    came: dict[str, list[pa.RecordBatch]] = {}
    latest: dict[str, int] = {}
    for frame in packed:
        for stream, told, chunk in zip(frame["stream"], frame["latest"], frame["chunk"], strict=True):
            alias = aliases[stream]
            if chunk is not None:
                came.setdefault(alias, []).append(unpacked(task.binding, alias, chunk))
            if not pd.isna(told):
                latest[alias] = max(int(told), latest.get(alias, int(told)))
    parts = [
        (loop.begins(alias, part), alias, part)
        for alias, batches in came.items()
        for part in pieces(batches[0] if len(batches) == 1 else one_batch(batches))
    ]
    for _, alias, part in sorted(parts, key=lambda part: part[0]):
        for out in loop.process(alias, part):
            yield task.results(out)
    for alias, told in latest.items():
        marks.seen(alias, told)
    for alias in task.binding.plan.streams:
        if alias in latest or alias not in active:
            active[alias] = now_ms
    if task.idle_after is not None:
        marks.idle = frozenset(alias for alias, last in active.items() if now_ms - last > task.idle_after)
    loop.end_round()


def _frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """Backed by the Arrow arrays themselves: PySpark takes them as they are. But through lists, maps and structs it
    walks row by row, and knows no null but None there."""
    frame: pd.DataFrame = pa.Table.from_batches([batch]).to_pandas(types_mapper=pd.ArrowDtype)
    for field in batch.schema:
        if pa.types.is_nested(field.type):
            values = batch.column(field.name).to_pylist(maps_as_pydicts="strict")
            frame[field.name] = pd.Series(values, dtype=object)
    return frame


def _keep_warm(place: tuple[str, str, int], kept: KeptJoin) -> None:
    _WARM[place] = kept
    held = sum(copy.nbytes for copy in _WARM.values())
    while held > memory_share() and len(_WARM) > 1:
        held -= _WARM.popitem(last=False)[1].nbytes
