"""Joins the rows of a bucket round by round, in the Python workers of a streaming query.

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
from pyspark import TaskContext, cloudpickle

from thalweg.errors import JoinLimitError
from thalweg.formatting import byte_size
from thalweg.runtime.joins.join_packing import unpacked
from thalweg.runtime.joins.join_state import ChunkStore, KeptJoin, pieces
from thalweg.runtime.limits import memory_share
from thalweg.runtime.redaction import redacted
from thalweg.runtime.spark.joins.arrow_frame import arrow_frame
from thalweg.runtime.spark.joins.query_salt import spread_by
from thalweg.runtime.spark.joins.task import JoinTask
from thalweg.runtime.spark.task_name import name_of
from thalweg.runtime.spark.worker_heap import settle
from thalweg.runtime.watermark import BEGINNING, END


class BucketKey(NamedTuple):
    """The query, start, join and bucket that windows belong to."""

    query: str
    start: str
    join: str
    """The id of the join; a query may have several joins."""
    bucket: int


_WARM: OrderedDict[BucketKey, KeptJoin] = OrderedDict()
"""The copies that this worker holds; the least recently used one is removed first."""


_TASKS: OrderedDict[str, JoinTask] = OrderedDict()
"""Joins that this worker has unpickled, by the digests of the bytes."""
MOST_TASKS, MOST_TASK_BYTES = 8, 1 << 20
"""The number of joins that are kept, and their size: those with large tables are unpickled for every task."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The times of a micro-batch, which are the same if it is run again."""

    now_ms: int
    watermark_ms: int
    """Spark's watermark; 0 if there is none yet."""


def joined_bucket(
    pickled: bytes, digest: str, store: ChunkStore, bucket: int, rows: Iterator[pd.DataFrame], clock: BatchTimes
) -> Iterator[pd.DataFrame]:
    """Join the rows of one micro-batch in one bucket, and yield what goes back to Spark. `pickled`: a `JoinTask`.
    `digest`: that of its bytes."""
    task = _task(pickled, digest)
    name = name_of(TaskContext.get())
    start = name.get("start")
    place = BucketKey(name.get("query", ""), start or "", task.identity, bucket)
    query = f"{task.query}\n{spread_by(place.query)}"
    # removed while it is in use, so that a copy that a failed round has changed is never used again
    kept = KeptJoin.open(store, query, _WARM.pop(place, None), lambda: task.loop(snapshots=True), task.watch)
    # the time in which the query did not run does not make a stream idle
    active = dict(kept.head.active) if kept.head.start == start else {}
    results = run_round(task, kept, rows, clock, active)
    if task.sink is not None:
        results = _write(task, results, bucket, name)
    for out in redacted(results, task.settings.redact):
        yield arrow_frame(out)
    for out in task.lost(kept.loop, bucket):
        yield arrow_frame(out)
    taken = task.taken(kept.loop, kept.watch)
    kept.keep(store, active, start)
    for out in task.work(taken, bucket, name, kept):
        yield arrow_frame(out)
    _keep_warm(place, kept)
    settle()


def _task(pickled: bytes, digest: str) -> JoinTask:
    """Return the join, which is unpickled once per worker if it is small."""
    task: JoinTask = _TASKS.pop(digest) if digest in _TASKS else cloudpickle.loads(pickled)
    if len(pickled) <= MOST_TASK_BYTES:
        _TASKS[digest] = task  # the last one again
        while len(_TASKS) > MOST_TASKS:
            _TASKS.popitem(last=False)
    return task


def _write(
    task: JoinTask, results: Iterator[pa.RecordBatch], bucket: int, name: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Write the results, and yield one row per file instead. A generator, so that errors are raised where they are
    redacted."""
    assert task.sink is not None
    yield from task.files(task.sink.write(results, bucket, name))


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
        # a time that is later than now is from before the clock was set back
        if alias in latest or active.get(alias, END) > now_ms:
            active[alias] = now_ms
    if task.idle_after is not None:
        marks.idle = frozenset(alias for alias, last in active.items() if now_ms - last > task.idle_after)
    loop.end_round()


def _keep_warm(place: BucketKey, kept: KeptJoin) -> None:
    for other in [p for p in _WARM if p.query == place.query and p.start != place.start]:
        del _WARM[other]  # belongs to an earlier start of the query, which has ended
    _WARM[place] = kept
    held = sum(copy.nbytes for copy in _WARM.values())
    while held > memory_share() and len(_WARM) > 1:
        held -= _WARM.popitem(last=False)[1].nbytes
