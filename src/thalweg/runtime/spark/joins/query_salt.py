"""The salt that spreads the rows of a streaming query over its buckets: of the query's id.

Spark draws the id when a query is first started, and keeps it in the checkpoint. So the salt is another one in every
checkpoint, and the same in all tasks of a query, whenever and wherever it is started again. The driver does not know
the checkpoint when a join is put on DataFrames, but every task knows its query.
"""

from __future__ import annotations

from pyspark import TaskContext

from thalweg.kernels.salt import Salt
from thalweg.runtime.spark.task_name import name_of


def query_id() -> str:
    """Of the streaming query that this task belongs to."""
    query = name_of(TaskContext.get()).get("query")
    assert query is not None, "a task of a streaming query knows its query"
    return str(query)


def salt_of_query() -> Salt:
    """The same in all tasks of a query, from its first start on."""
    return Salt.of(f"query {query_id()}")


def spread_by(query: str) -> str:
    """A line that the state of each bucket keeps: under another id, rows of one key would meet in another bucket."""
    return f"rows spread by the id of query {query}"
