"""A join put on DataFrames.

Streams: each gets Spark's watermark, is packed for the buckets and united with the others; a bucket's rows meet its
windows in `transformWithState`. Finished DataFrames: the same packing, sorted by time, and windows that live as long as
a task. What was done comes back on rows of its own, which `observe` brings to the driver.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from thalweg.errors import PlanError, nearest
from thalweg.events import Record
from thalweg.kernels.salt import Salt
from thalweg.plan.byte_size import size
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.window import length_of
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.joins.join_packing import DAY_US, NOW, Packing
from thalweg.runtime.joins.join_record import decode
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.redaction import redacted
from thalweg.runtime.spark.joins.arrow_schema import arrow_schema, refuse_uncarried
from thalweg.runtime.spark.joins.bucket_ids import bucket_ids
from thalweg.runtime.spark.joins.finished import join_finished
from thalweg.runtime.spark.joins.marked import has_watermark, marked, quoted
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.query_salt import salt_of_query
from thalweg.runtime.spark.joins.requirements import demand
from thalweg.runtime.spark.joins.task import WORK, JoinTask
from thalweg.runtime.spark.joins.timed_table import warn_of_tables_with_times
from thalweg.runtime.spark.observed_work import Fetch, with_observed_work
from thalweg.runtime.spark.pickled_plan import policy_digest
from thalweg.runtime.spark.task_name import last_attempts
from thalweg.runtime.spark.worker_heap import settle
from thalweg.runtime.spark.worker_python import warn_of_another_python

PACKED = "bucket int, stream int, first long, latest long, chunk binary"
MOST_TABLE_BYTES, MOST_TABLE_ROWS = 256_000_000, 10_000_000
"""Of a table, which every worker holds, and which travels with the task."""
PARALLELISM = 8
"""Where nobody can tell how many tasks run at once."""


@dataclass(frozen=True)
class Laid:
    """A join laid out over DataFrames; nothing runs yet."""

    streaming: bool
    binding: JoinBinding
    partitioning: Partitioning
    buckets: tuple[int, ...]
    partitions: int
    followed: tuple[str, ...]
    """Streams that have a watermark of their own."""


def lay_out(plan: JoinPlan, settings: JoinSettings, frames: Mapping[str, DataFrame]) -> Laid:
    """How it will run; refuses what cannot."""
    _check(plan, frames)
    streaming = any(df.isStreaming for df in frames.values())
    if streaming:
        finished = [alias for alias in plan.streams if not frames[alias].isStreaming]
        plan = plan.with_tables(finished) if finished else plan
        for alias in plan.tables:
            if frames[alias].isStreaming:
                raise PlanError(f"{alias} is a stream, and window= or time= leaves it out: add {alias!r}: ... there")
    spark = next(iter(frames.values())).sparkSession
    if streaming:
        demand(spark)
    for alias in plan.graph.aliases:
        refuse_uncarried(alias, frames[alias], plan.select, streaming)
    schemas = {a: arrow_schema(frames[a]) for a in plan.graph.aliases}
    binding = JoinBinding.of(plan, schemas, Salt.of_seed(settings.seed))
    if streaming and not pa.types.is_timestamp(binding.time_type):
        raise PlanError("time=: on Spark streams a time is a TIMESTAMP or TIMESTAMP_NTZ; F.timestamp_micros makes one")
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    count = settings.buckets or min(parallelism(spark), partitions)
    partitions = partitions if streaming else count
    sizes = None if streaming else _sizes({a: frames[a] for a in plan.streams})
    # a finished DataFrame is measured by Spark, which knows more than a plan made without it
    planned = Partitioning.by(plan.graph, plan.spread_by, plan.tables) if sizes is None else None
    followed = [a for a, column in plan.times.items() if streaming and has_watermark(a, frames[a], column)]
    return Laid(
        streaming, binding, planned or Partitioning.of(plan.graph, plan.tables, sizes, "bytes"), bucket_ids(count),
        partitions, tuple(followed),
    )  # fmt: skip


def attach(
    plan: JoinPlan,
    settings: JoinSettings,
    frames: Mapping[str, DataFrame],
    sink: Callable[[Record], None],
    wanted: JoinRows = JoinRows.RESULTS,
) -> tuple[DataFrame, Fetch | None]:
    """The joined DataFrame and, where it is finished, what fetches what its first action observed."""
    laid = lay_out(plan, settings, frames)
    policy_digest(settings)  # refuses a class that cannot travel
    binding = laid.binding
    plan = binding.plan
    any_df = next(iter(frames.values()))
    warn_of_another_python(any_df)
    if laid.streaming:
        warn_of_tables_with_times(plan, frames)
    ahead, idle = (
        None if length is None else length_of(length, unit)
        for length, unit in ((settings.max_ahead, "us"), (settings.idle_after, "ms"))
    )
    identity = uuid.uuid4().hex
    task = JoinTask(
        binding, settings, laid.buckets, laid.partitioning, identity,
        {alias: _table(alias, frames[alias], binding, wanted) for alias in plan.tables}, laid.followed, wanted, ahead,
        idle,
    )  # fmt: skip
    packed = []
    # sorted: a checkpoint knows sources by their place, and conditions may be written in another order
    for alias in sorted(plan.streams):
        df = frames[alias].select(*(F.col(quoted(name)) for name in binding.schemas[alias].names))
        if not laid.streaming:
            df = df.sortWithinPartitions(F.col(quoted(plan.times[alias])))  # windows forget what lies in order
        elif ahead is not None:
            df = df.withColumn(NOW, _now(ahead))
        key = laid.partitioning.key if alias in laid.partitioning.columns else None
        packing = Packing(binding, alias, key, laid.buckets)
        # buckets of a stream keep their rows from start to start, and the query's id is as old as its checkpoint
        salt = salt_of_query if laid.streaming else partial(Salt.of, identity)
        df = _packed(df, packing, ahead if laid.streaming else None, salt, settings.redact)
        if laid.streaming and alias not in laid.followed:
            df = marked(df, binding.lateness[alias])
        packed.append(df)
    together = reduce(DataFrame.union, packed)
    columns = _columns(task, frames)
    metric = f"thalweg_{identity}"
    work = F.collect_list(F.col(WORK)).alias("work")

    def tell(run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        kind = "batch" if batch is None else "stream"
        for text in last_attempts(texts):
            for record in decode(text, policy=settings.policy_name, run=run, kind=kind, batch=batch, query_name=name):
                sink(record)

    if laid.streaming:
        joined = together.groupBy("bucket").transformWithStateInPandas(
            JoinProcessor(task), columns, "Append", "EventTime",
            # what is set aside is older than the watermark, and a column that carries it may hold nothing older
            eventTimeColumnName=EVENT_TIME if wanted is JoinRows.RESULTS else "",
        )  # fmt: skip
    else:
        spread = together.repartition(len(laid.buckets), "bucket").sortWithinPartitions("bucket", "first")
        joined = spread.mapInArrow(partial(join_finished, task), columns)
    observed, fetch = with_observed_work(joined, metric, work, tell, identity, unasked=settings.events is not None)
    return observed.filter(F.col(WORK).isNull()).drop(WORK), fetch


def _now(ahead: int) -> Column:
    """The micro-batch's time, or its day where that is enough to say what is too far `ahead`.

    Either is a literal in the code that Spark generates for a micro-batch. The time is another in every one, so that
    three programs a stream are compiled anew: a fifth of a small batch's CPU time. The day seldom changes."""
    return F.current_date() if ahead >= DAY_US else F.current_timestamp()


def _packed(df: DataFrame, packing: Packing, ahead: int | None, salt: Callable[[], Salt], redact: bool) -> DataFrame:
    """`ahead`: in microseconds, how far ahead of the clock a time is believed; None: as far as it likes. `salt`: of the
    hash that spreads rows over buckets, asked for in the task."""

    names = df.columns

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from redacted(packing.pack((batch.rename_columns(names) for batch in batches), ahead, salt()), redact)
        settle()

    # PySpark looks columns up by name here, and reads a dot as a field and a backtick as a quote
    return df.toDF(*(f"c{n}" for n in range(len(names)))).mapInArrow(pack, PACKED)


def _columns(task: JoinTask, frames: Mapping[str, DataFrame]) -> StructType:
    """Of what comes out, as Spark's types."""
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
            raise PlanError(f"{alias!r} is no stream of on={plan.on!r}{nearest(alias, aliases)}")
        if not (hasattr(df, "isStreaming") and hasattr(df, "mapInArrow")):
            raise PlanError(
                f"{alias}: a {type(df).__module__.partition('.')[0]} {type(df).__name__} is no DataFrame of Spark: "
                f"spark.createDataFrame(...) makes one; without Spark, join all of them by j.over({alias}=..., ...), "
                "or ask j.tagged_over() or j.late_over()"
            )
    missing = [alias for alias in aliases if alias not in frames]
    if missing:
        raise PlanError(f"no DataFrame is given for {', '.join(missing)}: j({missing[0]}=df, ...)")


def parallelism(spark: SparkSession) -> int:
    """Tasks that run at once, as far as the configuration tells: not what Spark counts, which on a cluster depends on
    the executors that are there at the moment, while a checkpoint must find its buckets again."""

    def asked(key: str) -> int | None:
        found = spark.conf.get(f"spark.{key}", None)
        return int(found) if found else None

    if (parallelism := asked("default.parallelism")) is not None:
        return parallelism
    master = spark.conf.get("spark.master", None) or ""
    if found := re.match(r"local(?:\[(\d+|\*))?", master):
        return {None: 1, "*": os.cpu_count() or 1}.get(found[1]) or int(found[1])
    executors, cores = asked("executor.instances"), asked("executor.cores")
    if executors is not None and cores is not None:
        return executors * cores
    return asked("cores.max") or PARALLELISM


def _sizes(frames: Mapping[str, DataFrame]) -> Mapping[str, int] | None:
    """What Spark estimates of finished DataFrames, in bytes; None: it does not tell."""
    if not all(hasattr(df, "_jdf") for df in frames.values()):
        return None
    stats = {a: df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() for a, df in frames.items()}
    sizes = {a: int(str(told)) for a, told in stats.items()}
    return sizes if all(count < 2**62 for count in sizes.values()) else None  # it says 2^63 - 1 where it knows nothing


def _table(alias: str, df: DataFrame, binding: JoinBinding, wanted: JoinRows) -> bytes:
    """A table's rows, as they are now; no row where nothing is joined with them."""
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
    wanted = df.select(*(F.col(quoted(name)) for name in binding.schemas[alias].names))
    table: pa.Table = wanted.limit(MOST_TABLE_ROWS + 1).toArrow()
    if table.nbytes > MOST_TABLE_BYTES or table.num_rows > MOST_TABLE_ROWS:
        raise PlanError(
            f"{alias} is a table of {size(table.nbytes)} and {table.num_rows:,} rows or more, and every worker "
            f"would hold it; at most {size(MOST_TABLE_BYTES)} and {MOST_TABLE_ROWS:,} rows: join it with Spark's "
            "own join before, filter it, or select= fewer columns"
        )
    return table
