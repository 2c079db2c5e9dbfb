"""CAST between types as in Spark's ANSI mode: a value that does not fit raises an error that contains it.

`widen` is the same cast if no value can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions.decimals import read_decimals
from thalweg.kernels.expressions.rounding import to_long
from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, full, numpy_of
from thalweg.kernels.expressions.text_casts import DROP_SUCH_ROWS, boolean_of, decimal_of, real_of, whole_of
from thalweg.kernels.expressions.times import date_texts, days_of
from thalweg.plan.expressions.expression import Call
from thalweg.plan.expressions.type_rules import sql_name

is_ = pa.types
Cast = Callable[[pa.Array, Call], pa.Array]
_ROOMY = 76
"""The number of digits of a decimal256."""


def _does_not_fit(value: object, call: Call) -> ExpressionError:
    from thalweg.plan.expressions.expression import text_of

    shown = f"CAST({text_of(call.arguments[0])} AS {sql_name(call.type)})"
    does_not = f"does not fit in {sql_name(call.type)} in {shown}; {DROP_SUCH_ROWS}"
    return ExpressionError(f"{value!s} {does_not}").or_redacted(f"a value {does_not}")


def _first_that_fails(array: pa.Array, cast: Callable[[pa.Array], pa.Array], call: Call) -> ExpressionError:
    """Return the error for the first value that fails, by bisection. Called only if one fails."""
    while len(array) > 1:
        half = array.slice(0, len(array) // 2)
        try:
            cast(half)
            array = array.slice(len(array) // 2)
        except pa.ArrowInvalid:
            array = half
    try:
        value = array[0].as_py()
    except (OverflowError, ValueError):  # a date or time that Python cannot represent
        value = f"a {array.type}"
    return _does_not_fit(value, call)


def _with_error(cast: Callable[[pa.Array, pa.DataType], pa.Array]) -> Cast:
    def tried(array: pa.Array, call: Call) -> pa.Array:
        try:
            return cast(array, call.type)
        except pa.ArrowInvalid:
            raise _first_that_fails(array, lambda part: cast(part, call.type), call) from None

    return tried


def _real_to_whole(array: pa.Array, call: Call) -> pa.Array:
    """Truncate to an integer. As in Spark, 2**63 itself becomes the greatest BIGINT."""
    numbers = numpy_of(array, len(array)).astype(np.float64)
    half = 2.0 ** (call.type.bit_width - 1)
    cut = np.trunc(numbers)
    most = half if call.type == pa.int64() else half - 1
    outside = ~((cut >= -half) & (cut <= most))
    if outside.any():
        raise _does_not_fit(numbers[outside][0], call)
    return arrow_of(to_long(cut).astype(call.type.to_pandas_dtype()), call.type, [array])


def _whole_to_decimal(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array.cast(pa.decimal256(20 + kind.scale, kind.scale)).cast(kind)


def _decimal_to_decimal(array: pa.Array, kind: pa.DataType) -> pa.Array:
    have = array.type
    if kind.scale < have.scale:
        roomy = array.cast(pa.decimal256(_ROOMY, have.scale))
        array = pc.round(roomy, ndigits=kind.scale, round_mode="half_towards_infinity")
        return array.cast(pa.decimal256(_ROOMY, kind.scale)).cast(kind)
    return array.cast(pa.decimal256(_ROOMY, kind.scale)).cast(kind)


def _decimal_to_whole(array: pa.Array, kind: pa.DataType) -> pa.Array:
    # widened first: Arrow would report that 0.25 with two digits does not fit
    return pc.trunc(array.cast(pa.decimal256(_ROOMY, array.type.scale))).cast(kind)


def _decimal_to_real(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast through the digits, which gives the nearest double; a quotient of two doubles may not be it."""
    return array.cast(pa.string()).cast(kind)


def _real_to_decimal(array: pa.Array, call: Call) -> pa.Array:
    """Cast through the shortest decimal text; Arrow would use the exact binary value. NaN and infinity become null."""
    reals = array.cast(pa.float64())
    reals = pc.if_else(pc.is_finite(reals), reals, pa.scalar(None, pa.float64()))
    made, bad = read_decimals(reals.cast(pa.string()), call.type)
    if bad >= 0:
        raise _does_not_fit(array[bad].as_py(), call)
    return made


def _unchecked(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast to the nearest value, without a check."""
    return array.cast(kind, safe=False)


def _checked(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array.cast(kind)


def _to_date(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return arrow_of(days_of(array), pa.int32(), [array]).view(kind)


def _date_to_text(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return date_texts(array)


def _cast_of(have: pa.DataType, kind: pa.DataType) -> Cast:
    if is_.is_string(have) and not is_.is_string(kind):
        if is_.is_integer(kind):
            return whole_of
        if is_.is_floating(kind):
            return real_of
        return boolean_of if is_.is_boolean(kind) else decimal_of
    if is_.is_floating(have) and is_.is_integer(kind):
        return _real_to_whole
    if is_.is_floating(have) and is_.is_decimal(kind):
        return _real_to_decimal
    families = {
        (is_.is_integer, is_.is_floating): _unchecked,
        (is_.is_floating, is_.is_floating): _unchecked,
        (is_.is_integer, is_.is_decimal): _whole_to_decimal,
        (is_.is_decimal, is_.is_decimal): _decimal_to_decimal,
        (is_.is_decimal, is_.is_integer): _decimal_to_whole,
        (is_.is_decimal, is_.is_floating): _decimal_to_real,
        (is_.is_timestamp, is_.is_date): _to_date,
        (is_.is_date, is_.is_string): _date_to_text,
    }
    for (one, other), cast in families.items():
        if one(have) and other(kind):
            return _with_error(cast)
    return _with_error(_checked)


def _cast(call: Call) -> Kernel:
    have, kind = call.arguments[0].type, call.type
    if is_.is_null(have):
        return lambda values, rows: pa.nulls(rows, kind)
    cast = _cast_of(have, kind)

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        return cast(full(values[0], rows), call)

    return kernel


CASTS: dict[str, Maker] = {"cast": _cast, "widen": _cast}
