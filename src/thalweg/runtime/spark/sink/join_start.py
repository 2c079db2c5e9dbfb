"""Starts a join of streams as a Spark streaming query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thalweg.errors import PlanError
from thalweg.runtime.spark.joins.attach import SparkJoinLayout
from thalweg.runtime.spark.joins.task import described
from thalweg.runtime.spark.joins.task_sink import SinkFor
from thalweg.runtime.spark.sink.request import SinkRequest
from thalweg.runtime.spark.sink.result_sink import ResultSink
from thalweg.runtime.spark.sql.requirements import spark_errors
from thalweg.runtime.spark.sql.start import AUTO, checkpoint_of, triggered


def start_join(
    spark: SparkSession,
    made: Callable[[SinkFor | None], DataFrame],
    layout: SparkJoinLayout,
    kind: str,
    path: str | None,
    options: Mapping[str, Any],
    trigger: str | Mapping[str, Any] | None,
    checkpoint: str | None,
    name: str | None,
    sink: str | None,
) -> tuple[Any, ResultSink]:
    """Return the running StreamingQuery and its sink. `made` returns the DataFrame of the results, or of the files that
    tasks write. `layout`: how the join is distributed."""
    if trigger == AUTO:
        raise PlanError("trigger='auto' is for queries of a session; give an interval, such as '10 seconds'")
    left = dict(options)
    place = checkpoint_of(spark, checkpoint, left, path, name)
    if place is not None:
        place.plan_of(None)  # refuses that of a query of a session
    join = described(layout.binding, layout.partitioning, len(layout.buckets))
    opened = ResultSink(spark, SinkRequest.of(kind, path, left, place, sink), None, join, layout.binding.tick_ns)

    def unchanged(joined: StructType) -> tuple[StructType, None]:
        return joined, None

    writer = opened.writer(made, unchanged)
    if name is not None:
        writer = writer.queryName(name)
    writer = triggered(writer, trigger)
    with opened.pinned(), spark_errors():
        return opened.start(writer), opened
