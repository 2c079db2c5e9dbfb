"""Aggregates over time windows with Spark's own operators. Finished data need no watermark.

The windows and their groups are the same as in `kernels.window_groups`, but late rows differ. There, a row is late if
its time is below the watermark, and it is then in no window. Spark looks at windows: it adds a row to those of its
windows that end after the watermark and drops it from the others. For this it uses the watermark of the previous
micro-batch, but it outputs windows by the watermark of the current one. So a row that is late there may still be
counted here, and a row that is in time is dropped by neither. Also, Spark's watermark is a whole number of
milliseconds, rounded so that it is never ahead of ours, and starts in 1970. Spark reports what it drops in the
progress of the query, as `numRowsDroppedByWatermark`. It also drops rows without a time, and does not report them.

Spark has no watermarks on TIMESTAMP_NTZ and no windows of whole numbers. Both are converted to the TIMESTAMP with the
same number of microseconds since 1970, and converted back afterwards.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, TimestampNTZType, TimestampType

from thalweg.errors import PlanError, nearest
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec, key_name, result_name
from thalweg.plan.query.query import WINDOW_END, WINDOW_START
from thalweg.runtime.spark.joins.stream_watermarks import quoted
from thalweg.runtime.spark.sql.columns import spark_type
from thalweg.runtime.spark.sql.requirements import no_distinct

_TIME, _WINDOW = "__thalweg_time", "__thalweg_window"


def aggregate(df: DataFrame, spec: GroupSpec, lateness_us: int = 0, watermarked: bool = False) -> DataFrame:
    """Return the groups of the windows that the watermark has passed; for finished data, all groups. `watermarked`: the
    time already has a watermark, which is used."""
    kind = _time_type(df, spec)
    if df.isStreaming:
        _refuse_distinct(spec)
    time = F.col(quoted(spec.time))
    carried = time if watermarked or isinstance(kind, TimestampType) else _as_timestamp(time, kind)
    keys = [F.col(quoted(key)).alias(key_name(n)) for n, key in enumerate(spec.keys)]
    arguments = {a.column: F.col(quoted(a.column)) for a in spec.aggregates if a.column is not None}
    # input names are chosen by the user, and a key may also be an argument or the time
    inner = {column: f"arg {n}" for n, column in enumerate(arguments)}
    rows = df.select(carried.alias(_TIME), *keys, *(arguments[column].alias(name) for column, name in inner.items()))
    if df.isStreaming and not watermarked:
        rows = rows.withWatermark(_TIME, f"{-(-lateness_us // 1000)} milliseconds")
    window = F.window(
        F.col(_TIME), f"{spec.window.length_us} microseconds", f"{spec.window.slide_us} microseconds"
    ).alias(_WINDOW)
    names = [key_name(n) for n in range(len(spec.keys))]
    results = [_result(a, inner).alias(result_name(n)) for n, a in enumerate(spec.aggregates)]
    # at least one aggregate, so that a query without any still lists its groups
    groups = rows.groupBy(window, *map(quoted, names)).agg(*(results or [F.count(F.lit(1)).alias("count")]))
    back = (lambda bound: bound) if watermarked else (lambda bound: _from_timestamp(bound, kind))
    bounds = ((WINDOW_START, "start"), (WINDOW_END, "end"))
    return groups.select(
        *(back(F.col(f"{_WINDOW}.{bound}")).alias(name) for name, bound in bounds),
        *map(quoted, names), *(quoted(result_name(n)) for n in range(len(results))),
    )  # fmt: skip


def _result(aggregate: AggregateColumn, names: dict[str, str]) -> Column:
    if aggregate.column is None:
        return F.count(F.lit(1))
    column = F.col(quoted(names[aggregate.column]))
    if aggregate.distinct:
        return F.count_distinct(column)
    made = {"count": F.count, "sum": F.sum, "avg": F.avg, "min": F.min, "max": F.max}[aggregate.function](column)
    if aggregate.function in ("min", "max") and pa.types.is_floating(aggregate.type):
        zero = F.lit(0.0).cast(spark_type(aggregate.type))
        return made + zero  # of -0.0 and 0.0, Spark takes the first that it reads
    return made


def _time_type(df: DataFrame, spec: GroupSpec) -> DataType:
    for column in spec.columns:
        if column not in df.columns:
            has = ", ".join(df.columns)
            raise PlanError(f"there is no column {column!r}{nearest(column, df.columns)}; the columns are {has}")
    kind = df.schema[spec.time].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType | IntegralType):
        raise PlanError(f"the time {spec.time} is {kind.simpleString()}; cast it to a timestamp or a whole number")
    return kind


def _refuse_distinct(spec: GroupSpec) -> None:
    for each in spec.aggregates:
        if each.distinct:
            raise no_distinct(str(each))


def _as_timestamp(time: Column, kind: DataType) -> Column:
    """Return the timestamp with the same number of microseconds since 1970. Spark's `timestampdiff` interprets
    TIMESTAMP_NTZ in the time zone of the session, where some hours are missing and others occur twice; the parts of a
    time are read unchanged."""
    if isinstance(kind, IntegralType):
        return F.timestamp_micros(time)
    day, hour, minute = F.unix_date(time.cast("date")), F.hour(time), F.minute(time)
    seconds = (day.cast("long") * 24 + hour) * 3600 + minute * 60
    return F.timestamp_micros(seconds * 1_000_000 + (F.date_part(F.lit("SECOND"), time) * 1_000_000).cast("long"))


def _from_timestamp(time: Column, kind: DataType) -> Column:
    if isinstance(kind, TimestampType):
        return time
    micros = F.unix_micros(time)
    if isinstance(kind, IntegralType):
        return micros.cast(kind)
    return F.timestamp_add("MICROSECOND", micros, F.lit("1970-01-01 00:00:00").cast("timestamp_ntz"))
