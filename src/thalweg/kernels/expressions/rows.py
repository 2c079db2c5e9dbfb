"""The rows that an expression is evaluated on: all rows of a batch, or those that reach a branch.

>>> rows = LazyRows(lambda ref: pa.array([1, 2, 3], pa.int8()), 3)
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
from thalweg.plan.expressions.expression import Bound, Call, Ref

Datum: TypeAlias = pa.Array | pa.Scalar
"""One value per row, or one value for all rows."""
Kernel: TypeAlias = Callable[[Sequence[Any], int], pa.Array]
"""Called with the values of the arguments, of which at least one is an array, and the number of rows."""
Maker: TypeAlias = Callable[[Call], Kernel]
"""Makes the kernel of a call. Work that is needed only once is done here."""
ColumnOf: TypeAlias = Callable[[Ref | Bound], pa.Array]
Step: TypeAlias = Callable[["LazyRows"], Datum]


class LazyRows:
    """Rows whose columns are read, cast and gathered at most once, when an expression needs them."""

    __slots__ = ("_column_of", "_made", "_places", "count", "tries_all")

    def __init__(
        self, column_of: ColumnOf, count: int, places: NDArray[np.intp] | None = None, *, tries_all: bool = False
    ) -> None:
        """`places`: the positions of these rows among all rows of the evaluation; None: they are all rows. `tries_all`:
        call a row function for all rows, even if it raises for one, so that all rows that raise are known."""
        self._column_of, self.count, self._places, self.tries_all = column_of, count, places, tries_all
        self._made: dict[Ref | Bound, pa.Array] = {}

    def column(self, ref: Ref | Bound) -> pa.Array:
        """Return a column in the type that the expression declares."""
        made = self._made.get(ref)
        if made is None:
            made = self._column_of(ref)
            if isinstance(made, pa.ChunkedArray):
                made = made.combine_chunks()
            if made.type != ref.type:
                made = plain_array(made, ref.type)
            self._made[ref] = made
        return made

    def at(self, places: NDArray[np.intp]) -> LazyRows:
        """Return some of the rows, by position."""
        if len(places) == self.count:
            return self
        index = pa.array(places)
        whole = places if self._places is None else self._places[places]
        return LazyRows(lambda ref: self.column(ref).take(index), len(places), whole, tries_all=self.tries_all)

    def located(self, error: ExpressionError) -> ExpressionError:
        """Return an error of these rows with their positions among all rows of the evaluation."""
        if error.rows is not None and self._places is not None:
            error.rows = self._places[np.asarray(error.rows)]
        return error


def called(kernel: Kernel, values: Sequence[Any], rows: LazyRows) -> pa.Array:
    """Call a kernel. An error that it raises gets the positions of its rows among all rows."""
    try:
        return kernel(values, rows.count)
    except ExpressionError as error:
        raise rows.located(error) from error.__cause__


def full(value: Datum, rows: int) -> pa.Array:
    """Return a value as an array."""
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def spread(part: pa.Array, places: NDArray[np.intp], rows: int) -> pa.Array:
    """Return the values of some rows as those of all rows, with null for the others."""
    if len(places) == rows:
        return part
    index = np.zeros(rows, dtype=np.int64)
    index[places] = np.arange(len(places))
    missing = np.ones(rows, dtype=bool)
    missing[places] = False
    return part.take(pa.array(index, mask=missing))


def numpy_of(value: Datum, rows: int, filler: object = 0) -> NDArray[Any]:
    """Return a NumPy array with the filler in place of nulls."""
    array = full(value, rows)
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(filler, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False))


def true_of(array: pa.Array) -> NDArray[np.bool_]:
    """Return where the array is true; null counts as false."""
    return np.asarray((array.fill_null(False) if array.null_count else array).to_numpy(zero_copy_only=False))


def nowhere_null(values: Sequence[Datum], rows: int) -> NDArray[np.bool_] | None:
    """Return where no value is null; None if none is null anywhere."""
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
    """Return numbers as an Arrow array, with null where one of the values is null."""
    valid = nowhere_null(values, len(numbers))
    return pa.array(numbers, kind, mask=None if valid is None else ~valid, from_pandas=False)
