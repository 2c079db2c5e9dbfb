"""Partial aggregates, which can be merged: sums, counts, minima and maxima.

Sums of whole numbers and of decimals are exact, so they do not depend on the order of rows: only a total that does not
fit raises. (Spark also raises if only the sum of some rows does not fit.) The minimum and maximum of floating-point
numbers are computed on integers in the same order, in which NaN is the greatest, because Arrow ignores NaN. One of zero
is 0.0, never -0.0, so that it does not depend on the order of rows either.

>>> parts, finish = parts_of(AggregateColumn("avg", "x", pa.float64()), pa.int64())
>>> [(part.name, part.merge) for part in parts]
[('sum of x', 'sum'), ('count of x', 'sum')]
>>> finish(pa.array([7, None], pa.decimal128(38, 0)), pa.array([2, 0])).to_pylist()
[3.5, None]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import SumOverflowError
from thalweg.plan.expressions.type_rules import sql_name
from thalweg.plan.query.group_spec import AggregateColumn

is_ = pa.types
Finish: TypeAlias = Callable[..., pa.Array]
_SIGN = np.int64(2**63 - 1)


@dataclass(frozen=True)
class PartialAggregate:
    """A column of partial aggregates, one value per group."""

    name: str
    column: str | None
    """The column of the rows that is aggregated; None: any column."""
    merge: str
    """The Arrow aggregation that merges several values into one."""
    of: Callable[[pa.Array], pa.Array]
    """Returns the partial aggregates of single rows."""


def parts_of(aggregate: AggregateColumn, kind: pa.DataType) -> tuple[tuple[PartialAggregate, ...], Finish]:
    """Return the partial aggregates to store, and the function that computes the result from them.

    Distinct values are stored elsewhere."""
    column, function = aggregate.column, aggregate.function
    if column is None:
        return (PartialAggregate("count", None, "sum", _ones),), _same
    count = PartialAggregate(f"count of {column}", column, "sum", _known)
    if function == "count":
        return (count,), _same
    if function in ("sum", "avg"):
        total = PartialAggregate(f"sum of {column}", column, "sum", _summed_as(kind))
        if function == "avg":
            return (total, count), _average
        return (total,), lambda sums: _fitting(sums, aggregate)
    to, back = _ordered(kind)
    return (PartialAggregate(f"{function} of {column}", column, function, to),), back


def same_values(array: pa.Array) -> pa.Array:
    """Return an array in which values that are equal in SQL are the same: every NaN, and zeros of either sign."""
    if not is_.is_floating(array.type):
        return array
    nan = pa.scalar(np.nan, array.type)
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, pa.scalar(0, array.type)))


def _same(array: pa.Array) -> pa.Array:
    return array


def _ones(array: pa.Array) -> pa.Array:
    return pa.array(np.ones(len(array), np.int64))


def _known(array: pa.Array) -> pa.Array:
    return array.is_valid().cast(pa.int64())


def _average(sums: pa.Array, counts: pa.Array) -> pa.Array:
    return pc.divide(sums.cast(pa.float64()), counts.cast(pa.float64()))


def _summed_as(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Return a cast to a type in which no sum of fewer than 10^10 rows overflows: Arrow overflows silently."""
    if is_.is_floating(kind):
        wide = pa.float64()
    elif is_.is_decimal(kind):
        wide = pa.decimal128(38, kind.scale) if kind.precision <= 28 else pa.decimal256(76, kind.scale)
    else:
        wide = pa.decimal128(38, 0)
    return lambda array: array.cast(wide)


def _fitting(sums: pa.Array, aggregate: AggregateColumn) -> pa.Array:
    try:
        return sums.cast(aggregate.type)
    except pa.ArrowInvalid:
        worst = max((value for value in sums.to_pylist() if value is not None), key=abs)
        rest = f"which {sql_name(aggregate.type)} cannot represent; sum it as a DOUBLE: sum(CAST(... AS DOUBLE))"
        raise SumOverflowError(f"{aggregate} of a window is {worst}, {rest}").or_redacted(
            f"{aggregate} of a window is a number {rest}"
        ) from None


def _ordered(kind: pa.DataType) -> tuple[Callable[[pa.Array], pa.Array], Callable[[pa.Array], pa.Array]]:
    """Return casts to and from a type in which Arrow computes min and max in SQL's order."""
    if is_.is_floating(kind):
        # of two zeros, Spark takes the first that it reads
        return _as_words, lambda words: same_values(_from_words(words).cast(kind))
    if is_.is_duration(kind):
        return (lambda array: array.cast(pa.int64())), (lambda words: words.cast(kind))
    return _same, _same


def _as_words(array: pa.Array) -> pa.Array:
    """Return integers in the same order as the floating-point numbers.

    >>> _as_words(pa.array([-1.0, -0.0, 0.0, float("inf"), float("nan")])).to_pylist()[1:3]
    [-1, 0]
    """
    wide = array.cast(pa.float64())
    values = wide.fill_null(0).to_numpy(zero_copy_only=False)
    bits = values.view(np.int64)
    words = np.where(np.isnan(values), _SIGN, np.where(bits < 0, bits ^ _SIGN, bits))
    return pa.array(words, mask=wide.is_null().to_numpy(zero_copy_only=False))


def _from_words(words: pa.Array) -> pa.Array:
    known = words.fill_null(0).to_numpy(zero_copy_only=False)
    bits = np.where(known < 0, known ^ _SIGN, known)  # the greatest integer becomes a NaN
    return pa.array(bits.view(np.float64), mask=words.is_null().to_numpy(zero_copy_only=False))
