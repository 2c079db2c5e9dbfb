"""Literals of a query as Columns of Spark's, each with its type.

No value is ever written into text that Spark parses: its parser replaces `${...}` by environment variables, system
properties and configuration, and reads escapes as `spark.sql.parser.escapedStringLiterals` says.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from thalweg.plan.expression import Value

is_ = pa.types
_TYPES: dict[pa.DataType, DataType] = {
    pa.bool_(): BooleanType(), pa.int8(): ByteType(), pa.int16(): ShortType(), pa.int32(): IntegerType(),
    pa.int64(): LongType(), pa.float32(): FloatType(), pa.float64(): DoubleType(), pa.string(): StringType(),
    pa.binary(): BinaryType(), pa.date32(): DateType(), pa.null(): NullType(),
}  # fmt: skip


def spark_type(kind: pa.DataType) -> DataType:
    """The type as an object: the word TIMESTAMP means what `spark.sql.timestampType` says."""
    if is_.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return TimestampNTZType() if kind.tz is None else TimestampType()
    if is_.is_duration(kind):
        return DayTimeIntervalType()
    return _TYPES[kind]


def literal(value: Value) -> Column:
    """A Column of this value, of exactly its type."""
    given, kind = value.value, value.type
    if given is None:
        return F.lit(None) if is_.is_null(kind) else F.lit(None).cast(spark_type(kind))
    if isinstance(given, bool | str | bytes | timedelta):
        return F.lit(given)
    return F.lit(_carried(given)).cast(spark_type(kind))


def _carried(given: object) -> int | float | str:
    """What PySpark hands to the JVM as it is; the rest is text that Spark casts, when it plans, to the one value it
    can mean. PySpark would read times in the zone of this process, and old dates in another calendar."""
    if isinstance(given, datetime):
        return given.replace(tzinfo=None).isoformat(sep=" ") + ("" if given.tzinfo is None else "+00:00")
    if isinstance(given, Decimal):
        return f"{given:f}"
    if isinstance(given, float):
        return given if math.isfinite(given) else str(given)
    return given if isinstance(given, int) else str(given)
