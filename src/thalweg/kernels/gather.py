"""Read values of fixed width from a ring by row number.

Answers: the same as `values.take(rows & mask)`, in one pass over the row numbers and without a bounds check: a masked
number is always in bounds.
Cost: one read per value; about half the time of NumPy.

>>> gather(np.array([10, 11, 12, 13], np.int32), np.array([4, 7, 1]))
array([10, 13, 11], dtype=int32)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@compiled()
def _gather(ring, rows, out):  # type: ignore[no-untyped-def]
    mask = len(ring) - 1
    for i in range(len(rows)):
        out[i] = ring[rows[i] & mask]


def gather(ring: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of rows, each at its number modulo the ring's length, which must be a power of two."""
    word = _WORDS.get(ring.itemsize)
    if word is None:  # decimals
        return ring.take(rows & (len(ring) - 1))
    out = np.empty(len(rows), ring.dtype)
    _gather(ring.view(word), rows, out.view(word))
    return out
