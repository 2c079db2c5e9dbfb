"""Checks what a query needs from a Spark session, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from thalweg.errors import PlanError
from thalweg.plan.expressions.expression import Call, Expression, Ref, text_of, walk
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.sql.source_text import SourceText
from thalweg.runtime.spark.joins.arrow_schema import has_collation

_IN_A_ZONE = frozenset(
    {"year", "month", "day", "hour", "minute", "second", "date_trunc", "cast", "widen", "add", "subtract"}
)
"""The functions of a TIMESTAMP that depend on the time zone of the session."""


def demand(setting: Callable[[str, str], str | None], plan: QueryPlan, streaming: Collection[str]) -> None:
    """Raise a PlanError for what would have other results than without Spark, or none. `setting` returns a setting of
    Spark, or a default. `streaming` are the sources with streaming DataFrames."""
    text = SourceText(plan.query.text)
    if streaming:
        refuse_on_streams(plan)
        for source in plan.query.streams:
            if source.alias not in streaming:
                raise text.error(
                    source.offset,
                    f"{source.alias} is a finished DataFrame, but {next(iter(streaming))} is a streaming one; Spark "
                    "would use it as a table and ignore its window. Read it with spark.readStream, or register it with "
                    f"s.table({source.relation.name!r}, df) if its rows should join with rows of any time",
                )
    if (setting("spark.sql.ansi.enabled", "true") or "true").lower() != "true":
        raise PlanError(
            "spark.sql.ansi.enabled is false, so an overflow would give a wrong number instead of an error; "
            "spark.conf.set('spark.sql.ansi.enabled', True)"
        )
    zone = setting("spark.sql.session.timeZone", "UTC") or "UTC"
    if zone not in ("UTC", "Etc/UTC", "Z", "GMT", "+00:00"):
        for expression in _expressions(plan):
            for part in walk(expression):
                if isinstance(part, Call) and _reads_zone(part):
                    # Spark reads every argument of date_trunc in the time zone of the session
                    instead = "" if part.function == "date_trunc" else ", or use TIMESTAMP_NTZ"
                    raise PlanError(
                        f"{part.function} would be evaluated in the time zone {zone}, but without Spark in UTC; "
                        f"spark.conf.set('spark.sql.session.timeZone', 'UTC'){instead}"
                    )
    for scan in plan.scans:
        window = scan.source.window
        if window is not None and window.rows is not None and plan.join is not None:
            raise text.error(
                scan.source.offset,
                f"{scan.alias} {window}: Spark distributes the rows of a stream, so the last {window.rows:,} of all "
                f"are not known; use a time window, {scan.source.relation.name} [RANGE 1 MINUTE]",
            )


def refuse_collations(plan: QueryPlan, data: Mapping[str, DataFrame]) -> None:
    """Raise a PlanError if a function or an operator reads a text with a collation: those that the JVM evaluates would
    respect it, and others would not."""
    for part in chain.from_iterable(map(walk, _expressions(plan))):
        for ref in part.arguments if isinstance(part, Call) else ():
            if isinstance(ref, Ref) and has_collation(kind := data[ref.alias].schema[ref.column].dataType):
                raise PlanError(
                    f"{text_of(part)}: {text_of(ref)} is {kind.simpleString()}, and texts are compared by their bytes; "
                    "cast it to a string before registering the stream"
                )


def refuse_on_streams(plan: QueryPlan) -> None:
    """Raise a PlanError for what Spark supports only on finished data."""
    for aggregate in plan.query.grouping.aggregates if plan.query.grouping is not None else ():
        if aggregate.distinct:
            place = re.search(r"count\s*\(\s*DISTINCT\b", plan.query.text, re.IGNORECASE)
            raise SourceText(plan.query.text).error(place.start() if place else 0, str(no_distinct(text_of(aggregate))))


def no_distinct(aggregate: str) -> PlanError:
    """Return the error for a count of distinct values on a stream."""
    return PlanError(
        f"{aggregate}: Spark cannot count distinct values of a stream; group by the column in a separate query and "
        "count its rows, or run the query on finished data"
    )


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raise errors of Spark while a DataFrame is made as a PlanError, with Spark's error as its cause."""
    try:
        yield
    except PySparkException as error:
        raise PlanError(_refusal(str(error).splitlines()[0])) from error
    except Exception as error:
        if not hasattr(error, "java_exception"):  # an error of py4j, for which PySpark has no class; Connect has none
            raise
        raise PlanError(_refusal(error.java_exception.getMessage())) from error


def _refusal(message: str | None) -> str:
    return (
        f"Spark refuses this query: {message}; change what the message names: the sources, the query, the options of "
        "start() or Spark's configuration"
    )


def _expressions(plan: QueryPlan) -> Iterator[Expression]:
    """Yield all expressions that Spark evaluates."""
    yield from plan.after_join
    yield from (output.expression for output in plan.query.outputs)
    if plan.query.grouping is not None and plan.query.grouping.having is not None:
        yield plan.query.grouping.having
    yield from (condition.expression for condition in (plan.join.residuals if plan.join is not None else ()))
    for scan in plan.scans:
        yield from (condition.expression for condition in scan.conditions)
        yield from (expression for _, expression in scan.computed)


def _reads_zone(part: Call) -> bool:
    """Whether a call depends on the time zone. `date_trunc` always does, and converting a date to a time does too."""
    if part.function not in _IN_A_ZONE:
        return False
    return part.function == "date_trunc" or any(map(_zoned, (part, *part.arguments)))


def _zoned(expression: object) -> bool:
    kind = getattr(expression, "type", None)
    return kind is not None and pa.types.is_timestamp(kind) and kind.tz is not None
