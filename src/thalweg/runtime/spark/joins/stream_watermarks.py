"""Spark watermarks on the packed rows of streams, so that a window aggregate can follow the join.

Packed rows contain the latest time of their task. So Spark looks at a few rows instead of all, and TIMESTAMP_NTZ, for
which Spark has no watermarks, needs no special treatment. The join itself does not use Spark's watermark: it knows the
latest time of each stream to the microsecond, and which streams are idle. Spark's watermark is never ahead of it.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.errors import PlanError
from thalweg.runtime.watermark import BEGINNING

MARK = "__thalweg_mark"
_DELAY = "spark.watermarkDelayMs"
_WATERMARK = re.compile(r"^[\s:+|-]*~EventTimeWatermark\b", re.MULTILINE)
"""A watermark in the text of a plan, which has one line per operator. `~` marks operators of streams; a watermark on
finished data has no effect."""


def with_packed_watermark(packed: DataFrame, lateness: int) -> DataFrame:
    """Set a watermark on packed rows. `lateness` is in microseconds.

    Spark's watermark is in milliseconds, and Spark outputs no row that is as old as its watermark. For Thalweg such
    rows are in time, so Spark waits one millisecond longer.
    """
    wait_ms = -(-lateness // 1000) + 1
    mark = F.when(F.col("latest") > BEGINNING, F.timestamp_micros(F.col("latest")))
    return packed.withColumn(MARK, mark).withWatermark(MARK, f"{wait_ms} milliseconds").drop(MARK)


def with_watermark(df: DataFrame, time: str, lateness_us: int) -> DataFrame:
    """Set a watermark on a column with any name. It is renamed first: Spark parses names, differently by version."""
    names = list(df.columns)
    at = names.index(time)
    renamed = df.toDF(*names[:at], MARK, *names[at + 1 :])
    return renamed.withWatermark(MARK, f"{-(-lateness_us // 1000)} milliseconds").toDF(*names)


def has_watermark(alias: str, df: DataFrame, time: str) -> bool:
    """Whether the time column already has a watermark, from the user or from another join. If a query sets a second one
    after it, Spark fails only in the second micro-batch."""
    carried = [field.name for field in df.schema if _DELAY in (field.metadata or {})]
    if carried and time not in carried:
        raise PlanError(
            f"{alias} has a watermark on {carried[0]}, but its time= is {time}; Spark allows one watermark per stream: "
            f"set it on {time}, or remove it and use lateness="
        )
    if not carried and _WATERMARK.search(_plan_of(df)):
        raise PlanError(
            f"{alias} has a watermark on a column that was dropped, and Spark does not allow the join to set another; "
            f"set it on {time}, or remove it and use lateness="
        )
    return bool(carried)


def watermark_us(df: DataFrame, time: str) -> int | None:
    """Return the delay of the watermark on a column in microseconds; None if it has no watermark."""
    delay = (df.schema[time].metadata or {}).get(_DELAY)
    return None if delay is None else 1000 * int(delay)


def _plan_of(df: DataFrame) -> str:
    """Return the analyzed plan as text. A stream has an optimized plan only when it is started."""
    if hasattr(df, "_jdf"):
        return str(df._jdf.queryExecution().analyzed().toString())
    text: str = df._explain_string(extended=True)  # type: ignore[operator]  # of Spark Connect
    return text.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]


def quoted(column: str) -> str:
    """Return a name in backticks, so that Spark reads it literally.

    >>> quoted("a.b"), quoted("x`y")
    ('`a.b`', '`x``y`')
    """
    return "`" + column.replace("`", "``") + "`"
