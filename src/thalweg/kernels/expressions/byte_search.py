"""Compiled loops that search for one text in another, one pair per row. They need numba, so import this module late.

In UTF-8, the bytes of one text occur in another only where its characters do. Positions are counted in characters; each
character has exactly one byte that is not of the form 10xxxxxx.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

Offsets = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


@compiled()
def _stands_at(data: Bytes, at: int, wanted: Bytes, low: int, size: int) -> bool:
    for k in range(size):  # noqa: SIM110
        if data[at + k] != wanted[low + k]:
            return False
    return True


@compiled()
def _find(data: Bytes, at: int, end: int, wanted: Bytes, low: int, size: int) -> int:
    """Return the first position from `at` on, in bytes, or -1. The wanted text must not be empty."""
    first = wanted[low]
    while at + size <= end:
        if data[at] == first and _stands_at(data, at, wanted, low, size):
            return at
        at += 1
    return -1


@compiled()
def stands(offsets: Offsets, data: Bytes, wanted_offsets: Offsets, wanted: Bytes, at_end: bool) -> NDArray[np.bool_]:
    """Return whether each text starts, or ends, with the wanted one."""
    rows = len(offsets) - 1
    made = np.empty(rows, np.bool_)
    for row in range(rows):
        low, size = wanted_offsets[row], wanted_offsets[row + 1] - wanted_offsets[row]
        at = offsets[row + 1] - size if at_end else offsets[row]
        made[row] = size <= offsets[row + 1] - offsets[row] and _stands_at(data, at, wanted, low, size)
    return made


@compiled()
def places(offsets: Offsets, data: Bytes, wanted_offsets: Offsets, wanted: Bytes) -> NDArray[np.int32]:
    """Return the position of the first match, in characters from 1; 0 if there is none. The empty text is at 1."""
    rows = len(offsets) - 1
    made = np.empty(rows, np.int32)
    for row in range(rows):
        low, size = wanted_offsets[row], wanted_offsets[row + 1] - wanted_offsets[row]
        if size == 0:
            made[row] = 1
            continue
        found = _find(data, offsets[row], offsets[row + 1], wanted, low, size)
        number = 0
        if found >= 0:
            number = 1
            for at in range(offsets[row], found):
                number += (data[at] & 0xC0) != 0x80
        made[row] = number
    return made


@compiled()
def replaced_sizes(
    offsets: Offsets, data: Bytes, wanted_offsets: Offsets, wanted: Bytes, instead_offsets: Offsets
) -> Numbers:
    """Return the size of every text after replacing, in bytes."""
    rows = len(offsets) - 1
    sizes = np.empty(rows, np.int64)
    for row in range(rows):
        at, end = offsets[row], offsets[row + 1]
        low, size = wanted_offsets[row], wanted_offsets[row + 1] - wanted_offsets[row]
        more = instead_offsets[row + 1] - instead_offsets[row] - size
        made = end - at
        while size > 0:  # the empty text is never replaced
            found = _find(data, at, end, wanted, low, size)
            if found < 0:
                break
            made += more
            at = found + size
        sizes[row] = made
    return sizes


@compiled()
def replace_into(
    made: Bytes,
    offsets: Offsets,
    data: Bytes,
    wanted_offsets: Offsets,
    wanted: Bytes,
    instead_offsets: Offsets,
    instead: Bytes,
) -> None:
    """Write all texts end to end, with every match replaced from left to right."""
    to = 0
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        low, size = wanted_offsets[row], wanted_offsets[row + 1] - wanted_offsets[row]
        found = _find(data, at, end, wanted, low, size) if size > 0 else -1
        while found >= 0:
            while at < found:
                made[to] = data[at]
                at, to = at + 1, to + 1
            for k in range(instead_offsets[row], instead_offsets[row + 1]):
                made[to] = instead[k]
                to += 1
            at = found + size
            found = _find(data, at, end, wanted, low, size)
        while at < end:
            made[to] = data[at]
            at, to = at + 1, to + 1


@compiled()
def cut_between(offsets: Offsets, data: Bytes, starts: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Return start and size, in bytes, of `lengths` characters from `starts`: from 1, or from the end if negative."""
    rows = len(offsets) - 1
    lows, sizes = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        at, end = offsets[row], offsets[row + 1]
        begin = starts[row] - 1 if starts[row] > 0 else starts[row]
        if begin < 0:
            for k in range(at, end):
                begin += (data[k] & 0xC0) != 0x80
        stop = begin + lengths[row]  # may be before the first character if the start is far before it
        number = 0
        while at < end and number < begin:
            at = _next(data, at, end)
            number += 1
        low = at
        while at < end and number < stop:
            at = _next(data, at, end)
            number += 1
        lows[row], sizes[row] = low, at - low
    return lows, sizes


@compiled()
def _next(data: Bytes, at: int, end: int) -> int:
    """Return where the next character begins."""
    at += 1
    while at < end and (data[at] & 0xC0) == 0x80:
        at += 1
    return at


@compiled()
def copy_into(made: Bytes, data: Bytes, lows: Numbers, sizes: Numbers) -> None:
    """Write the pieces end to end."""
    to = 0
    for row in range(len(lows)):
        for k in range(lows[row], lows[row] + sizes[row]):
            made[to] = data[k]
            to += 1
