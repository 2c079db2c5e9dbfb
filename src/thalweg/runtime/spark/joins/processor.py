"""A bucket of a join in Spark's state store, round by round: what runs in the Python workers of a streaming query.

The state of a bucket is the head and the chunks of `join_state`. What was read once stays in this module as a warm
copy, since closures are unpickled for every task and workers are reused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from thalweg.errors import JoinLimitError
from thalweg.plan.byte_size import size
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
"""Not as text, which PySpark would send to the JVM to be parsed, for every task."""


class Place(NamedTuple):
    """Whose windows they are."""

    query: str
    start: str
    join: str
    """Put on DataFrames: a query may have several."""
    bucket: int


_WARM: OrderedDict[Place, KeptJoin] = OrderedDict()
"""The one unused for longest goes first."""


class SparkChunks:
    """The state of the bucket whose rows are being handled, as a store of bytes."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", VALUE)
        self._chunks = handle.getMapState("chunks", KEY, VALUE)

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
        name = name_of(context)
        start = name.get("start")
        place = Place(name.get("query", ""), start or "", task.identity, bucket)
        query = f"{task.query}\n{spread_by(place.query)}"
        # taken out while it works: a copy that was left half way is never used again
        kept = KeptJoin.open(store, query, _WARM.pop(place, None), lambda: task.loop(snapshots=True))
        # a stream that had no rows while the query did not run was not idle
        active = dict(kept.head.active) if kept.head.start == start else {}
        clock = Clock(timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs())
        for out in redacted(run_round(task, kept, rows, clock, active), task.settings.redact):
            yield _frame(out)
        for out in task.lost(kept.loop, bucket):
            yield _frame(out)
        kept.keep(store, active, start)
        for out in task.work(kept.loop, bucket, name, kept):
            yield _frame(out)
        _keep_warm(place, kept)
        settle()

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Of a micro-batch, the same when it is run again."""

    now_ms: int
    watermark_ms: int
    """Spark's; 0: it has none yet."""


def run_round(
    task: JoinTask, kept: KeptJoin, packed: Iterator[pd.DataFrame], clock: Clock, active: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    """The rows of one micro-batch that fell to one bucket. `active`: when rows of each stream last came."""
    loop, aliases = kept.loop, task.binding.plan.graph.aliases
    marks, loop.intake.told = loop.watermarks, True
    now_ms = clock.now_ms
    if task.max_ahead is not None:
        marks.bound = 1000 * now_ms + task.max_ahead
    for alias in task.followed:
        # what is as old as Spark's watermark is late for Spark
        marks.give(alias, 1000 * (clock.watermark_ms + 1) if clock.watermark_ms > 0 else None)
    if task.followed:
        loop.end_round()  # Spark's is of the rounds before this one, as ours are
    came: dict[str, list[pa.RecordBatch]] = {}
    latest: dict[str, int] = {}
    brought, most = 0, loop.options.limits.max_bytes or END
    for frame in packed:
        for stream, told, chunk in zip(frame["stream"], frame["latest"], frame["chunk"], strict=True):
            alias = aliases[stream]
            if chunk is not None:
                brought += len(chunk)
                if brought > most:
                    raise JoinLimitError(
                        f"a micro-batch brings one of {len(task.buckets)} buckets more than {size(most)}: read "
                        "less at a time (maxFilesPerTrigger, maxBytesPerTrigger, maxOffsetsPerTrigger), spread the "
                        "join over more buckets=, or raise max_bytes="
                    )
                came.setdefault(alias, []).append(unpacked(task.binding, alias, chunk))
            if told > BEGINNING:
                latest[alias] = max(int(told), latest.get(alias, int(told)))
    parts = [(loop.begins(alias, part), alias, part) for alias, batches in came.items() for part in pieces(batches)]
    for _, alias, part in sorted(parts, key=lambda part: part[0]):
        yield from task.joined(loop, alias, part)
    marks.bound = None  # who told the latest times has looked whether to believe them
    for alias, told in latest.items():
        marks.seen(alias, told)
    for alias in task.binding.plan.streams:
        if alias in latest or alias not in active:
            active[alias] = now_ms
    if task.idle_after is not None:
        marks.idle = frozenset(alias for alias, last in active.items() if now_ms - last > task.idle_after)
    loop.end_round()


def _frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """Backed by the Arrow arrays themselves: PySpark takes them as they are. Through lists, maps and structs it
    walks row by row, and knows no null but None there."""
    frame: pd.DataFrame = pa.Table.from_batches([batch]).to_pandas(types_mapper=pd.ArrowDtype)
    for field in batch.schema:
        if pa.types.is_nested(field.type):
            values = batch.column(field.name).to_pylist(maps_as_pydicts="strict")
            frame[field.name] = pd.Series(values, dtype=object)
    return frame


def _keep_warm(place: Place, kept: KeptJoin) -> None:
    for other in [p for p in _WARM if p.query == place.query and p.start != place.start]:
        del _WARM[other]  # of a start of the query that has ended
    _WARM[place] = kept
    held = sum(copy.nbytes for copy in _WARM.values())
    while held > memory_share() and len(_WARM) > 1:
        held -= _WARM.popitem(last=False)[1].nbytes
