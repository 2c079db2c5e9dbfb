"""Starts a query as a Spark streaming query, and pins its plan in the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from thalweg.errors import PlanError
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.optimizer.rules.choose_kept import choose_kept
from thalweg.optimizer.rules.choose_order import with_order
from thalweg.optimizer.trigger_interval import choose_interval
from thalweg.plan.query.nodes import SpreadBy, WindowJoin
from thalweg.plan.query.plan_state import PlanState
from thalweg.plan.query.query import Query
from thalweg.plan.query.query_plan import FilterPlaces, QueryPlan
from thalweg.runtime.checkpoint_parts import QUESTION, STATE, Question, StoredPlan, refuse_another_plan
from thalweg.runtime.sink.given_folder import given_folder
from thalweg.runtime.spark.checkpoint import Checkpoint
from thalweg.runtime.spark.joins.task_sink import SinkFor
from thalweg.runtime.spark.sink.request import SinkRequest, refuse_wrong_names
from thalweg.runtime.spark.sink.result_sink import ResultSink
from thalweg.runtime.spark.sql.after_join import AfterJoin, computed_in_tasks, obstacle
from thalweg.runtime.spark.sql.checkpoint_folders import refuse_forbidden, refuse_one_folder, running_query
from thalweg.runtime.spark.sql.checkpoint_logs import refuse_damaged_logs
from thalweg.runtime.spark.sql.requirements import spark_errors
from thalweg.stats import Knowledge
from thalweg.stats.batch_time import BatchTimes


@dataclass(frozen=True)
class Start:
    """Where the results of a query go, and when."""

    kind: str
    """The name of the format in Spark."""
    path: str | None
    options: Mapping[str, str]
    trigger: str | Mapping[str, Any] | None
    checkpoint: Checkpoint | None
    """None if Spark uses a temporary one."""
    name: str | None
    """The name of the query, if it has one."""
    sink: str | None = None
    """Who writes the results, if the user asks for it."""


def start_stream(
    spark: SparkSession,
    plan: QueryPlan,
    placed: Callable[[FilterPlaces], QueryPlan],
    made: Callable[[QueryPlan, SinkFor | None], DataFrame],
    after: Callable[[QueryPlan, StructType], AfterJoin],
    parsed: Query,
    args: Mapping[str, str],
    start: Start,
) -> tuple[StreamingQuery, tuple[str, ...]]:
    """Start a query on Spark. Return it, and sentences about who writes its results.

    `placed` returns the plan with conditions in other places, and `made` the DataFrame of a plan, or that of the files
    that its tasks write. `after` returns what tasks do with joined rows of these columns before they write them.
    Choices of the plan that affect its state are taken from the checkpoint. `parsed` is the query as written, with the
    values of its parameters in `args`.
    """
    place = start.checkpoint
    begun = None
    if place is not None:
        question = Question(parsed.question, parsed.text, args)
        begun = place.plan_of(question)
        places = {} if begun is None else dict(begun.state.conditions)
        if places and places != dict(plan.state.conditions):
            plan = placed(places)
        order = () if plan.join is None else plan.join.order
        mine = StoredPlan(PlanState.of(plan, _buckets(plan)), order)
        if begun is not None:
            refuse_another_plan(place.folder, begun, mine)
            plan = _as_begun(plan, begun)
    sink = ResultSink(spark, SinkRequest.of(start.kind, start.path, start.options, place, start.sink), obstacle(plan))

    def results(joined: StructType) -> tuple[StructType, AfterJoin]:
        nodes = after(computed_in_tasks(plan), joined)
        return nodes.schema(spark, joined), nodes

    def made_for(sink_for: SinkFor | None) -> DataFrame:
        return made(plan if sink_for is None else computed_in_tasks(plan), sink_for)

    writer = sink.writer(made_for, results)
    if start.name is not None:
        writer = writer.queryName(start.name)
    writer = triggered(writer, start.trigger)
    if place is not None and begun is None:
        place.write(STATE, mine)
        place.write(QUESTION, question)  # the last one: with it, the checkpoint is bound
    try:
        with sink.pinned(), spark_errors():
            query: StreamingQuery = sink.start(writer)
    except PlanError:
        if place is not None and begun is None and not place.is_begun():
            place.remove(QUESTION)
        raise
    return query, sink.sentences(_buckets(plan) or 1, start.trigger)  # only joins of windows are written by tasks


def triggered(writer: Any, trigger: str | Mapping[str, Any] | None) -> Any:
    """Return a DataStreamWriter with a trigger; None is Spark's default."""
    arguments = _trigger(trigger)
    if not arguments:
        return writer
    try:
        return writer.trigger(**arguments)
    except Exception as error:  # an error of PySpark, Java or Python
        raise _wrong_trigger(trigger) from error


def _as_begun(plan: QueryPlan, begun: StoredPlan) -> QueryPlan:
    """Return the plan with the choices in its checkpoint. The first order is one of them, because it numbers the
    indexes of the windows; policies replace it with what they have learned anyway. The sub-joins that it keeps at first
    are chosen anew, for the buckets of the checkpoint."""
    if plan.join is None:
        return plan
    why = "as its checkpoint was created"
    join = with_order(plan.join, begun.order, why)
    if not isinstance(join, WindowJoin):
        return plan.with_join(join)
    columns = begun.state.spread_by
    spread = {alias for alias, _ in columns}
    replicated = tuple(alias for alias, _ in join.probe_trees if alias not in spread)
    limits = start_of(join).limits
    limits = replace(limits, buckets=begun.state.buckets or limits.buckets)
    plan = plan.with_join(replace(join, spread_by=SpreadBy(columns, replicated, why)))
    return choose_kept(plan, Knowledge(limits=limits))


def _buckets(plan: QueryPlan) -> int | None:
    """Return the number of buckets of the join of a plan; None if it has no join of windows."""
    return start_of(plan.join).limits.buckets if isinstance(plan.join, WindowJoin) else None


def checkpoint_of(
    spark: SparkSession, checkpoint: str | None, options: dict[str, str], path: str | None, name: str | None
) -> Checkpoint | None:
    """Return the checkpoint from the argument, the option, or Spark's configuration; None if Spark uses a temporary
    one. The option is removed from `options`."""
    refuse_wrong_names(options)
    given = next((options.pop(key) for key in list(options) if key.lower() == "checkpointlocation"), None)
    given = given_folder("the option checkpointLocation", given)
    option = next((options[key] for key in options if key.lower() == "path"), None)
    path = path or given_folder("the option path", option)
    if None not in (checkpoint, given) and checkpoint != given:
        raise PlanError(
            f"checkpoint={checkpoint!r} and the option checkpointLocation={given!r} differ; give only one of them"
        )
    root = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    place = checkpoint or given
    if place is None and root is not None and name is not None:
        place = f"{root.rstrip('/')}/{name}"  # where Spark puts it
    if place is None and path is not None and root is None:
        raise PlanError("start(path=...) needs checkpoint=..., a separate folder with which a restart loses no rows")
    if place is None:
        return None
    if path is not None:
        refuse_one_folder(spark, place, path)
    refuse_forbidden(spark, place)
    found = Checkpoint(spark, place)
    identity = found.identity()
    if identity is not None and (other := running_query(spark, identity)) is not None:  # paths are not compared
        raise PlanError(
            f"the query {other} is running with the checkpoint {place}, and Spark would stop it; stop it first, or "
            "give this query its own checkpoint"
        )
    found.refuse_earlier()
    refuse_damaged_logs(spark, place)
    return found


AUTO = "auto"
"""The trigger whose interval follows from the times of earlier micro-batches."""


def automatic_trigger(times: BatchTimes, busy: float) -> dict[str, str] | None:
    """Return the trigger with the shortest interval in which a query is not busier than it may be, or a longer one than
    so far if it seems that there is none but that is not known well; None, which is Spark's default, if nothing is
    known or if there is none."""
    interval = choose_interval(times, busy).seconds
    return None if interval is None else {"processingTime": f"{round(interval * 1000)} milliseconds"}


def _trigger(trigger: str | Mapping[str, Any] | None) -> dict[str, Any]:
    if trigger is None:
        return {}
    if isinstance(trigger, Mapping):
        return dict(trigger)
    if not isinstance(trigger, str):
        raise _wrong_trigger(trigger)
    return {"availableNow": True} if trigger.lower() == "availablenow" else {"processingTime": trigger}


def _wrong_trigger(trigger: object) -> PlanError:
    return PlanError(
        f"trigger={trigger!r}: use '10 seconds', 'availableNow', 'auto', or a dict as for writeStream.trigger"
    )
