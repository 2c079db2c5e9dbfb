"""The rows an expression is evaluated on: all of a batch, or those of them that reach a branch.

>>> rows = Rows(lambda ref: pa.array([1, 2, 3], pa.int8()), 3)
>>> rows.at(np.array([2, 0])).column(Ref("s", "x", pa.int64())).to_pylist()
[3, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import ExpressionError
from thalweg.kernels.columns import plain_array
from thalweg.plan.expression import Bound, Call, Ref

Datum: TypeAlias = pa.Array | pa.Scalar
"""A value for every row, or one for all of them."""
Kernel: TypeAlias = Callable[[Sequence[Any], int], pa.Array]
"""The values of the arguments, of which at least one is an array, and how many rows there are."""
Maker: TypeAlias = Callable[[Call], Kernel]
"""What can be done once is done here."""
ColumnOf: TypeAlias = Callable[[Ref | Bound], pa.Array]
Step: TypeAlias = Callable[["Rows"], Datum]


class Rows:
    """Columns are asked for, cast and gathered when an expression needs them, and once."""

    __slots__ = ("_column_of", "_made", "_places", "count", "tries_all")

    def __init__(
        self, column_of: ColumnOf, count: int, places: NDArray[np.intp] | None = None, *, tries_all: bool = False
    ) -> None:
        """`places`: where they stand among the rows that were asked for; None: they are these. `tries_all`: a function
        of one row's values is called for all rows, also when it raises for one, so that all that raise are known."""
        self._column_of, self.count, self._places, self.tries_all = column_of, count, places, tries_all
        self._made: dict[Ref | Bound, pa.Array] = {}

    def column(self, ref: Ref | Bound) -> pa.Array:
        """In the type the expression says."""
        made = self._made.get(ref)
        if made is None:
            made = self._column_of(ref)
            if isinstance(made, pa.ChunkedArray):
                made = made.combine_chunks()
            if made.type != ref.type:
                made = plain_array(made, ref.type)
            self._made[ref] = made
        return made

    def at(self, places: NDArray[np.intp]) -> Rows:
        """Some of them."""
        if len(places) == self.count:
            return self
        index = pa.array(places)
        whole = places if self._places is None else self._places[places]
        return Rows(lambda ref: self.column(ref).take(index), len(places), whole, tries_all=self.tries_all)

    def located(self, error: ExpressionError) -> ExpressionError:
        """An error of these rows, with their places among the rows that were asked for."""
        if error.rows is not None and self._places is not None:
            error.rows = self._places[np.asarray(error.rows)]
        return error


def called(kernel: Kernel, values: Sequence[Any], rows: Rows) -> pa.Array:
    """What a kernel gives; what it raises knows the places of its rows."""
    try:
        return kernel(values, rows.count)
    except ExpressionError as error:
        raise rows.located(error) from error.__cause__


def full(value: Datum, rows: int) -> pa.Array:
    """As an array."""
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def spread(part: pa.Array, places: NDArray[np.intp], rows: int) -> pa.Array:
    """Values of some rows among all; null on the others."""
    if len(places) == rows:
        return part
    index = np.zeros(rows, dtype=np.int64)
    index[places] = np.arange(len(places))
    missing = np.ones(rows, dtype=bool)
    missing[places] = False
    return part.take(pa.array(index, mask=missing))


def numpy_of(value: Datum, rows: int, filler: object = 0) -> NDArray[Any]:
    """Numbers; where there is none, the filler."""
    array = full(value, rows)
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(filler, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False))


def true_of(array: pa.Array) -> NDArray[np.bool_]:
    """Where it is true; null is not."""
    return np.asarray((array.fill_null(False) if array.null_count else array).to_numpy(zero_copy_only=False))


def nowhere_null(values: Sequence[Datum], rows: int) -> NDArray[np.bool_] | None:
    """Where all have a value; None: everywhere."""
    valid: NDArray[np.bool_] | None = None
    for value in values:
        if isinstance(value, pa.Scalar):
            if not value.is_valid:
                return np.zeros(rows, dtype=bool)
        elif value.null_count:
            here = np.asarray(value.is_valid().to_numpy(zero_copy_only=False))
            valid = here if valid is None else valid & here
    return valid


def arrow_of(numbers: NDArray[Any], kind: pa.DataType, values: Sequence[Datum]) -> pa.Array:
    """Numbers as an array; null where one of the values is."""
    valid = nowhere_null(values, len(numbers))
    return pa.array(numbers, kind, mask=None if valid is None else ~valid, from_pandas=False)
