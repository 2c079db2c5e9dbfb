"""The bytes of texts, which compiled loops read and write.

>>> words = TextBytes.of(pa.array(["ab", None, "ü"]).slice(1))
>>> words.offsets.tolist(), bytes(words.data).decode()
([2, 2, 4], 'abü')
>>> texts_of(np.array([0, 1, 1]), np.frombuffer(b"x", np.uint8), np.array([True, False])).to_pylist()
['x', None]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions.rows import Datum, full

_MOST_BYTES = 2**31 - 1
"""The limit of text in one array: Arrow's offsets are signed 32-bit numbers."""


@dataclass(frozen=True)
class TextBytes:
    """Text n is data[offsets[n]:offsets[n + 1]]. The bytes of a null are undefined."""

    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]

    @staticmethod
    def of(value: Datum, rows: int = 0) -> TextBytes:
        """Return a view without a copy, also of slices. Both arrays are read-only, so that loops compile only once."""
        texts = full(value, rows)
        assert pa.types.is_string(texts.type), texts.type
        _, offsets, data = texts.buffers()
        if offsets is None or not offsets.size:
            offsets = bytes(4)
        known = np.frombuffer(offsets, dtype=np.int32)[texts.offset :][: len(texts) + 1]
        return TextBytes(known, np.frombuffer(data or b"", dtype=np.uint8))


def texts_of(offsets: NDArray[np.int64], data: NDArray[np.uint8], valid: NDArray[np.bool_] | None) -> pa.Array:
    """Return an Arrow array of texts, given their offsets and bytes."""
    places = pa.py_buffer(offsets.astype(np.int32))
    return pa.StringArray.from_buffers(len(offsets) - 1, places, pa.py_buffer(data), bits_of(valid))


def bits_of(valid: NDArray[np.bool_] | None) -> Any:
    """Return which rows are not null, in the form that Arrow stores."""
    return None if valid is None else pa.array(valid).buffers()[1]


def ends_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of texts of these sizes, end to end. Raises if they exceed the limit of one array."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] > _MOST_BYTES:
        raise ExpressionError(
            f"the texts of one batch have {offsets[-1]} bytes after a function, but an array holds {_MOST_BYTES}; "
            "make batches smaller"
        )
    return offsets
