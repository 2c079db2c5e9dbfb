"""Joins finished DataFrames: one task joins the chunks of a bucket in the order of their first times.

No row is late, because all rows are available. When a chunk is done, no row older than the first of the next chunk can
follow, so windows remove older rows. If rows are in the order of time, a task holds only the windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from thalweg.runtime.joins.join_packing import unpacked
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.plan_watch import PlanWatch
from thalweg.runtime.redaction import redacted
from thalweg.runtime.spark.joins.task import JoinTask
from thalweg.runtime.spark.task_name import name_of


def join_finished(task: JoinTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join packed rows, which are sorted by bucket and first time."""
    return redacted(_joined(task, batches), task.settings.redact)


def _joined(task: JoinTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    aliases = task.binding.plan.graph.aliases
    loop: WindowedJoin | None = None
    watch: PlanWatch | None = None
    bucket = -1
    task_name = name_of(TaskContext.get())
    for row in _chunks(batches):
        if loop is None or row["bucket"] != bucket:
            if loop is not None:
                yield from task.work(task.taken(loop, watch, is_last=True), bucket, task_name)
            loop, bucket, watch = task.loop(snapshots=False), row["bucket"], task.watch()
            loop = loop if watch is None else watch.within_limit(loop)  # tables may have been joined with each other
        loop.expire(row["first"])
        alias = aliases[row["stream"]]
        yield from task.joined(loop, alias, unpacked(task.binding, alias, row["chunk"]))
        yield from task.lost(loop, bucket)
        loop = loop if watch is None else watch.within_limit(loop)
    if loop is not None:
        yield from task.work(task.taken(loop, watch, is_last=True), bucket, task_name)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield one chunk at a time, because chunks are large."""
    for batch in batches:
        for number in range(batch.num_rows):
            row = {name: batch.column(name)[number] for name in ("bucket", "stream", "first", "chunk")}
            if row["chunk"].is_valid:
                yield {name: value.as_buffer() if name == "chunk" else value.as_py() for name, value in row.items()}
