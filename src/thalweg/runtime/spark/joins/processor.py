"""Joins the rows of a bucket round by round, in the Python workers of a streaming query, with Spark's state store.

The state of a bucket is the head and the chunks of `join_state`. What was read once is kept in this module as a warm
copy, because closures are unpickled for every task while workers are reused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from thalweg.errors import JoinLimitError
from thalweg.formatting import byte_size
from thalweg.runtime.joins.join_packing import unpacked
from thalweg.runtime.joins.join_state import KeptJoin, pieces
from thalweg.runtime.memory_share import memory_share
from thalweg.runtime.redaction import redacted
from thalweg.runtime.spark.joins.query_salt import spread_by
from thalweg.runtime.spark.joins.task import JoinTask
from thalweg.runtime.spark.task_name import name_of
from thalweg.runtime.spark.worker_heap import settle
from thalweg.runtime.watermark import BEGINNING, END

VALUE = StructType([StructField("value", BinaryType())])
KEY = StructType([StructField("stream", StringType()), StructField("number", LongType())])
"""These are not strings, because PySpark would send a string to the JVM for parsing in every task."""


class BucketKey(NamedTuple):
    """The query, start, join and bucket that windows belong to."""

    query: str
    start: str
    join: str
    """The id of the join; a query may have several joins."""
    bucket: int


_WARM: OrderedDict[BucketKey, KeptJoin] = OrderedDict()
"""The copies that this worker holds; the least recently used one is removed first."""


class SparkChunks:
    """The state of the bucket whose rows are being processed, as a store of bytes."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", VALUE)
        self._chunks = handle.getMapState("chunks", KEY, VALUE)

    def head(self) -> bytes | None:
        """Return the head; None if it was never written."""
        found = self._head.get()
        return None if found is None else bytes(found[0])

    def set_head(self, data: bytes) -> None:
        """Replace the head of the state."""
        self._head.update((data,))

    def chunk(self, stream: str, number: int) -> bytes | None:
        """Return a chunk; None if it was removed."""
        found = self._chunks.getValue((stream, number))
        return None if found is None else bytes(found[0])

    def add(self, stream: str, number: int, data: bytes) -> None:
        """Add a chunk with a number that was never used."""
        self._chunks.updateValue((stream, number), (data,))

    def remove(self, stream: str, number: int) -> None:
        """Remove a chunk that was added before."""
        self._chunks.removeKey((stream, number))


class JoinProcessor(StatefulProcessor):
    """The stateful operator of a join, for rows that are grouped by bucket."""

    def __init__(self, task: JoinTask) -> None:
        self._task = task
        self._store: SparkChunks | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; Spark calls this for every task."""
        self._store = SparkChunks(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Join the rows of one micro-batch in one bucket."""
        task, store = self._task, self._store
        assert store is not None
        bucket = int(key[0])
        context = TaskContext.get()
        name = name_of(context)
        start = name.get("start")
        place = BucketKey(name.get("query", ""), start or "", task.identity, bucket)
        query = f"{task.query}\n{spread_by(place.query)}"
        # removed while it is in use, so that a copy that a failed round has changed is never used again
        kept = KeptJoin.open(store, query, _WARM.pop(place, None), lambda: task.loop(snapshots=True), task.watch)
        # the time in which the query did not run does not make a stream idle
        active = dict(kept.head.active) if kept.head.start == start else {}
        clock = BatchTimes(timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs())
        results = run_round(task, kept, rows, clock, active)
        if task.sink is not None:
            results = self._written(results, bucket, name)
        for out in redacted(results, task.settings.redact):
            yield _frame(out)
        for out in task.lost(kept.loop, bucket):
            yield _frame(out)
        taken = task.taken(kept.loop, kept.watch)
        kept.keep(store, active, start)
        for out in task.work(taken, bucket, name, kept):
            yield _frame(out)
        _keep_warm(place, kept)
        settle()

    def _written(
        self, results: Iterator[pa.RecordBatch], bucket: int, name: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        """Write the results, and yield one row per file instead. A generator, so that errors are raised where they are
        redacted."""
        assert self._task.sink is not None
        yield from self._task.written(self._task.sink.written(results, bucket, name))

    def close(self) -> None:
        """Do nothing, because nothing is open."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The times of a micro-batch, which are the same if it is run again."""

    now_ms: int
    watermark_ms: int
    """Spark's watermark; 0 if there is none yet."""


def run_round(
    task: JoinTask, kept: KeptJoin, packed: Iterator[pd.DataFrame], clock: BatchTimes, active: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    """Join the rows of one micro-batch in one bucket. `active`: when rows of each stream last arrived."""
    loop, aliases = kept.loop, task.binding.plan.graph.aliases
    marks, loop.intake.latest_is_given = loop.watermarks, True
    now_ms = clock.now_ms
    if task.max_ahead is not None:
        marks.bound = 1000 * now_ms + task.max_ahead
    for alias in task.followed:
        # for Spark, a row as old as its watermark is late
        marks.give(alias, 1000 * (clock.watermark_ms + 1) if clock.watermark_ms > 0 else None)
    if task.followed:
        loop.end_round()  # Spark's watermark is that of earlier rounds, as ours are
    came: dict[str, list[pa.RecordBatch]] = {}
    latest: dict[str, int] = {}
    brought, most = 0, loop.options.limits.max_bytes or END
    for frame in packed:
        for stream, last, chunk in zip(frame["stream"], frame["latest"], frame["chunk"], strict=True):
            alias = aliases[stream]
            if chunk is not None:
                brought += len(chunk)
                if brought > most:
                    raise JoinLimitError(
                        f"a micro-batch has more than {byte_size(most)} for one of {len(task.buckets)} buckets; read "
                        "less at a time (maxFilesPerTrigger, maxBytesPerTrigger, maxOffsetsPerTrigger), spread the "
                        "join over more buckets=, or raise max_bytes="
                    )
                came.setdefault(alias, []).append(unpacked(task.binding, alias, chunk))
            if last > BEGINNING:
                latest[alias] = max(int(last), latest.get(alias, int(last)))
    parts = [(loop.begins(alias, part), alias, part) for alias, batches in came.items() for part in pieces(batches)]
    for _, alias, part in sorted(parts, key=lambda part: part[0]):
        yield from task.joined(kept.loop, alias, part)
        kept.stay_within_limit()
    loop = kept.loop
    marks.bound = None  # the latest times were already checked where they were computed
    for alias, last in latest.items():
        marks.seen(alias, last)
    for alias in task.binding.plan.streams:
        if alias in latest or alias not in active:
            active[alias] = now_ms
    if task.idle_after is not None:
        marks.idle = frozenset(alias for alias, last in active.items() if now_ms - last > task.idle_after)
    loop.end_round()


def _frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """Return a DataFrame that is backed by the Arrow arrays, which PySpark takes as they are. PySpark converts lists,
    maps and structs row by row, and accepts no null but None in them."""
    frame: pd.DataFrame = pa.Table.from_batches([batch]).to_pandas(types_mapper=pd.ArrowDtype)
    for field in batch.schema:
        if pa.types.is_nested(field.type):
            values = batch.column(field.name).to_pylist(maps_as_pydicts="strict")
            frame[field.name] = pd.Series(values, dtype=object)
    return frame


def _keep_warm(place: BucketKey, kept: KeptJoin) -> None:
    for other in [p for p in _WARM if p.query == place.query and p.start != place.start]:
        del _WARM[other]  # belongs to an earlier start of the query, which has ended
    _WARM[place] = kept
    held = sum(copy.nbytes for copy in _WARM.values())
    while held > memory_share() and len(_WARM) > 1:
        held -= _WARM.popitem(last=False)[1].nbytes
