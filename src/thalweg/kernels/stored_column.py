"""A column of a window: values are appended at one end, forgotten at the other, and read from anywhere.

Values of fixed width are stored in a ring of the window's capacity. All others stay in two Arrow arrays: a large one
and a small one with newer values. When the small one has grown to a quarter of the large one, they are concatenated,
without forgotten values. After a batch is appended, the next read copies the small array; this is expensive for very
small batches in a large window of texts.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.columns import take_rows

Numbers = NDArray[np.int64]


class StoredColumn(Protocol):
    """The values of one column. Rows are numbered from the beginning; a ring stores row n at n modulo its capacity."""

    def append(self, array: pa.Array, first: int) -> None:
        """Append rows, numbered from `first` on."""
        ...

    def take(self, rows: Numbers) -> pa.Array:
        """Return the values of these rows, in this order."""
        ...

    def resize(self, capacity: int, low: int, high: int) -> None:
        """Change the capacity, and keep the rows from low to high."""
        ...

    def keep(self, rows: Numbers, first: int) -> None:
        """Keep only these rows, with new numbers from `first` on."""
        ...

    def forget(self, low: int) -> None:
        """Forget the rows before `low`, which are not read any more."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory that the column takes, in bytes."""
        ...


def stored(kind: pa.DataType, capacity: int) -> StoredColumn:
    """Return an empty column for a type."""
    dtype = _fixed(kind)
    return RingColumn(kind, dtype, capacity) if dtype is not None else ArrowColumn(kind)


def _fixed(kind: pa.DataType) -> np.dtype[Any] | None:
    is_ = pa.types
    if is_.is_boolean(kind) or isinstance(kind, pa.BaseExtensionType):
        return None
    if is_.is_integer(kind) or is_.is_floating(kind):
        dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return dtype
    if is_.is_temporal(kind) and not is_.is_interval(kind):
        return np.dtype(f"i{kind.bit_width // 8}")
    if is_.is_decimal(kind):
        return np.dtype(f"V{kind.bit_width // 8}")
    return None


class RingColumn:
    """A column of fixed width, stored in a ring."""

    def __init__(self, kind: pa.DataType, dtype: np.dtype[Any], capacity: int) -> None:
        self.kind = kind
        self._values = np.empty(capacity, dtype)
        self._known: NDArray[np.bool_] | None = None  # created for the first null

    def append(self, array: pa.Array, first: int) -> None:
        """Append rows, numbered from `first` on."""
        values = np.frombuffer(array.buffers()[1], self._values.dtype) if len(array) else self._values[:0]
        _write(self._values, values[array.offset : array.offset + len(array)], first)
        if array.null_count and self._known is None:
            self._known = np.ones(len(self._values), bool)
        if self._known is not None:
            _write(self._known, array.is_valid().to_numpy(zero_copy_only=False), first)

    def take(self, rows: Numbers) -> pa.Array:
        """Return the values of these rows, in this order."""
        from thalweg.kernels.probing import gather

        values = gather(self._values, rows)
        known = None
        if self._known is not None:
            bits = gather(self._known, rows)
            known = None if bits.all() else pa.py_buffer(np.packbits(bits, bitorder="little"))
        return pa.Array.from_buffers(self.kind, len(rows), [known, pa.py_buffer(values)])

    def resize(self, capacity: int, low: int, high: int) -> None:
        """Change the capacity, and keep the rows from low to high."""
        rows = np.arange(low, high)
        self._values = _moved(self._values, rows, capacity, low)
        if self._known is not None:
            self._known = _moved(self._known, rows, capacity, low)

    def keep(self, rows: Numbers, first: int) -> None:
        """Keep only these rows, with new numbers from `first` on."""
        self._values = _moved(self._values, rows, len(self._values), first)
        if self._known is not None:
            self._known = _moved(self._known, rows, len(self._known), first)

    def forget(self, low: int) -> None:
        """Do nothing: new rows overwrite the old ones."""

    @property
    def nbytes(self) -> int:
        """The memory that the column takes, in bytes."""
        return self._values.nbytes + (0 if self._known is None else self._known.nbytes)


def _write(ring: NDArray[Any], values: NDArray[Any], first: int) -> None:
    start = first & (len(ring) - 1)
    before_end = min(len(values), len(ring) - start)
    ring[start : start + before_end] = values[:before_end]
    ring[: len(values) - before_end] = values[before_end:]


def _moved(ring: NDArray[Any], rows: Numbers, capacity: int, first: int) -> NDArray[Any]:
    larger = np.empty(capacity, ring.dtype)
    _write(larger, ring.take(rows & (len(ring) - 1)), first)
    return larger


class ArrowColumn:
    """A column of any type. While all values are null, only their number is stored, as for most row errors."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._has_values = False
        self._large = self._small = pa.nulls(0, kind)
        self._parts: list[pa.Array] = []  # of the small array, not concatenated yet
        self._first = 0  # the number of the first row in the large array
        self._low = 0
        self._rows = 0

    def append(self, array: pa.Array, first: int) -> None:
        """Append rows, numbered from `first` on."""
        if not self._rows:
            self._first = self._low = first
        if not self._has_values:
            if array.null_count == len(array):
                self._rows += len(array)
                return
            self._has_values = True
            self._large = pa.nulls(self._rows, self.kind)
        if any(buffer is not None and buffer.parent is not None for buffer in array.buffers()):
            # part of a larger buffer, such as a message with all columns of a batch: a reference would keep them all
            array = pa.concat_arrays([array])
        self._parts.append(array)
        self._rows += len(array)

    def take(self, rows: Numbers) -> pa.Array:
        """Return the values of these rows, in this order."""
        if not self._has_values:
            return pa.nulls(len(rows), self.kind)
        self._settle()
        places = rows - self._first
        large = len(self._large)
        late = places >= large
        if not late.any():
            return take_rows(self._large, places)
        if late.all():
            return take_rows(self._small, places - large)
        order = np.argsort(late, kind="stable")
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        early = take_rows(self._large, places[~late]), take_rows(self._small, places[late] - large)
        return take_rows(pa.concat_arrays(early), back)

    def _settle(self) -> None:
        if self._parts:
            self._small = pa.concat_arrays([self._small, *self._parts])
            self._parts.clear()
        if 4 * len(self._small) > len(self._large):
            forgotten = min(self._low - self._first, len(self._large))
            self._large = pa.concat_arrays([self._large.slice(forgotten), self._small])
            self._small = self._small.slice(0, 0)
            self._first += forgotten
            self._rows -= forgotten

    def resize(self, capacity: int, low: int, high: int) -> None:
        """Do nothing: this column has no fixed capacity."""

    def keep(self, rows: Numbers, first: int) -> None:
        """Keep only these rows, with new numbers from `first` on."""
        if self._has_values:
            kept = self.take(rows)
            self._large, self._small = kept, kept.slice(0, 0)
        self._first = self._low = first
        self._rows = len(rows)

    def forget(self, low: int) -> None:
        """Forget the rows before `low`.

        Their memory is freed when the arrays are next concatenated, or at once if they are more than half of the rows.
        """
        self._low = max(self._low, low)
        if self._low - self._first > (self._rows >> 1):
            gone = min(self._low - self._first, self._rows)
            self.keep(np.arange(self._first + gone, self._first + self._rows), self._first + gone)

    @property
    def nbytes(self) -> int:
        """The memory that the column takes, in bytes."""
        return int(self._large.nbytes + self._small.nbytes + sum(part.nbytes for part in self._parts))
