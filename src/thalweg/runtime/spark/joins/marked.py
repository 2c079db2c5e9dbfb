"""A stream with the watermark that Spark keeps of it, so that a window aggregate can follow the join.

The join has a watermark of its own: it knows the latest time of each stream to the microsecond, and of streams that
are idle. Spark's is ahead of it only where a stream came with a watermark that its user set, which Spark does not let
us set again; then the join follows Spark's, since its results may not be older than that.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampNTZType

MARK = "__thalweg_mark"
WATERMARK = "spark.watermarkDelayMs"
"""Where Spark notes it, in the metadata of the column."""
_EPOCH, _EPOCH_NTZ = "TIMESTAMP'1970-01-01 00:00:00Z'", "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def marked(df: DataFrame, time: str, lateness: int, ahead: int | None) -> DataFrame:
    """`lateness` and `ahead` in microseconds; times further ahead of the clock than that do not move the watermark.
    What has a watermark keeps it: a join's result, or what its user marked."""
    if any(WATERMARK in field.metadata for field in df.schema):
        return df
    mark = instant(df, time)
    if ahead is not None:
        # null does not move it; nor may the bound, since the rows that come after are older than that
        mark = F.when(mark <= F.current_timestamp() + F.expr(f"INTERVAL {ahead} MICROSECONDS"), mark)
    wait_ms = -(-lateness // 1000) + 1  # to Spark, what is equal to the watermark is late, and fails the query
    return df.withColumn(MARK, mark).withWatermark(MARK, f"{wait_ms} milliseconds").drop(MARK)


def instant(df: DataFrame, time: str) -> Column:
    """The time as TIMESTAMP, which alone carries a watermark; TIMESTAMP_NTZ is taken as UTC. Not by a cast, which goes
    through the time zone of the session, where some times occur twice and some never."""
    if isinstance(df.schema[time].dataType, TimestampNTZType):
        return F.expr(f"{_EPOCH} + ({quoted(time)} - {_EPOCH_NTZ})")
    return F.col(quoted(time))


def quoted(column: str) -> str:
    """A name as Spark reads it literally.

    >>> quoted("a.b"), quoted("x`y")
    ('`a.b`', '`x``y`')
    """
    return "`" + column.replace("`", "``") + "`"
