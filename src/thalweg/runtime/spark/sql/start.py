"""A query's results as a running query of Spark's, its plan pinned in the checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from thalweg.errors import PlanError
from thalweg.plan.query_plan import QueryPlan
from thalweg.runtime.spark.joins.attach import parallelism
from thalweg.runtime.spark.sql.pinned import pin, pinned, unpin
from thalweg.runtime.spark.sql.places import query_at, refuse_one_folder
from thalweg.runtime.spark.sql.requirements import spark_errors


def start_stream(
    spark: SparkSession,
    plan: QueryPlan,
    made: Callable[[QueryPlan, int | None], DataFrame],
    kind: str,
    path: str | None,
    options: dict[str, str],
    trigger: str | Mapping[str, Any] | None,
    place: str | None,
    name: str | None,
    mine: dict[str, Any],
) -> StreamingQuery:
    """`made` gives the DataFrame of a plan, joined in so many buckets: the plan takes the order, and the number of
    buckets, that the checkpoint was begun with."""
    triggered = _trigger(trigger)
    begun, buckets = None, None
    if place is not None:
        mine = {**mine, "plan": plan.fingerprint}
        if plan.join is not None:
            partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
            mine |= {"order": list(plan.join.order), "buckets": min(parallelism(spark), partitions)}
        begun = pinned(spark, place, mine)
        if plan.join is not None:
            kept = begun or mine
            plan = plan.with_join(replace(plan.join, order=tuple(kept["order"])))
            buckets = int(kept["buckets"])
        options["checkpointLocation"] = place
    writer = made(plan, buckets).writeStream.format(kind).options(**options).outputMode("append")
    if name is not None:
        writer = writer.queryName(name)
    if triggered:
        try:
            writer = writer.trigger(**triggered)
        except Exception as error:  # PySpark's, Java's or Python's own
            raise _wrong_trigger(trigger) from error
    if place is not None and begun is None:
        pin(spark, place, mine)
    try:
        with spark_errors():
            query: StreamingQuery = writer.start(path) if path is not None else writer.start()
    except PlanError:
        if place is not None and begun is None:
            unpin(spark, place)
        raise
    return query


def checkpoint_of(
    spark: SparkSession, checkpoint: str | None, options: dict[str, str], path: str | None, name: str | None
) -> str | None:
    """The folder, from the argument, the option, or Spark's configuration; None: Spark takes one for the time being."""
    given = next((options.pop(key) for key in list(options) if key.lower() == "checkpointlocation"), None)
    given = None if given is None else os.fspath(given)
    path = path or next((os.fspath(options[key]) for key in options if key.lower() == "path"), None)
    if None not in (checkpoint, given) and checkpoint != given:
        raise PlanError(
            f"checkpoint={checkpoint!r} and the option checkpointLocation={given!r} differ; give one of them"
        )
    root = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    place = checkpoint or given
    if place is None and root is not None and name is not None:
        place = f"{root.rstrip('/')}/{name}"  # where Spark puts it
    if place is None and path is not None and root is None:
        raise PlanError("start(path=...) needs checkpoint=..., a folder of its own: with it a restart loses no row")
    if place is not None and path is not None:
        refuse_one_folder(spark, place, path)
    if place is not None and (other := query_at(spark, place)) is not None:
        raise PlanError(
            f"the query {other} is running with the checkpoint {place}, and Spark would stop it: stop it first, or "
            "give this one a checkpoint of its own"
        )
    return place


def _trigger(trigger: str | Mapping[str, Any] | None) -> dict[str, Any]:
    if trigger is None:
        return {}
    if isinstance(trigger, Mapping):
        return dict(trigger)
    if not isinstance(trigger, str):
        raise _wrong_trigger(trigger)
    return {"availableNow": True} if trigger.lower() == "availablenow" else {"processingTime": trigger}


def _wrong_trigger(trigger: object) -> PlanError:
    return PlanError(f"trigger={trigger!r}: write '10 seconds', 'availableNow', or a dict as writeStream.trigger takes")
