"""Expressions of a query as Columns: built-in functions as Spark's functions, user functions as Arrow UDFs.

No value or name is ever written into text that Spark parses: its parser replaces `${...}` by environment variables,
system properties and configuration, and reads escapes as `spark.sql.parser.escapedStringLiterals` says. If a part can
raise, AND, OR and IN are written so that Spark evaluates no part after the one that decides (`runtime.spark.guarded`).
CASE and COALESCE already guarantee this.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
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

from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expressions.expression import Bound, Call, Expression, Ref, Value, refs, user_functions
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.relation import UserFunction
from thalweg.runtime.redaction import called
from thalweg.runtime.spark.guarded import all_of, any_of, kept_whole
from thalweg.runtime.spark.joins.stream_watermarks import quoted
from thalweg.runtime.spark.pickled_plan import refuse_unpicklable
from thalweg.runtime.spark.worker_socket import acknowledged

NameOf = Callable[[Ref], str]

is_ = pa.types
_TYPES: dict[pa.DataType, DataType] = {
    pa.bool_(): BooleanType(), pa.int8(): ByteType(), pa.int16(): ShortType(), pa.int32(): IntegerType(),
    pa.int64(): LongType(), pa.float32(): FloatType(), pa.float64(): DoubleType(), pa.string(): StringType(),
    pa.binary(): BinaryType(), pa.date32(): DateType(), pa.null(): NullType(),
}  # fmt: skip
_OPERATORS: dict[str, Callable[..., Column]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "mod": operator.mod, "and": operator.and_, "or": operator.or_, "not": operator.invert, "negate": operator.neg,
    "same": Column.eqNullSafe, "is_null": Column.isNull, "in": Column.isin,
}  # fmt: skip
_JUNCTIONS = {"and": all_of, "or": any_of}
_CASES = ("upper", "lower")
_NAMES = {"int_divide": "div"}
"""Functions that have another name in Spark."""


def column(
    expression: Expression, name_of: NameOf, functions: Mapping[str, UserFunction], *, redact: bool = False
) -> Column:
    """Return an expression as a Column of a DataFrame whose columns `name_of` names. `redact`: errors of user functions
    contain no values of rows."""
    if user_functions(expression):
        return _in_python(expression, name_of, functions, redact)
    return built_in(expression, name_of)


def built_in(expression: Expression, name_of: NameOf) -> Column:
    """Return an expression without user functions and aggregates as a Column."""
    if isinstance(expression, Ref):
        return F.col(quoted(name_of(expression)))
    if isinstance(expression, Bound):
        return F.col(quoted(expression.name))
    if isinstance(expression, Value):
        return literal(expression)
    assert isinstance(expression, Call), expression
    name = expression.function
    if name in _JUNCTIONS and can_raise(expression):
        parts = _parts(name, expression)
        return _JUNCTIONS[name]([built_in(part, name_of) for part in parts])
    arguments = [built_in(argument, name_of) for argument in expression.arguments]
    if name in _CASES and isinstance(inner := expression.arguments[0], Call) and inner.function in _CASES:
        # Spark would leave the inner one out, but lower(upper('ß')) is 'ss'
        arguments = [F.concat(arguments[0], F.lit(""))]
    if name == "in" and any(map(can_raise, expression.arguments[1:])):
        return _one_by_one(arguments)
    if name in ("cast", "widen"):
        return arguments[0].cast(spark_type(expression.type))
    if name == "case":
        return _case(arguments)
    if name in _OPERATORS:
        return _OPERATORS[name](*arguments)
    made = F.call_function(_NAMES.get(name, name), *arguments)
    if name == "date_trunc" and expression.type.tz is None:  # Spark would use the time zone of the session
        return made.cast(TimestampNTZType())
    return made


def _parts(name: str, expression: Expression) -> Iterator[Expression]:
    """Yield the operands of a chain of ANDs, or of ORs, from left to right."""
    if isinstance(expression, Call) and expression.function == name:
        for argument in expression.arguments:
            yield from _parts(name, argument)
    else:
        yield expression


def _one_by_one(arguments: list[Column]) -> Column:
    """Return IN whose options are evaluated until one is equal; none is evaluated if the value is NULL."""
    value, *options = arguments
    return F.when(value.isNotNull(), kept_whole(any_of([value == option for option in options])))


def _case(arguments: list[Column]) -> Column:
    """Return CASE of the arguments condition, value, condition, value, ..., otherwise."""
    made: Any = F
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        made = made.when(condition, value)
    chosen: Column = made.otherwise(arguments[-1])
    return chosen


def _in_python(expression: Expression, name_of: NameOf, functions: Mapping[str, UserFunction], redact: bool) -> Column:
    read = refs(expression)
    evaluation = Evaluation(expression, functions)
    place: dict[Ref | Bound, int] = {ref: n for n, ref in enumerate(read)}

    def evaluate(*arrays: pa.Array) -> pa.Array:
        return called(lambda: evaluation(lambda ref: arrays[place[ref]], len(arrays[0])), redact)

    # annotations are strings here, but PySpark needs the types
    evaluate.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    evaluate.__name__ = "_".join(user_functions(expression))
    functions_of_spark: Any = F
    udf = functions_of_spark.arrow_udf(acknowledged(evaluate), spark_type(expression.type))
    # with literals only, it still needs the number of rows
    given = [F.col(quoted(name_of(ref))) for ref in read] or [F.lit(0)]
    try:
        made: Column = udf(*given)
    except Exception:
        for function in evaluation.functions.values():
            refuse_unpicklable(f"function {function.name!r}", function.func, "create it in the function")
        raise
    return made


def spark_type(kind: pa.DataType) -> DataType:
    """Return the type as an object, because the name TIMESTAMP depends on `spark.sql.timestampType`."""
    if is_.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return TimestampNTZType() if kind.tz is None else TimestampType()
    if is_.is_duration(kind):
        return DayTimeIntervalType()
    return _TYPES.get(kind) or from_arrow_type(kind, prefer_timestamp_ntz=True)


def literal(value: Value) -> Column:
    """Return a Column of this value with exactly its type."""
    given, kind = value.value, value.type
    if given is None:
        return F.lit(None) if is_.is_null(kind) else F.lit(None).cast(spark_type(kind))
    if isinstance(given, bool | str | bytes | timedelta):
        return F.lit(given)
    return F.lit(_carried(given)).cast(spark_type(kind))


def _carried(given: object) -> int | float | str:
    """Return the value in a form that PySpark passes to the JVM unchanged. Other values become text, which Spark casts
    without ambiguity during planning. PySpark would read times in the time zone of this process, and old dates in
    another calendar."""
    if isinstance(given, datetime):
        return given.replace(tzinfo=None).isoformat(sep=" ") + ("" if given.tzinfo is None else "+00:00")
    if isinstance(given, Decimal):
        return f"{given:f}"
    if isinstance(given, float):
        return given if math.isfinite(given) else str(given)
    return given if isinstance(given, int) else str(given)
