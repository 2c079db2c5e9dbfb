"""The file in a checkpoint that describes the join it belongs to, so that another join is refused when it starts.

The state of each bucket has the same description, and is refused too. But that happens in the first micro-batch with
rows, in a task, and Spark reports it inside the error of its micro-batch. Queries of a session have their own file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from thalweg.runtime.joins.join_state import refuse_another_join
from thalweg.runtime.spark.sink.pinned_sink import create_pin, is_begun, pinned_content, remove_pin

NAME = "thalweg-join"


@contextmanager
def pinned_join(spark: SparkSession, checkpoint: str | None, query: str, tick_ns: int | None) -> Iterator[None]:
    """Pin the description of a join in a new checkpoint. It is removed again if the query does not start. Raise a
    CheckpointError if the checkpoint was begun with another join. `tick_ns`: the unit of its windows.

    On Connect nothing is pinned, because files of the server cannot be written without a job. Checkpoints of earlier
    versions have no description.
    """
    if checkpoint is None or not hasattr(spark, "_jvm"):
        yield
        return
    begun, found = is_begun(spark, checkpoint), pinned_content(spark, checkpoint, NAME)
    if begun and found is not None and found.get("query") != query:
        refuse_another_join(str(found.get("query")), query, tick_ns)
    if begun:
        yield
        return
    if found is not None:  # nothing was read with it
        remove_pin(spark, checkpoint, NAME)
    create_pin(spark, checkpoint, NAME, {"query": query})
    try:
        yield
    except Exception:  # not if the user interrupts, when the query may run already
        remove_pin(spark, checkpoint, NAME)
        raise
