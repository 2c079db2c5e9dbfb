"""A join put on DataFrames.

Streams: each gets Spark's watermark, is packed for the buckets and united; a bucket's rows meet its windows in
`transformWithState`. Finished DataFrames: the same packing, sorted by time, and windows that live as long as a task.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from thalweg.events import Record
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window_length import length_of
from thalweg.runtime.join_binding import EVENT_TIME, JoinBinding
from thalweg.runtime.join_packing import Packing
from thalweg.runtime.join_settings import JoinSettings
from thalweg.runtime.spark.joins.bucket_ids import bucket_ids
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import WORK, JoinTask

PACKED = "bucket int, stream int, first long, latest long, chunk binary"
MARK = "__thalweg_mark"


def attach(
    plan: JoinPlan, settings: JoinSettings, streams: Mapping[str, DataFrame], sink: Callable[[Record], None]
) -> DataFrame:
    """The joined DataFrame."""
    aliases = plan.graph.aliases
    binding = JoinBinding.of(plan, {a: to_arrow_schema(streams[a].schema, timezone="UTC") for a in aliases})
    spark = streams[aliases[0]].sparkSession
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    count = settings.buckets or min(spark.sparkContext.defaultParallelism, partitions)
    ids = bucket_ids(count, partitions)
    key = max(range(len(plan.graph.classes)), key=lambda c: len(plan.graph.classes[c]))
    covered = plan.graph.column_of[key]
    replicated = tuple(a for a in aliases if a not in covered)
    ahead = None if settings.max_ahead is None else length_of(settings.max_ahead, "us")
    task = JoinTask(binding, settings, ids, replicated, "query", uuid.uuid4().hex, {}, max_ahead=ahead)
    packed = reduce(
        DataFrame.union,
        [_packed(_marked(streams[a], plan.times[a], binding.lateness[a], ahead), binding, a, key if a in covered else None, ids) for a in aliases],
    )
    out = packed.groupBy("bucket").transformWithStateInPandas(
        JoinProcessor(task), _output(task, streams), "Append", "EventTime", eventTimeColumnName=EVENT_TIME
    )
    return out.filter(F.col(WORK).isNull()).drop(WORK)


def _marked(df: DataFrame, time: str, lateness: int, ahead: int | None) -> DataFrame:
    mark = F.col(f"`{time}`")
    if dict(df.dtypes)[time] == "timestamp_ntz":
        mark = F.expr(f"TIMESTAMP'1970-01-01 00:00:00Z' + (`{time}` - TIMESTAMP_NTZ'1970-01-01 00:00:00')")
    if ahead is not None:
        mark = F.least(mark, F.current_timestamp() + F.expr(f"INTERVAL {ahead} MICROSECONDS"))
    ms = -(-lateness // 1000)
    return df.withColumn(MARK, mark).withWatermark(MARK, f"{ms} milliseconds").drop(MARK)


def _packed(df: DataFrame, binding: JoinBinding, alias: str, key: int | None, ids: tuple[int, ...]) -> DataFrame:
    packing = Packing(binding, alias, key, ids)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return packing.pack(batches)

    return df.mapInArrow(pack, PACKED)


def _output(task: JoinTask, streams: Mapping[str, DataFrame]) -> StructType:
    types = {f"{a}_{field.name}": field.dataType for a, df in streams.items() for field in df.schema}
    times = [streams[a].schema[task.binding.plan.times[a]].dataType for a in streams]
    types[EVENT_TIME] = times[0]
    return StructType([StructField(f.name, types.get(f.name, StringType())) for f in task.output()])
