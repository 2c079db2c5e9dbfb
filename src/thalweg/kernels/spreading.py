"""Partition rows by a word: equal words are in the same part, in every process with the same salt.

>>> import numpy as np
>>> from thalweg.kernels.salt import NO_SALT
>>> order, ends = spread(np.array([7, 8, 7, 9, 8, 7]), 2, NO_SALT)
>>> parts = np.split(np.array([7, 8, 7, 9, 8, 7])[order], ends[:-1])
>>> len(parts), set(parts[0]) & set(parts[1])
(2, set())
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled
from thalweg.kernels.keyed_hash import hash_word
from thalweg.kernels.salt import Salt

Words = NDArray[np.int64]


@compiled()
def _spread(words, parts, one, other, order, ends):  # type: ignore[no-untyped-def]
    """Sort rows by part with a counting sort."""
    rows = len(words)
    of = np.empty(rows, np.int32)
    for i in range(rows):
        of[i] = np.int32(hash_word(np.uint64(words[i]), one, other) % np.uint64(parts))
        ends[of[i]] += 1
    at = np.zeros(parts, np.int64)
    for part in range(1, parts):
        at[part] = at[part - 1] + ends[part - 1]
    for i in range(rows):
        order[at[of[i]]] = i
        at[of[i]] += 1
    for part in range(parts):
        ends[part] = at[part]


def spread(words: Words, parts: int, salt: Salt) -> tuple[Words, Words]:
    """Return the row numbers, part by part and otherwise in order of arrival, and where each part ends."""
    order, ends = np.empty(len(words), np.int64), np.zeros(parts, np.int64)
    _spread(words, parts, salt.one, salt.other, order, ends)
    return order, ends
