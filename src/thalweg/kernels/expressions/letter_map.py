"""Compiled loops that write texts with other letters, each of which may be several. Numba is needed: import it late.

The letters are a table of texts by the number of a character; characters behind its end stand for themselves.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int32]
Bytes = NDArray[np.uint8]


@numba.njit(cache=True)
def _character(data: Bytes, at: int) -> tuple[int, int]:
    """Its number, and how many bytes it has."""
    first = int(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (data[at + 1] & 0x3F), 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | (data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F), 3
    high = (first & 0x07) << 18 | (data[at + 1] & 0x3F) << 12
    return high | (data[at + 2] & 0x3F) << 6 | (data[at + 3] & 0x3F), 4


@numba.njit(cache=True)
def mapped_sizes(offsets: Offsets, data: Bytes, letters: Offsets) -> NDArray[np.int64]:
    """Bytes of every text with the other letters."""
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


@numba.njit(cache=True)
def map_into(made: Bytes, offsets: Offsets, data: Bytes, letters: Offsets, letter_data: Bytes) -> None:
    """All texts end to end."""
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
