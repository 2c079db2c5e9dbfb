"""What a query needs of a Spark session, told before anything runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from thalweg.errors import PlanError
from thalweg.plan.expression import Call, Expression, text_of, walk
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.sql.source_text import SourceText

_IN_A_ZONE = frozenset(
    {"year", "month", "day", "hour", "minute", "second", "date_trunc", "cast", "widen", "add", "subtract"}
)
"""What depends on the session's time zone, of a TIMESTAMP."""


def demand(spark: SparkSession, plan: QueryPlan, streaming: Collection[str]) -> None:
    """Refuse what would give other rows than elsewhere, or none. `streaming`: the sources whose DataFrames are."""
    text = SourceText(plan.query.text)
    if streaming:
        refuse_on_streams(plan)
        for source in plan.query.streams:
            if source.alias not in streaming:
                raise text.error(
                    source.offset,
                    f"{source.alias} is a finished DataFrame and {next(iter(streaming))} a streaming one: Spark would "
                    "take all its rows for a table's, whatever its window; read it by spark.readStream, or register "
                    f"it by s.table({source.relation.name!r}, df) if its rows are to join with rows of any time",
                )
    if (spark.conf.get("spark.sql.ansi.enabled", "true") or "true").lower() != "true":
        raise PlanError(
            "spark.sql.ansi.enabled is false: an overflow would be a wrong number, and elsewhere it is an error; "
            "spark.conf.set('spark.sql.ansi.enabled', True)"
        )
    zone = spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    if zone not in ("UTC", "Etc/UTC", "Z", "GMT", "+00:00"):
        for expression in _expressions(plan):
            for part in walk(expression):
                if isinstance(part, Call) and _reads_zone(part):
                    # Spark reads every argument of date_trunc in the session's zone
                    instead = "" if part.function == "date_trunc" else ", or use TIMESTAMP_NTZ"
                    raise PlanError(
                        f"{part.function} would be evaluated in the time zone {zone}, and elsewhere in UTC; "
                        f"spark.conf.set('spark.sql.session.timeZone', 'UTC'){instead}"
                    )
    for scan in plan.scans:
        window = scan.source.window
        if window is not None and window.rows is not None and plan.join is not None:
            raise text.error(
                scan.source.offset,
                f"{scan.alias} {window}: on Spark the rows of a stream are in several places, and nobody knows the "
                f"last {window.rows:,} of all; write a window of time, {scan.source.relation.name} [RANGE 1 MINUTE]",
            )


def refuse_on_streams(plan: QueryPlan) -> None:
    """What Spark does on finished data alone."""
    for aggregate in plan.query.grouping.aggregates if plan.query.grouping is not None else ():
        if aggregate.distinct:
            place = re.search(r"count\s*\(\s*DISTINCT\b", plan.query.text, re.IGNORECASE)
            raise SourceText(plan.query.text).error(place.start() if place else 0, str(no_distinct(text_of(aggregate))))


def no_distinct(aggregate: str) -> PlanError:
    """Of a stream."""
    return PlanError(
        f"{aggregate}: Spark counts no distinct values of a stream; group by the column in a query of its own and "
        "count the rows of that, or run it on finished data"
    )


@contextmanager
def spark_errors() -> Iterator[None]:
    """What Spark refuses when a DataFrame is made, as our error; its own is the cause."""
    try:
        yield
    except PySparkException as error:
        raise PlanError(f"Spark refuses this query: {str(error).splitlines()[0]}") from error
    except Exception as error:
        if not hasattr(error, "java_exception"):  # what PySpark has no class for: py4j's, which Connect is without
            raise
        raise PlanError(f"Spark refuses this query: {error.java_exception.getMessage()}") from error


def _expressions(plan: QueryPlan) -> Iterator[Expression]:
    """All that Spark evaluates."""
    yield from plan.after_join
    yield from (output.expression for output in plan.query.outputs)
    if plan.query.grouping is not None and plan.query.grouping.having is not None:
        yield plan.query.grouping.having
    yield from (condition.expression for condition in (plan.join.residuals if plan.join is not None else ()))
    for scan in plan.scans:
        yield from (condition.expression for condition in scan.conditions)
        yield from (expression for _, expression in scan.computed)


def _reads_zone(part: Call) -> bool:
    """`date_trunc` does so whatever it is given, and a date becomes a time by its zone."""
    if part.function not in _IN_A_ZONE:
        return False
    return part.function == "date_trunc" or any(map(_zoned, (part, *part.arguments)))


def _zoned(expression: object) -> bool:
    kind = getattr(expression, "type", None)
    return kind is not None and pa.types.is_timestamp(kind) and kind.tz is not None
