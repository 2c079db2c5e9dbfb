"""Roots, powers and logarithms of doubles, with Java's results if C's differ.

>>> REAL_FUNCTIONS["ln"](None)([pa.array([1.0, 0.0, None])], 3).to_pylist()
[0.0, None, None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, nowhere_null, numpy_of
from thalweg.plan.expression import Call

Numbers = NDArray[np.float64]


def _of(function: Callable[..., Numbers]) -> Maker:
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


REAL_FUNCTIONS: dict[str, Maker] = {"sqrt": _of(np.sqrt), "exp": _of(np.exp), "power": _of(_power), "ln": _ln}
