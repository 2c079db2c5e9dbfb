"""Rows spread over parts by a word of theirs, the same in every process: equal words are in one part.

>>> import numpy as np
>>> order, ends = spread(np.array([7, 8, 7, 9, 8, 7]), 2)
>>> parts = np.split(np.array([7, 8, 7, 9, 8, 7])[order], ends[:-1])
>>> len(parts), set(parts[0]) & set(parts[1])
(2, set())
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.stable_hash import mixed

Words = NDArray[np.int64]


@numba.njit(cache=True)
def _spread(words, parts, order, ends):  # type: ignore[no-untyped-def]
    """A counting sort."""
    rows = len(words)
    of = np.empty(rows, np.int32)
    for i in range(rows):
        of[i] = np.int32(mixed(np.uint64(words[i])) % np.uint64(parts))
        ends[of[i]] += 1
    at = np.zeros(parts, np.int64)
    for part in range(1, parts):
        at[part] = at[part - 1] + ends[part - 1]
    for i in range(rows):
        order[at[of[i]]] = i
        at[of[i]] += 1
    for part in range(parts):
        ends[part] = at[part]


def spread(words: Words, parts: int) -> tuple[Words, Words]:
    """The numbers of the rows, part by part and otherwise as they came, and where each part ends."""
    order, ends = np.empty(len(words), np.int64), np.zeros(parts, np.int64)
    _spread(words, parts, order, ends)
    return order, ends
