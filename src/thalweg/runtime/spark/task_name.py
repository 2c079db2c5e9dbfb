"""Which task did a piece of work, and for which micro-batch: what must be known to count nothing twice.

A task that is run again (its executor was lost, and with it what it had shuffled) does the work of the same partition;
a micro-batch that is run again after a restart does the work of the same query and batch. In both cases only the last
time counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pyspark import TaskContext


def name_of(context: TaskContext | None) -> dict[str, Any]:
    """Partition and attempt; and inside a streaming query, `foreachBatch` included, its id, start and batch."""
    if context is None:
        return {}
    name: dict[str, Any] = {"task": [context.partitionId(), context.taskAttemptId()]}
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    if query is not None and batch is not None:
        # a query runs its jobs as one group, named after its run id
        name |= {"query": query, "start": context.getLocalProperty("spark.jobGroup.id"), "batch": int(batch)}
    return name


def last_attempts(texts: Iterable[str]) -> list[str]:
    """The texts of one action or micro-batch but those of partitions that were later computed again.

    Spark 4.3 does this itself (SPARK-58183); before, `observe` keeps what every attempt said. The stage says nothing:
    what a lost executor had shuffled may be computed again by a stage of another number.

    >>> last_attempts(['{"task": [0, 7]}', '{"task": [1, 8]}', '{"task": [0, 9]}', '{"rows": 1}'])
    ['{"task": [1, 8]}', '{"task": [0, 9]}', '{"rows": 1}']
    """
    told = [(text, json.loads(text).get("task")) for text in texts]
    last: dict[int, int] = {}
    for _, task in told:
        if task is not None:
            partition, attempt = task
            last[partition] = max(attempt, last.get(partition, -1))
    return [text for text, task in told if task is None or last[task[0]] == task[1]]
