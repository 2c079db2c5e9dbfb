"""Sums, products and quotients that raise instead of returning a wrong number, as in Spark's ANSI mode; and roots,
powers and logarithms of doubles, with Java's results if C's differ.

>>> from thalweg.plan.expressions.expression import Ref, call
>>> x = Ref("s", "x", pa.int8())
>>> ARITHMETIC["add"](call("add", (x, x), pa.int8()))([pa.array([100], pa.int8())] * 2, 1)
Traceback (most recent call last):
thalweg.errors.ExpressionError: s.x + s.x overflows TINYINT; CAST to a wider type first
>>> ARITHMETIC["ln"](None)([pa.array([1.0, 0.0, None])], 3).to_pylist()
[0.0, None, None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions.rows import Datum, Kernel, Maker, arrow_of, nowhere_null, numpy_of, true_of
from thalweg.plan.expressions.expression import Call, text_of
from thalweg.plan.expressions.type_rules import sql_name

Numbers = NDArray[np.float64]
is_ = pa.types
_NOT_BY_TYPE = ("floor", "ceil", "int_divide")
"""Functions whose result is BIGINT, whatever their argument is."""


def overflow(call: Call) -> ExpressionError:
    """Return the error for a result that does not fit in the type of the call."""
    remedy = "CAST to a wider type first" if is_.is_integer(call.type) else "CAST to DOUBLE first"
    if call.function in _NOT_BY_TYPE or not (is_.is_integer(call.type) or is_.is_decimal(call.type)):
        remedy = "filter out such rows with a condition written before it"
    elif call.type == pa.int64():
        remedy = "CAST to DOUBLE first"
    return ExpressionError(f"{text_of(call)} overflows {sql_name(call.type)}; {remedy}")


def _checked(of_floats: Callable[..., Any], of_others: Callable[..., Any]) -> Maker:
    def make(call: Call) -> Kernel:
        if is_.is_floating(call.type):
            return lambda values, rows: of_floats(*values)

        def kernel(values: Sequence[Any], rows: int) -> pa.Array:
            try:
                return of_others(*_of_one_unit(values))
            except pa.ArrowInvalid:
                raise overflow(call) from None

        return kernel

    return make


def _of_one_unit(values: Sequence[Any]) -> Sequence[Any]:
    """Cast durations to the unit of the time. The units may differ; plans give the time the finer one."""
    first = values[0]
    if not is_.is_timestamp(first.type):
        return values
    return [first, *(v.cast(pa.duration(first.type.unit)) if is_.is_duration(v.type) else v for v in values[1:])]


def _refuse_zero(call: Call, values: Sequence[Datum], rows: int) -> None:
    by = values[1]
    if isinstance(by, pa.Scalar):
        if not by.is_valid or by.as_py() != 0:
            return
        found = np.ones(rows, dtype=bool)
    else:
        zeros = pc.equal(by, pa.scalar(0, by.type))
        if not pc.any(zeros).as_py():
            return
        found = true_of(zeros)
    valid = nowhere_null(values[:1], rows)
    places = (found if valid is None else found & valid).nonzero()[0]
    if len(places):
        instead = f"write nullif({text_of(call.arguments[1])}, 0) to get null instead"
        sentence = f"division by zero in {text_of(call)}; {instead}"
        raise ExpressionError(sentence).on_rows(places.tolist(), lambda n: ExpressionError(sentence))


def _divide(call: Call) -> Kernel:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        _refuse_zero(call, values, rows)
        return pc.divide(*values)

    return kernel


def _int_divide(call: Call) -> Kernel:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        _refuse_zero(call, values, rows)
        try:
            return pc.divide_checked(*(value.cast(pa.int64()) for value in values))
        except pa.ArrowInvalid:
            raise overflow(call) from None

    return kernel


def _mod(call: Call) -> Kernel:
    """The remainder, with the sign of the dividend."""

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        _refuse_zero(call, values, rows)
        with np.errstate(invalid="ignore", divide="ignore"):
            # nulls are filled with 1, so that nothing is divided by zero
            rest = np.fmod(numpy_of(values[0], rows), numpy_of(values[1], rows, 1))
        return arrow_of(rest, call.type, values)

    return kernel


def _of_doubles(function: Callable[..., Numbers]) -> Maker:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        with np.errstate(all="ignore"):
            return arrow_of(function(*(numpy_of(value, rows) for value in values)), pa.float64(), values)

    return lambda call: kernel


def _power(base: Numbers, exponent: Numbers) -> Numbers:
    """Return the power as Java does: NaN for pow(1, NaN) and pow(±1, ±inf), which are 1 in C."""
    made = np.power(base, exponent)
    odd = (np.abs(base) == 1) & ~np.isfinite(exponent)
    return np.where(odd, np.nan, made) if odd.any() else made


def _ln(call: Call) -> Kernel:
    """The natural logarithm; null if the argument is not positive."""

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        numbers = numpy_of(values[0], rows, 1)
        none = numbers <= 0
        valid = nowhere_null(values, rows)
        with np.errstate(all="ignore"):
            return pa.array(np.log(numbers), mask=none if valid is None else none | ~valid, from_pandas=False)

    return kernel


ARITHMETIC: dict[str, Maker] = {
    "add": _checked(pc.add, pc.add_checked),
    "subtract": _checked(pc.subtract, pc.subtract_checked),
    "multiply": _checked(pc.multiply, pc.multiply_checked),
    "negate": _checked(pc.negate, pc.negate_checked),
    "abs": _checked(pc.abs, pc.abs_checked),
    "divide": _divide,
    "int_divide": _int_divide,
    "mod": _mod,
    "sqrt": _of_doubles(np.sqrt),
    "exp": _of_doubles(np.exp),
    "power": _of_doubles(_power),
    "ln": _ln,
}
