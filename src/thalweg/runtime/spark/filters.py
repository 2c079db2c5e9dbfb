"""Applies a filter chain to a Spark DataFrame, batch or streaming.

One iterator Arrow UDF reads only the columns that the predicates need and returns one text per row (`verdict_column`),
so that wide rows are not sent to Python. The text is null for dropped rows, which are removed at once. On a few rows it
also contains what the task did. `observe` collects this and brings it to the driver without accumulators, so it also
works with Spark Connect. Then the rows that only carried it and the text are removed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, types
from pyspark.sql import functions as F

from thalweg.errors import PlanError
from thalweg.events import Record
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.native_order import NativeOrder
from thalweg.runtime.filters.outcome import Wanted, WantedRows, check_wanted
from thalweg.runtime.filters.recalled_order import recalled
from thalweg.runtime.filters.work_record import decode
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark import verdict_column
from thalweg.runtime.spark.call_mark import deaths, sentence
from thalweg.runtime.spark.host_file import forget_at_exit
from thalweg.runtime.spark.joins.arrow_schema import arrow_type, unsupported
from thalweg.runtime.spark.native import filter_natively
from thalweg.runtime.spark.observed_work import with_observed_work
from thalweg.runtime.spark.pickled_plan import PickledPlan, policy_digest
from thalweg.runtime.spark.stream_watch import WorkSink
from thalweg.runtime.spark.task_name import last_attempts
from thalweg.runtime.spark.worker import ChainTask, run_task
from thalweg.runtime.spark.worker_python import warn_of_another_python
from thalweg.runtime.spark.worker_socket import acknowledged

CLASSIFIERS = (
    types.StringType, types.BinaryType, types.BooleanType, types.NumericType, types.DateType, types.TimestampType,
    types.TimestampNTZType, types.NullType,
)  # fmt: skip
"""The types of columns by which rows can be classified. Texts of a given length are texts."""


def attach(
    df: DataFrame,
    plan: FilterPlan,
    settings: FilterSettings,
    receiver: Receiver[Any],
    wanted_rows: WantedRows = WantedRows(),  # noqa: B008 - frozen
    native: NativeOrder | None = None,
) -> DataFrame:
    """Return the filtered DataFrame. `native`: what was learned about the order of native predicates, if anything."""
    check_wanted(wanted_rows.wanted, settings, wanted_rows.errors_column, df.columns)
    sink = receiver.sink(settings.events)
    names = plan.columns_in(df.columns)
    _refuse_uncarried(names, df.schema)
    _refuse_classifiers(plan, df.schema)
    if not hasattr(F, "arrow_udf"):
        raise PlanError(
            "this PySpark has no arrow_udf; Thalweg needs PySpark 4.1 or newer: pip install 'thalweg[spark]'"
        )
    identity = uuid.uuid4().hex
    wanted, errors_column = wanted_rows.wanted, wanted_rows.errors_column
    tagged = wanted is not Wanted.KEPT
    if plan.native:
        native = NativeOrder(plan.native) if native is None else native
        receiver.before_report.add(native.settle)
        df, fetch, report_natives = filter_natively(df, plan, settings, native, identity, sink)
        if not plan.predicates:  # no row is sent to Python
            receiver.expect(fetch)
            if fetch is None:
                report_natives(f"{'stream' if df.isStreaming else 'batch'} {identity[:8]}", None)
            if tagged:  # and no row fails
                df = df.withColumn(errors_column, F.lit(None).cast(verdict_column.ERRORS_TYPE))
            return df if wanted is not Wanted.FAILED else df.filter(F.lit(False))
    warn_of_another_python(df)
    task = _chain_task(df, plan, settings, receiver, identity, wanted)

    def filter_chain(columns: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return run_task(task, columns)

    # annotations are strings here, but PySpark needs the types
    filter_chain.__annotations__ = {"columns": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    # the text differs from call to call, and a deterministic UDF may be evaluated twice, once for the filter
    udf: Any = F.arrow_udf(acknowledged(filter_chain), verdict_column.TYPE).asNondeterministic()
    metric = f"thalweg_{identity}"
    flag = f"__thalweg_{identity[:8]}"
    column = udf(*(F.col(f"`{name.replace('`', '``')}`") for name in names))
    # dropped rows are removed first, because observing copies every row it sees
    evaluated = df.withColumn(flag, column).filter(F.col(flag).isNotNull())
    work = F.collect_list(verdict_column.work(F.col(flag), tagged)).alias("work")

    report_chain = _reporter(plan, settings, sink)

    def report(run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        if plan.native:
            report_natives(run, batch)
        report_chain(run, batch, texts, name)

    unasked = settings.events is not None
    observed, fetch = with_observed_work(evaluated, metric, work, report, identity, unasked=unasked)
    receiver.expect(fetch)
    out = observed.filter(verdict_column.wanted(F.col(flag), tagged))
    if tagged:
        out = out.withColumn(errors_column, verdict_column.errors(F.col(flag)))
    return out.drop(flag)


@dataclass(frozen=True)
class ChainInTask:
    """A filter chain that the tasks of another operator run on its rows, before these reach Spark."""

    task: ChainTask
    columns: tuple[str, ...]
    """The columns of the rows that the predicates read."""
    report: WorkSink

    def observed(self, df: DataFrame, column: str) -> DataFrame:
        """Return the stream `df`, which these tasks return, without the rows that have what the chain did in a
        column."""
        metric = f"thalweg_{self.task.identity}"
        work = F.collect_list(F.col(column)).alias("work")
        observed, _ = with_observed_work(df, metric, work, self.report, self.task.identity, unasked=False)
        return observed.filter(F.col(column).isNull()).drop(column)


def in_tasks(
    df: DataFrame,
    schema: types.StructType,
    plan: FilterPlan,
    settings: FilterSettings,
    receiver: Receiver[Any],
) -> ChainInTask:
    """Return a chain for the tasks of an operator that reads streams such as `df`, and whose rows have these columns.
    No predicate is native."""
    assert not plan.native, "rows have not reached the JVM"
    columns = plan.columns_in(schema.names)
    _refuse_classifiers(plan, schema)
    task = _chain_task(df, plan, settings, receiver, uuid.uuid4().hex, Wanted.KEPT)
    return ChainInTask(task, tuple(columns), _reporter(plan, settings, receiver.sink(settings.events)))


def _refuse_uncarried(names: Iterable[str], schema: types.StructType) -> None:
    for name in names:
        if arrow_type(schema[name].dataType) is None:
            raise PlanError(f"{unsupported(schema[name])}; cast it to a string or a struct before filters read it")


def _refuse_classifiers(plan: FilterPlan, schema: types.StructType) -> None:
    if plan.classify_by is not None:
        unknown = {f.name: f.dataType.simpleString() for f in schema if not isinstance(f.dataType, CLASSIFIERS)}
        plan.refuse_classifiers(unknown, schema.names)


def _chain_task(
    df: DataFrame, plan: FilterPlan, settings: FilterSettings, receiver: Receiver[Any], identity: str, wanted: Wanted
) -> ChainTask:
    application = df.sparkSession.conf.get("spark.app.id", None) or "application"
    forget_at_exit(application)
    receiver.deaths[application] = partial(_deaths, application, receiver.identity, plan.pipeline.names)
    earlier = None if settings.events is None else recalled(settings.events, plan.pipeline)
    return ChainTask(
        PickledPlan.of(plan), settings, receiver.identity, identity, application, df.isStreaming, wanted, _attempts(df),
        policy_digest(settings), earlier,
    )  # fmt: skip


def _reporter(plan: FilterPlan, settings: FilterSettings, sink: Callable[[Record], None]) -> WorkSink:
    """Return the function that receives what tasks did, as texts."""

    def report(run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        kind = "batch" if batch is None else "stream"
        for text in last_attempts(texts):
            for record in decode(
                text, plan=plan, policy=settings.policy_name, run=run, kind=kind, batch=batch, query_name=name
            ):
                sink(record)

    return report


def _deaths(application: str, filters: str, names: tuple[str, ...]) -> list[str]:
    """Return sentences about the workers of an application that ended inside a predicate."""
    return [sentence(death, names) for death in deaths(application, filters)]


def _attempts(df: DataFrame) -> int:
    """Return how often Spark tries a task: once in local mode, unless the master sets another number."""
    master = df.sparkSession.conf.get("spark.master", None) or ""
    if master.startswith("local"):
        return int(found[1]) if (found := re.search(r",\s*(\d+)\s*\]", master)) else 1
    return int(df.sparkSession.conf.get("spark.task.maxFailures", None) or 4)
