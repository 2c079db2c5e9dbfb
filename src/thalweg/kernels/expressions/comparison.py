"""Comparisons as in Spark: NaN equals NaN and is greater than every number; null if one side is null.

>>> one, other = pa.array([1.0, float("nan"), None]), pa.array([float("nan"), float("nan"), 1.0])
>>> less(one, other).to_pylist(), same(one, other).to_pylist()
([True, False, None], [False, True, False])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.rows import Datum, Kernel, Maker, full
from thalweg.plan.expressions.expression import Call

is_ = pa.types
Compare = Callable[[Any, Any], pa.Array]


def equal(one: Datum, other: Datum) -> pa.Array:
    """Return one = other for each row."""
    if not _has_nan(one, other):
        return pc.equal(one, other)
    return pc.or_(pc.equal(one, other), pc.and_(pc.is_nan(one), pc.is_nan(other)))


def less(one: Datum, other: Datum) -> pa.Array:
    """Return one < other for each row."""
    if not _has_nan(one, other):
        return pc.less(one, other)
    return pc.or_(pc.less(one, other), pc.and_not(pc.is_nan(other), pc.is_nan(one)))


def greater(one: Datum, other: Datum) -> pa.Array:
    """Return one > other for each row."""
    return less(other, one)


def same(one: Datum, other: Datum) -> pa.Array:
    """Return one <=> other for each row, which is never null."""
    return pc.coalesce(equal(one, other), pc.and_(pc.is_null(one), pc.is_null(other)))


def _has_nan(one: Datum, other: Datum) -> bool:
    return is_.is_floating(one.type) and any(_is_nan_in(value) for value in (one, other))


def _is_nan_in(value: Datum) -> bool:
    found = pc.is_nan(value)
    return bool((found if isinstance(value, pa.Scalar) else pc.any(found)).as_py())


def _kernel(compare: Compare) -> Maker:
    def make(call: Call) -> Kernel:
        if is_.is_null(call.arguments[0].type):
            sure = pa.scalar(True if call.function == "same" else None, pa.bool_())
            return lambda values, rows: full(sure, rows)
        return lambda values, rows: compare(values[0], values[1])

    return make


def _not(compare: Compare) -> Compare:
    return lambda one, other: pc.invert(compare(one, other))


def _extreme(beats: Compare) -> Maker:
    """greatest or least: the first of equal values, as in Spark (0.0 or -0.0). Nulls are ignored."""

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        best = full(values[0], rows)
        for value in values[1:]:
            better = pc.fill_null(beats(value, best), False)
            better = pc.or_(better, pc.and_not(pc.is_null(best), pc.is_null(value)))
            best = pc.if_else(better, value, best)
        return best

    def make(call: Call) -> Kernel:
        return (lambda values, rows: pa.nulls(rows)) if is_.is_null(call.type) else kernel

    return make


COMPARISONS: dict[str, Maker] = {
    "eq": _kernel(equal),
    "ne": _kernel(_not(equal)),
    "lt": _kernel(less),
    "gt": _kernel(greater),
    "le": _kernel(_not(greater)),
    "ge": _kernel(_not(less)),
    "same": _kernel(same),
    "not": lambda call: lambda values, rows: pc.invert(values[0]),
    "is_null": lambda call: lambda values, rows: pc.is_null(values[0]),
}
EXTREMES: dict[str, Maker] = {"greatest": _extreme(greater), "least": _extreme(less)}
