"""Aggregate functions: their argument types and result types, as in Spark.

>>> import pyarrow as pa
>>> from thalweg.plan.expressions.expression import Ref
>>> aggregate("sum", Ref("s", "x", pa.int32()), False, print).type
DataType(int64)
"""

from __future__ import annotations

import pyarrow as pa

from thalweg.plan.expressions.expression import AggregateCall, Expression, text_of
from thalweg.plan.expressions.functions import Refuse, conversion
from thalweg.plan.expressions.type_rules import can_be_grouped, has_order, is_number, sql_name

AGGREGATES = ("count", "sum", "avg", "min", "max")
is_ = pa.types


def aggregate(function: str, argument: Expression | None, distinct: bool, refuse: Refuse) -> AggregateCall:
    """Return an aggregate with its result type."""
    if distinct and function != "count":
        refuse(f"DISTINCT is supported only in count, not in {function}; remove it")
    if distinct and argument is not None and not can_be_grouped(argument.type):
        refuse(
            f"count(DISTINCT) compares values, but {text_of(argument)} is {sql_name(argument.type)}, which cannot be "
            "compared; select a part of it before registering the stream, or with s.function(...)"
        )
    if function == "count" or argument is None:
        return AggregateCall(function, argument, pa.int64(), distinct)
    kind, text = argument.type, text_of(argument)
    if function in ("sum", "avg") and not is_number(kind):
        refuse(f"{function} takes a number, but {text} is {sql_name(kind)}; {conversion(argument, 'number')}")
    if function == "avg":
        if is_.is_decimal(kind):
            refuse(f"avg does not support DECIMAL; write avg(CAST({text} AS DOUBLE))")
        return AggregateCall(function, argument, pa.float64())
    if function == "sum":
        if is_.is_decimal(kind):
            return AggregateCall(function, argument, pa.decimal128(min(kind.precision + 10, 38), kind.scale))
        return AggregateCall(function, argument, pa.float64() if is_.is_floating(kind) else pa.int64())
    if not has_order(kind) or is_.is_binary(kind) or is_.is_null(kind):
        way = f"write CAST({text} AS INT)" if is_.is_null(kind) else "convert it before registering the stream"
        refuse(f"{function} takes numbers, text and times, but {text} is {sql_name(kind)}; {way}")
    return AggregateCall(function, argument, kind)
