"""A stream's packed rows with the watermark that Spark keeps of it, so that a window aggregate can follow the join.

Packed rows tell the latest time of their task, so Spark looks at a few rows instead of all, and TIMESTAMP_NTZ, which it
takes no watermark of, needs no way of its own. The join itself does not use Spark's: it knows the latest time of each
stream to the microsecond, and of streams that are idle, and Spark's is never ahead of it.
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
"""In the text of a plan, which has a line an operator and marks those of streams; one of finished data is none."""


def marked(packed: DataFrame, lateness: int) -> DataFrame:
    """`lateness` in microseconds. Spark lets nothing out that is as old as its watermark, which is in milliseconds, and
    for us such rows are in time: so it waits a millisecond more."""
    wait_ms = -(-lateness // 1000) + 1
    mark = F.when(F.col("latest") > BEGINNING, F.timestamp_micros(F.col("latest")))
    return packed.withColumn(MARK, mark).withWatermark(MARK, f"{wait_ms} milliseconds").drop(MARK)


def with_watermark(df: DataFrame, time: str, lateness_us: int) -> DataFrame:
    """Declared on a column of any name: Spark parses the name it is given, and not the same way in every version."""
    names = list(df.columns)
    at = names.index(time)
    renamed = df.toDF(*names[:at], MARK, *names[at + 1 :])
    return renamed.withWatermark(MARK, f"{-(-lateness_us // 1000)} milliseconds").toDF(*names)


def has_watermark(alias: str, df: DataFrame, time: str) -> bool:
    """Whether the time carries one already: of the user, or of another join. Spark fails a query that sets a second one
    behind it, and that only in its second micro-batch."""
    carried = [field.name for field in df.schema if _DELAY in (field.metadata or {})]
    if carried and time not in carried:
        raise PlanError(
            f"{alias} has a watermark on {carried[0]}, and its time= is {time}: Spark keeps one watermark of a stream; "
            f"set it on {time}, or leave it to the join, whose lateness= it is"
        )
    if not carried and _WATERMARK.search(_plan_of(df)):
        raise PlanError(
            f"{alias} was given a watermark on a column that it has no more, and Spark fails a query that sets another "
            f"behind it, as the join must: set it on {time}, or leave it to the join, whose lateness= it is"
        )
    return bool(carried)


def watermark_us(df: DataFrame, time: str) -> int | None:
    """How far the watermark that a column carries stays behind, in microseconds; None: it carries none."""
    delay = (df.schema[time].metadata or {}).get(_DELAY)
    return None if delay is None else 1000 * int(delay)


def _plan_of(df: DataFrame) -> str:
    """As Spark has understood it: streams can be optimized only where they are started."""
    if hasattr(df, "_jdf"):
        return str(df._jdf.queryExecution().analyzed().toString())
    told: str = df._explain_string(extended=True)  # type: ignore[operator]  # of Spark Connect
    return told.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]


def quoted(column: str) -> str:
    """A name as Spark reads it literally.

    >>> quoted("a.b"), quoted("x`y")
    ('`a.b`', '`x``y`')
    """
    return "`" + column.replace("`", "``") + "`"
