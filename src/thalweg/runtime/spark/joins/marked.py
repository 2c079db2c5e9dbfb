"""A stream's packed rows with the watermark that Spark keeps of it, so that a window aggregate can follow the join.

Packed rows tell the latest time of their task, so Spark looks at a few rows instead of all, and TIMESTAMP_NTZ, which it
takes no watermark of, needs no way of its own. The join itself does not use Spark's: it knows the latest time of each
stream to the microsecond, and of streams that are idle, and Spark's is never ahead of it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

MARK = "__thalweg_mark"
_DELAY = "spark.watermarkDelayMs"


def marked(packed: DataFrame, lateness: int, ahead: int | None) -> DataFrame:
    """`lateness` and `ahead` in microseconds; times further ahead of the clock than that do not move the watermark."""
    mark = F.timestamp_micros(F.col("latest"))
    if ahead is not None:
        latest = F.current_timestamp() + F.expr(f"INTERVAL {ahead} MICROSECONDS")
        mark = F.when(mark > latest, latest).otherwise(mark)  # not `least`, which takes the other for a null
    wait_ms = -(-lateness // 1000)
    return packed.withColumn(MARK, mark).withWatermark(MARK, f"{wait_ms} milliseconds").drop(MARK)


def has_watermark(df: DataFrame, time: str) -> bool:
    """Whether the column carries one already: of the user, or of a stateful operator, behind which Spark allows no
    other."""
    return _DELAY in (df.schema[time].metadata or {})


def quoted(column: str) -> str:
    """A name as Spark reads it literally.

    >>> quoted("a.b"), quoted("x`y")
    ('`a.b`', '`x``y`')
    """
    return "`" + column.replace("`", "``") + "`"
