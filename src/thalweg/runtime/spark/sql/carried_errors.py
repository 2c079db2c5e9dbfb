"""Spark columns with the errors that conditions raised on rows before the join; see `runtime/filters/outcome.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from thalweg.errors import FailedRowError
from thalweg.kernels.user_error import MOST_MESSAGE_CHARACTERS
from thalweg.runtime.filters.failed_row import REMEDY_IN_SQL
from thalweg.runtime.filters.outcome import NOT_DROPPED
from thalweg.runtime.spark.joins.stream_watermarks import quoted
from thalweg.runtime.spark.verdict_column import ERRORS_TYPE


def as_text(df: DataFrame, column: str) -> DataFrame:
    """Return a DataFrame whose column of errors is converted to text."""
    return df.withColumn(column, F.to_json(F.col(quoted(column))))


def passing(df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows without errors in any of these columns, and drop the columns."""
    return df.filter(~_failed(columns)).drop(*columns)


def refuse_failed(df: DataFrame, columns: Sequence[str], redact: bool) -> DataFrame:
    """Return all rows without the columns of errors. A row that has errors fails the query."""
    raised = F.transform(
        _errors(columns),
        lambda each: F.concat(F.lit("condition '"), each["predicate"], F.lit("' raised "), each["error"]),
    )
    others = [F.col(quoted(name)) for name in df.columns if name not in columns]
    values = F.lit("redacted") if redact else F.substring(F.to_json(F.struct(*others)), 1, MOST_MESSAGE_CHARACTERS)
    # a separate line, which starts like an error of a Python worker, because `failures` looks for it; in two parts,
    # because the errors of streams quote the plan, which must not match
    package, _, name = f"{FailedRowError.__module__}.{FailedRowError.__name__}".partition(".")
    message = F.concat(
        F.lit(f"\n{package}."), F.lit(f"{name}: "), F.array_join(raised, "; "),
        F.lit(f". {NOT_DROPPED}; values: "),
        values, F.lit(f". {REMEDY_IN_SQL}"),
    )  # fmt: skip
    fails = F.when(_failed(columns), F.raise_error(message).cast("boolean")).otherwise(F.lit(True))
    return df.filter(fails).drop(*columns)


def failing(df: DataFrame, columns: Sequence[str], errors: str) -> DataFrame:
    """Return the rows with errors in any of these columns, with all errors in the column `errors`."""
    if not columns:
        return df.withColumn(errors, F.lit(None).cast(ERRORS_TYPE)).filter(F.lit(False))
    return df.filter(_failed(columns)).withColumn(errors, _errors(columns)).drop(*columns)


def _failed(columns: Sequence[str]) -> Column:
    return reduce(lambda one, other: one | other, (F.col(quoted(column)).isNotNull() for column in columns))


def _errors(columns: Sequence[str]) -> Column:
    """Return all errors of a row in one array."""
    none = F.array().cast(ERRORS_TYPE)
    return F.concat(*(F.coalesce(F.from_json(F.col(quoted(column)), ERRORS_TYPE), none) for column in columns))
