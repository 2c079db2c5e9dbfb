"""Decimals from the digits of texts, and of doubles, which have the digits of their shortest text.

>>> read_decimals(pa.array([" -1.005 ", None, "2e1"]), pa.decimal128(5, 2))[0].to_pylist()
[Decimal('-1.01'), None, Decimal('20.00')]
>>> read_decimals(pa.array(["1", "1000", "x"]), pa.decimal128(5, 2))[1]
1
>>> round_as_written(np.array([2.675, -1e22, 5e-324]), 2).tolist()
[2.68, -1e+22, 0.0]
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.kernels.expressions.rows import nowhere_null
from thalweg.kernels.expressions.text_bytes import TextBytes, bits_of


def read_decimals(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, int]:
    """Return decimals, rounded half up, and the first row that is not a number of this type (-1 if all are)."""
    from thalweg.kernels.expressions import decimal_words

    given, valid = TextBytes.of(texts), nowhere_null([texts], len(texts))
    words = np.empty((len(texts), 2), dtype=np.uint64)
    asked = np.ones(len(texts), dtype=bool) if valid is None else valid
    bad = decimal_words.read_decimals(words, given.offsets, given.data, asked, kind.precision, kind.scale)
    return pa.Array.from_buffers(kind, len(texts), [bits_of(valid), pa.py_buffer(words)]), bad


def round_as_written(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Round half up by the digits of the shortest texts. All numbers must be finite."""
    from thalweg.kernels.expressions.decimal_words import round_written

    given = TextBytes.of(pa.array(numbers).cast(pa.string()))
    units = np.zeros(len(numbers), dtype=np.int64)
    as_it_is = round_written(units, given.offsets, given.data, digits)
    # Arrow parses to the nearest double; multiplying by a power of ten may not give it
    made = pc.binary_join_element_wise(pa.array(units).cast(pa.string()), f"e{-digits}", "").cast(pa.float64())
    return np.where(as_it_is, numbers, made.to_numpy(zero_copy_only=False))
