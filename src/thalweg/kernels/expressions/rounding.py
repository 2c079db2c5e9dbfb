"""round, floor and ceil.

A double is rounded by the digits of its shortest text, as in Spark: round(1.005, 2) is 1.01, although the double is
slightly less than 1.005.

>>> from thalweg.plan.expressions.expression import Ref, Value, call
>>> x = Ref("s", "x", pa.float64())
>>> cents = ROUNDING["round"](call("round", (x, Value(2, pa.int32())), x.type))
>>> cents([pa.array([1.005, -2.675, 1e300])], 3).to_pylist()
[1.01, -2.68, 1e+300]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.expressions.arithmetic import overflow
from thalweg.kernels.expressions.decimals import round_as_written
from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, full, numpy_of
from thalweg.plan.expressions.expression import Call, Value

is_ = pa.types
_EXACT_POWER = 22
"""The greatest power of ten that a double represents exactly."""
_MOST_UNITS = 10.0**14
"""The limit in units of the last digit kept. A half has one more digit, and doubles distinguish any 15 digits."""


def _round(call: Call) -> Kernel:
    digits = 0
    if len(call.arguments) > 1:
        assert isinstance(call.arguments[1], Value)
        digits = int(call.arguments[1].value)  # type: ignore[arg-type]
    if is_.is_floating(call.type):
        return lambda values, rows: _rounded(values[0], rows, digits, call.type)
    if digits >= 0:
        return lambda values, rows: full(values[0], rows)
    return lambda values, rows: _rounded_whole(values[0], rows, -digits, call)


def _rounded(value: Any, rows: int, digits: int, kind: pa.DataType) -> pa.Array:
    numbers = numpy_of(value, rows).astype(np.float64)
    if -_EXACT_POWER <= digits < _EXACT_POWER:
        made, unsure = _rounded_nearby(numbers, digits)
    else:
        made, unsure = numbers.copy(), np.isfinite(numbers)
    if unsure.any():
        made[unsure] = round_as_written(numbers[unsure], digits)
    # Java's BigDecimal has no negative zero
    with np.errstate(over="ignore"):
        return arrow_of(np.where(made == 0, 0.0, made).astype(kind.to_pandas_dtype()), kind, [value])


def _rounded_nearby(numbers: NDArray[np.float64], digits: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Round numbers below `_MOST_UNITS` units of the last digit kept, and return which numbers are larger.

    The half between two units has at most 15 digits here, so only the double nearest to it has this half as its
    shortest text. The shortest text of a number is less than the half exactly if the number is less than that double.
    """
    power, tenth = 10.0 ** abs(digits), 10.0 ** abs(digits + 1)
    size = np.abs(numbers)
    with np.errstate(all="ignore"):
        whole = np.floor(size * power if digits >= 0 else size / power)
        half = 10 * whole + 5
        half = half / tenth if digits >= -1 else half * tenth
        whole += size >= half
        made = np.copysign(whole / power if digits >= 0 else whole * power, numbers)
    finite = np.isfinite(numbers)
    # a number this large is an integer already, unless it is rounded to tens
    unsure = finite & (whole >= _MOST_UNITS) & ((digits != 0) | (size < 2.0**52))
    return np.where(finite & (whole < _MOST_UNITS), made, numbers), unsure


def _rounded_whole(value: Any, rows: int, zeros: int, call: Call) -> pa.Array:
    """Round to tens, hundreds... Magnitudes are unsigned, so that the next power of ten fits."""
    numbers = numpy_of(value, rows).astype(np.int64)
    if zeros > 19:
        return arrow_of(np.zeros(rows, dtype=np.int64), call.type, [value])
    negative = numbers < 0
    size = np.where(negative, -(numbers + 1), numbers).astype(np.uint64) + negative.astype(np.uint64)
    power = np.uint64(10**zeros)
    rest = size % power
    made = size - rest + np.where(rest >= power - rest, power, np.uint64(0))
    most = np.uint64(2 ** (call.type.bit_width - 1))
    if (made > most - np.where(negative, np.uint64(0), np.uint64(1))).any():
        raise overflow(call)
    signed = np.where(negative, np.uint64(0) - made, made).view(np.int64)
    return arrow_of(signed.astype(call.type.to_pandas_dtype()), call.type, [value])


def to_long(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Cast to 64-bit integers as Java does: to the nearest one in range, and NaN to 0."""
    inside = np.nan_to_num(numbers, nan=0.0, posinf=2.0**63, neginf=-(2.0**63))
    most = inside >= 2.0**63
    made = np.where(most, 0.0, np.maximum(inside, -(2.0**63))).astype(np.int64)
    made[most] = np.iinfo(np.int64).max
    return made


def _to_whole(function: Callable[..., NDArray[np.float64]]) -> Maker:
    def make(call: Call) -> Kernel:
        def kernel(values: Sequence[Any], rows: int) -> pa.Array:
            if is_.is_integer(values[0].type):
                return full(values[0], rows).cast(pa.int64())
            numbers = function(numpy_of(values[0], rows).astype(np.float64))
            if ((numbers >= 2.0**63) | (numbers < -(2.0**63))).any():  # as in Spark, NaN gives 0
                raise overflow(call)
            return arrow_of(to_long(numbers), pa.int64(), values)

        return kernel

    return make


ROUNDING: dict[str, Maker] = {"round": _round, "floor": _to_whole(np.floor), "ceil": _to_whole(np.ceil)}
