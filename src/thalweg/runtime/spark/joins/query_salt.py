"""The salt that spreads the rows of a streaming query over its buckets, which is derived from the id of the query.

Spark generates the id when a query is first started, and keeps it in the checkpoint. So every checkpoint has its own
salt, which is the same in all tasks of a query, whenever and wherever it is restarted. The driver does not know the
checkpoint when a join is applied to DataFrames, but every task knows its query.
"""

from __future__ import annotations

from pyspark import TaskContext

from thalweg.kernels.salt import Salt
from thalweg.runtime.spark.task_name import name_of


def query_id() -> str:
    """Return the id of the streaming query that this task belongs to."""
    query = name_of(TaskContext.get()).get("query")
    assert query is not None, "a task of a streaming query knows its query"
    return str(query)


def salt_of_query() -> Salt:
    """Return the salt, which is the same in all tasks of a query from its first start on."""
    return Salt.of(f"query {query_id()}")


def spread_by(query: str) -> str:
    """Return a line for the state of each bucket: with another id, rows of a key would be in another bucket."""
    return f"rows spread by the id of query {query}"
