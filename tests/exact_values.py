"""Values of Arrow columns of any type, exactly: bytes of texts, bits of numbers, ticks of times. Any NaN equals any
NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

NAN_BITS = -1
"""Of no double that is a number."""


def exact_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values that are equal if and only if those of the column are."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values: list[Any] = _bare(array).to_pylist()
    return values


def _bare(array: pa.Array) -> pa.Array:
    """Return the column with types of which every value can be shown by Python."""
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [_bare(array.field(n)) for n in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, [f"{n} {f.name}" for n, f in enumerate(kind)], mask=array.is_null())
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([_bare(array.keys), _bare(array.items)], ["key", "value"])
        return _list(array, entries)
    if pa.types.is_list(kind):
        return _list(array, _bare(array.values))
    if pa.types.is_floating(kind):
        numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers), NAN_BITS, numbers.view(np.int64))
        return pa.array(bits, mask=array.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_string(kind):
        return array.cast(pa.binary())
    if pa.types.is_date32(kind):
        return array.view(pa.int32())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        return array.view(pa.int64())
    return array


def _list(array: pa.Array, values: pa.Array) -> pa.Array:
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(pa.list_(values.type), len(array), buffers, offset=array.offset, children=[values])
