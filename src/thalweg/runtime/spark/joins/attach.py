"""Applies a join to DataFrames.

Each stream gets a Spark watermark, is packed for the buckets and united with the others; `transformWithState` joins the
rows of a bucket with its windows. Finished DataFrames are packed in the same way and sorted by time, and their windows
live as long as a task. What was done is returned on separate rows, which `observe` brings to the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, StringType, StructField, StructType

from thalweg.errors import PlanError, nearest
from thalweg.formatting import byte_size, plural
from thalweg.kernels.compiling import announce, is_compiled
from thalweg.kernels.salt import Salt
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.optimizer.rules.spread_rows import IN_WINDOWS, rows_held
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.joins.select import EVENT_TIME
from thalweg.plan.joins.window import length_of
from thalweg.runtime.joins.join_binding import JoinBinding, warn_of_tables_with_times
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.joins.join_packing import DAY_US, NOW, Packing, unpacked
from thalweg.runtime.joins.join_record import decode
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.limits import limits_of, master_of, partitions_of
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.redaction import redacted
from thalweg.runtime.spark.joins.arrow_schema import arrow_schema, refuse_uncarried
from thalweg.runtime.spark.joins.bucket_ids import bucket_ids
from thalweg.runtime.spark.joins.finished_join import join_finished
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.query_salt import salt_of_query
from thalweg.runtime.spark.joins.requirements import demand
from thalweg.runtime.spark.joins.stream_watermarks import has_watermark, quoted, with_packed_watermark
from thalweg.runtime.spark.joins.task import WORK, JoinTask
from thalweg.runtime.spark.joins.task_sink import BYTES, FILE, ROWS, SinkFor
from thalweg.runtime.spark.observed_work import with_observed_work
from thalweg.runtime.spark.pickled_plan import policy_digest
from thalweg.runtime.spark.task_name import last_attempts
from thalweg.runtime.spark.worker_heap import settle
from thalweg.runtime.spark.worker_python import warn_of_another_python
from thalweg.runtime.spark.worker_socket import acknowledged
from thalweg.stats import NOTHING_KNOWN, Knowledge

PACKED = "bucket int, stream int, first long, latest long, chunk binary"
MOST_TABLE_BYTES, MOST_TABLE_ROWS = 256_000_000, 10_000_000
"""The limits for a table, which every worker holds, and which is sent with the task."""
WRITTEN = "thalweg_written"
"""The name under which the progress of a query counts files, rows and bytes that tasks wrote."""


@dataclass(frozen=True)
class SparkJoinLayout:
    """How a join is distributed over DataFrames; nothing runs yet."""

    streaming: bool
    binding: JoinBinding
    partitioning: Partitioning
    limits: Limits
    buckets: tuple[int, ...]
    """The ids of the buckets."""
    partitions: int
    followed: tuple[str, ...]
    """Streams that already have a watermark."""


def lay_out(
    plan: JoinPlan, settings: JoinSettings, frames: Mapping[str, DataFrame], known: Knowledge = NOTHING_KNOWN
) -> SparkJoinLayout:
    """Return how the join will run. `known` decides which equal columns spread the rows of streams, if the plan does
    not. Raise a PlanError if the join cannot run."""
    _check(plan, frames)
    streaming = any(df.isStreaming for df in frames.values())
    if streaming:
        finished = [alias for alias in plan.streams if not frames[alias].isStreaming]
        plan = plan.with_tables(finished) if finished else plan
        for alias in plan.tables:
            if frames[alias].isStreaming:
                raise PlanError(f"{alias} is a stream, but window= or time= leaves it out; add {alias!r}: ... there")
    spark = next(iter(frames.values())).sparkSession
    if streaming:
        demand(spark)
    refuse_uncarried(plan, frames)
    schemas = {a: arrow_schema(frames[a]) for a in plan.graph.aliases}
    binding = JoinBinding.of(plan, schemas, Salt.of_seed(settings.seed))
    if streaming and not pa.types.is_timestamp(binding.time_type):
        raise PlanError("time=: the times of Spark streams must be TIMESTAMP or TIMESTAMP_NTZ; use F.timestamp_micros")
    limits = limits_of(settings.max_bytes, buckets=settings.buckets, spark=spark)
    sizes, unit = None if streaming else _sizes({a: frames[a] for a in plan.streams}), "bytes"
    # Spark estimates the size of a finished DataFrame, which is better than a plan made without it
    planned = Partitioning.by(plan.graph, plan.spread_by, plan.tables) if sizes is None else None
    if sizes is None:
        sizes, unit = rows_held(plan, known), IN_WINDOWS
    followed = [a for a, column in plan.times.items() if streaming and has_watermark(a, frames[a], column)]
    return SparkJoinLayout(
        streaming, binding, planned or Partitioning.of(plan.graph, plan.tables, sizes, unit), limits,
        bucket_ids(limits.buckets), partitions_of(spark) if streaming else limits.buckets, tuple(followed),
    )  # fmt: skip


def attach(
    layout: SparkJoinLayout,
    start: StartPlan,
    settings: JoinSettings,
    frames: Mapping[str, DataFrame],
    receiver: Receiver[Any],
    wanted: JoinRows = JoinRows.RESULTS,
    sink_for: SinkFor | None = None,
) -> DataFrame:
    """Return the joined DataFrame. `start`: the plan that the join begins with. `sink_for`: returns where tasks write
    the results, which have these columns; then the rows of the DataFrame are the files."""
    sink = receiver.sink(settings.events)
    policy_digest(settings)  # refuses a class that cannot be pickled
    binding = layout.binding
    plan = binding.plan
    any_df = next(iter(frames.values()))
    warn_of_another_python(any_df)
    if master_of(any_df.sparkSession).startswith("local") and not is_compiled():  # otherwise on other machines
        announce()
    columns_of = {alias: df.columns for alias, df in frames.items()}
    warn_of_tables_with_times(plan, columns_of, beside_streams=layout.streaming)
    ahead, idle = (
        None if length is None else length_of(length, unit)
        for length, unit in ((settings.max_ahead, "us"), (settings.idle_after, "ms"))
    )
    identity = uuid.uuid4().hex
    start.warn_of_memory()
    # if a finished DataFrame is a table, its rate is not counted
    chart = start.chart() if start.estimates.streams == plan.streams else None
    task = JoinTask(
        binding, settings, layout.buckets, layout.partitioning, identity, {}, start.without_others(), layout.followed,
        wanted, ahead, idle, chart,
    )  # fmt: skip
    columns = _columns(task, frames)
    if sink_for is not None:
        assert layout.streaming
        task = replace(task, sink=sink_for(StructType(columns.fields[:-1])))
        columns = from_arrow_schema(task.output)
    # last, because it runs jobs, and `sink_for` may have found that tasks cannot write
    task = replace(task, tables={alias: _table(alias, frames[alias], binding, wanted) for alias in plan.tables})
    packed = []
    # sorted: a checkpoint identifies sources by position, and conditions may be written in another order
    for alias in sorted(plan.streams):
        df = frames[alias].select(*(F.col(quoted(name)) for name in binding.schemas[alias].names))
        if not layout.streaming:
            df = df.sortWithinPartitions(F.col(quoted(plan.times[alias])))  # so that windows can remove rows early
        elif ahead is not None:
            df = df.withColumn(NOW, _now(ahead))
        key = layout.partitioning.key if alias in layout.partitioning.columns else None
        packing = Packing(binding, alias, key, layout.buckets)
        # a stream's buckets must be the same after a restart, and the id of the query is stored in its checkpoint
        salt = salt_of_query if layout.streaming else partial(Salt.of, identity)
        df = _packed(df, packing, ahead if layout.streaming else None, salt, settings.redact)
        if layout.streaming and alias not in layout.followed:
            df = with_packed_watermark(df, binding.lateness[alias])
        packed.append(df)
    together = reduce(DataFrame.union, packed)
    metric = f"thalweg_{identity}"
    work = F.collect_list(F.col(WORK)).alias("work")

    def report(run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        kind = "batch" if batch is None else "stream"
        for text in last_attempts(texts):
            for record in decode(text, policy=settings.policy_name, run=run, kind=kind, batch=batch, query_name=name):
                sink(record)

    if layout.streaming:
        joined = together.groupBy("bucket").transformWithStateInPandas(
            JoinProcessor(task), columns, "Append", "EventTime",
            # rows that are set aside are older than the watermark, which the column of a watermark must not contain
            eventTimeColumnName=EVENT_TIME if wanted is JoinRows.RESULTS and sink_for is None else "",
        )  # fmt: skip
    else:
        spread = together.repartition(len(layout.buckets), "bucket").sortWithinPartitions("bucket", "first")
        joined = spread.mapInArrow(acknowledged(partial(join_finished, task)), columns)
    observed, fetch = with_observed_work(joined, metric, work, report, identity, unasked=settings.events is not None)
    receiver.expect(fetch)
    rows = observed.filter(F.col(WORK).isNull()).drop(WORK)
    return rows if sink_for is None else rows.observe(WRITTEN, *_counted_files())


def _counted_files() -> list[Column]:
    """Return what the progress of a query says about the files of a micro-batch."""
    none = F.lit(0).cast("long")
    sums = [F.coalesce(F.sum(F.col(name)), none).alias(name) for name in (ROWS, BYTES)]
    return [F.count(F.col(FILE)).alias("files"), *sums]


def _now(ahead: int) -> Column:
    """Return the time of the micro-batch, or its day if that is precise enough to decide what is too far `ahead`.

    Both are literals in the code that Spark generates for a micro-batch. The time differs in every micro-batch, so
    Spark compiles three programs per stream again, which takes a fifth of the CPU time of a small batch. The day seldom
    changes.
    """
    return F.current_date() if ahead >= DAY_US else F.current_timestamp()


def _packed(df: DataFrame, packing: Packing, ahead: int | None, salt: Callable[[], Salt], redact: bool) -> DataFrame:
    """Pack the rows of a stream for the buckets.

    `ahead`: how far ahead of the clock a time is accepted, in microseconds; None for any time. `salt` returns the salt
    of the hash that spreads rows over buckets; it is called in the task.
    """

    names = df.columns

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from redacted(packing.pack((batch.rename_columns(names) for batch in batches), ahead, salt()), redact)
        settle()

    # PySpark finds columns by name here, and interprets dots and backticks in names
    return df.toDF(*(f"c{n}" for n in range(len(names)))).mapInArrow(acknowledged(pack), PACKED)


def _columns(task: JoinTask, frames: Mapping[str, DataFrame]) -> StructType:
    """Return the columns of the output with Spark's types."""
    times: list[DataType] = [frames[a].schema[c].dataType for a, c in task.binding.plan.times.items()]
    types = {
        field.name: frames[alias].schema[column].dataType if alias else times[0]
        for field, (alias, column) in zip(task.output, task.columns, strict=False)
    }
    return StructType([StructField(f.name, types.get(f.name, StringType())) for f in task.output])


def _check(plan: JoinPlan, frames: Mapping[str, DataFrame]) -> None:
    aliases = plan.graph.aliases
    for alias, df in frames.items():
        if alias not in aliases:
            has = ", ".join(aliases)
            raise PlanError(f"{alias!r} is not a stream in on={plan.on!r}{nearest(alias, aliases)}; it has {has}")
        if not (hasattr(df, "isStreaming") and hasattr(df, "mapInArrow")):
            raise PlanError(
                f"{alias}: a {type(df).__module__.partition('.')[0]} {type(df).__name__} is not a Spark DataFrame; "
                f"make one with spark.createDataFrame(...), or join without Spark with j.over({alias}=..., ...), "
                "j.tagged_over() or j.late_over()"
            )
    missing = [alias for alias in aliases if alias not in frames]
    if missing:
        raise PlanError(f"there is no DataFrame for {', '.join(missing)}; add {missing[0]}=df to the call")


def _sizes(frames: Mapping[str, DataFrame]) -> Mapping[str, float] | None:
    """Return Spark's size estimates of finished DataFrames in bytes; None if there are none."""
    if not all(hasattr(df, "_jdf") for df in frames.values()):
        return None
    stats = {a: df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() for a, df in frames.items()}
    sizes = {a: int(str(size)) for a, size in stats.items()}
    return sizes if all(count < 2**62 for count in sizes.values()) else None  # 2^63 - 1 means unknown


def _table(alias: str, df: DataFrame, binding: JoinBinding, wanted: JoinRows) -> bytes:
    """Return the current rows of a table, as an Arrow stream; no rows if nothing is joined with them."""
    if wanted is JoinRows.LATE:
        table = binding.schemas[alias].empty_table()
    else:
        table = _read(alias, df, binding)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _read(alias: str, df: DataFrame, binding: JoinBinding) -> pa.Table:
    names = binding.schemas[alias].names

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = binding.plain(alias, batch.rename_columns(names))
            yield pa.record_batch({"chunk": pa.array([memoryview(rows.serialize())], pa.binary())})

    # packed, because `toArrow` fails on structs that are null but have fields that are not nullable, such as VARIANT
    wanted = df.select(*map(quoted, names)).limit(MOST_TABLE_ROWS + 1).toDF(*(f"c{n}" for n in range(len(names))))
    packed = wanted.mapInArrow(acknowledged(pack), "chunk binary").toArrow()
    chunks = [unpacked(binding, alias, chunk.as_buffer()) for chunk in packed.column("chunk")]
    table = pa.Table.from_batches(chunks, binding.schemas[alias])
    if table.nbytes > MOST_TABLE_BYTES or table.num_rows > MOST_TABLE_ROWS:
        raise PlanError(
            f"the table {alias} has at least {byte_size(table.nbytes)} and {plural(table.num_rows, 'row')}; every "
            f"worker holds it, so it may have at most {byte_size(MOST_TABLE_BYTES)} and {MOST_TABLE_ROWS:,} rows. Join "
            "it with Spark's own join before, filter it, or select= fewer columns"
        )
    return table
