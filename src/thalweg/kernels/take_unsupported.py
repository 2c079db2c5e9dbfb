"""Select rows of columns that Arrow's `take` refuses: views and run-end-encoded columns, alone or in other types.

Answers: the values at some positions, with their type unchanged.
Cost: vectorized; per row of the result, and for lists per value. Views share the text of their source column, as slices
do.

>>> take_unsupported(pa.array(["a", None, "c"], pa.string_view()), np.array([2, 1])).to_pylist()
['c', None]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

RowNumbers = NDArray[np.int64]
Take = Callable[[pa.Array, RowNumbers], pa.Array]


def take_unsupported(array: pa.Array, rows: RowNumbers) -> pa.Array:
    """Return the values at these positions, which must be in bounds."""
    kind = array.type
    if not len(rows):
        return array.slice(0, 0)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _take(array.storage, rows))
    for fits, taken in _WAYS:
        if fits(kind):
            return taken(array, rows)
    raise pa.ArrowNotImplementedError(f"rows of a column of type {kind} cannot be selected")


def runs_of(array: pa.RunEndEncodedArray, rows: RowNumbers) -> RowNumbers:
    """Return the number of the run that each row is in."""
    runs: RowNumbers = np.searchsorted(array.run_ends.to_numpy(), rows + array.offset, side="right")
    return runs


def _take(array: pa.Array, rows: RowNumbers) -> pa.Array:
    try:
        return array.take(pa.array(rows))
    except pa.ArrowNotImplementedError:
        return take_unsupported(array, rows)


def _valid(array: pa.Array, rows: RowNumbers) -> pa.Array | None:
    """Return which of the values are not null; None if all are."""
    return array.is_valid().take(pa.array(rows)) if array.null_count else None


def _bits(array: pa.Array, rows: RowNumbers) -> pa.Buffer | None:
    valid = _valid(array, rows)
    return None if valid is None else valid.buffers()[1]


def _views(array: pa.Array, rows: RowNumbers) -> pa.Array:
    _, views, *texts = array.buffers()
    words = pa.Array.from_buffers(pa.binary(16), len(array), [None, views], offset=array.offset)
    taken = words.take(pa.array(rows)).buffers()[1]
    return pa.Array.from_buffers(array.type, len(rows), [_bits(array, rows), taken, *texts])


def _run_ends(array: pa.Array, rows: RowNumbers) -> pa.Array:
    runs = runs_of(array, rows)
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    ends = pa.array(np.append(starts[1:], len(rows)), array.type.run_end_type)
    return pa.RunEndEncodedArray.from_arrays(ends, _take(array.values, runs[starts]), type=array.type)


def _struct(array: pa.Array, rows: RowNumbers) -> pa.Array:
    fields = list(array.type)
    columns = [_take(array.field(n), rows) for n in range(len(fields))]
    valid = _valid(array, rows)
    return pa.StructArray.from_arrays(columns, fields=fields, mask=None if valid is None else pc.invert(valid))


def _list(array: pa.Array, rows: RowNumbers) -> pa.Array:
    """Select rows of lists or maps."""
    offsets = array.offsets.to_numpy()
    starts = offsets[rows].astype(np.int64)
    lengths = offsets[rows + 1] - starts
    valid = _valid(array, rows)
    if valid is not None:
        lengths[~valid.to_numpy(zero_copy_only=False)] = 0
    ends = np.cumsum(lengths)
    values = _take(array.values, np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1]))
    placed = np.concatenate([[0], ends]).astype(offsets.dtype)
    return pa.Array.from_buffers(
        array.type, len(rows), [_bits(array, rows), pa.py_buffer(placed)], children=[values]
    )  # fmt: skip


def _list_of_fixed_size(array: pa.Array, rows: RowNumbers) -> pa.Array:
    size = array.type.list_size
    places = ((rows + array.offset)[:, None] * size + np.arange(size)).ravel()
    return pa.Array.from_buffers(array.type, len(rows), [_bits(array, rows)], children=[_take(array.values, places)])


def _union(array: pa.Array, rows: RowNumbers) -> pa.Array:
    kind, (_, types, *offsets) = array.type, array.buffers()[: 3 if array.type.mode == "dense" else 2]
    names, codes = [field.name for field in kind], kind.type_codes

    def taken(kind: pa.DataType, buffer: pa.Buffer) -> pa.Array:  # `type_codes` and `offsets` ignore a slice's offset
        whole = pa.Array.from_buffers(kind, len(array), [None, buffer], offset=array.offset)
        return whole.take(pa.array(rows))

    types = taken(pa.int8(), types)
    columns = [array.field(n) for n in range(kind.num_fields)]
    if offsets:
        return pa.UnionArray.from_dense(types, taken(pa.int32(), offsets[0]), columns, names, codes)
    return pa.UnionArray.from_sparse(types, [_take(column, rows) for column in columns], names, codes)


_is = pa.types
_WAYS: tuple[tuple[Callable[[Any], bool], Take], ...] = (
    (lambda kind: kind in (pa.string_view(), pa.binary_view()), _views),
    (_is.is_run_end_encoded, _run_ends),
    (_is.is_struct, _struct),
    (lambda kind: _is.is_list(kind) or _is.is_large_list(kind) or _is.is_map(kind), _list),
    (_is.is_fixed_size_list, _list_of_fixed_size),
    (_is.is_union, _union),
)
