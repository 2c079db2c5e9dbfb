"""Identifies the task and the micro-batch of a piece of work, so that nothing is counted twice.

A task that is run again (because its executor was lost with its shuffle output) does the work of the same partition. A
micro-batch that is run again after a restart does the work of the same query and batch. In both cases only the last
run counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pyspark import TaskContext


def name_of(context: TaskContext | None) -> dict[str, Any]:
    """Return the partition and the attempt; in a streaming query, also in `foreachBatch`, its id, start and batch."""
    if context is None:
        return {}
    name: dict[str, Any] = {"task": [context.partitionId(), context.taskAttemptId()]}
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    if query is not None and batch is not None:
        # a query runs its jobs as one group, named after its run id
        name |= {"query": query, "start": context.getLocalProperty("spark.jobGroup.id"), "batch": int(batch)}
    return name


def last_attempts(texts: Iterable[str]) -> list[str]:
    """Return the texts of one action or micro-batch, without those of partitions that were later computed again.

    Spark 4.3 does this itself (SPARK-58183); before, `observe` keeps the texts of every attempt. The stage cannot be
    used: lost shuffle output may be computed again by a stage with another number.

    >>> last_attempts(['{"task": [0, 7]}', '{"task": [1, 8]}', '{"task": [0, 9]}', '{"rows": 1}'])
    ['{"task": [1, 8]}', '{"task": [0, 9]}', '{"rows": 1}']
    """
    tasks = [(text, json.loads(text).get("task")) for text in texts]
    last: dict[int, int] = {}
    for _, task in tasks:
        if task is not None:
            partition, attempt = task
            last[partition] = max(attempt, last.get(partition, -1))
    return [text for text, task in tasks if task is None or last[task[0]] == task[1]]
