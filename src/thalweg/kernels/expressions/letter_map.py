"""Compiled loops that replace letters in texts, each by one or more. They need numba, so import this module late.

The replacements are a table of texts by code point. Characters beyond its end stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

Offsets = NDArray[np.int32]
Bytes = NDArray[np.uint8]


@compiled()
def _character(data: Bytes, at: int) -> tuple[int, int]:
    """Return the code point of a character and its size in bytes."""
    first = int(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (data[at + 1] & 0x3F), 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | (data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F), 3
    high = (first & 0x07) << 18 | (data[at + 1] & 0x3F) << 12
    return high | (data[at + 2] & 0x3F) << 6 | (data[at + 3] & 0x3F), 4


@compiled()
def mapped_sizes(offsets: Offsets, data: Bytes, letters: Offsets) -> NDArray[np.int64]:
    """Return the size of every text after replacement, in bytes."""
    rows = len(offsets) - 1
    known = len(letters) - 1
    sizes = np.empty(rows, np.int64)
    for row in range(rows):
        made, at = 0, int(offsets[row])
        while at < offsets[row + 1]:
            number, size = _character(data, at)
            made += letters[number + 1] - letters[number] if number < known else size
            at += size
        sizes[row] = made
    return sizes


@compiled()
def map_into(made: Bytes, offsets: Offsets, data: Bytes, letters: Offsets, letter_data: Bytes) -> None:
    """Write all texts end to end, with their letters replaced."""
    known = len(letters) - 1
    to = 0
    for row in range(len(offsets) - 1):
        at = int(offsets[row])
        while at < offsets[row + 1]:
            number, size = _character(data, at)
            if number < known:
                for k in range(letters[number], letters[number + 1]):
                    made[to] = letter_data[k]
                    to += 1
            else:
                for k in range(at, at + size):
                    made[to] = data[k]
                    to += 1
            at += size
