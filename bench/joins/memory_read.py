"""The cost of a read at a random place in memory of a given size: the part of a join's cost that caches explain."""

from __future__ import annotations

import time

import numba
import numpy as np

WORDS = 4
"""The 64-bit words of a row of an index, which has 32 bytes."""
READS = 2_000_000


@numba.njit(cache=True)
def _walk(ring, mask, reads):  # type: ignore[no-untyped-def]
    """Walk through memory; each place depends on the previous value, so that no two reads overlap."""
    place, total = np.uint64(1), np.uint64(0)
    for _ in range(reads):
        place = place * np.uint64(6364136223846793005) + np.uint64(1442695040888963407) + total
        total = ring[np.int64((place >> np.uint64(20)) & mask), 0]
    return place


def random_read_ns(nbytes: int) -> float:
    """Return the time of a read, one after the other, in this much memory."""
    rows = 1 << max((nbytes // (8 * WORDS) - 1).bit_length(), 0)
    ring = np.zeros((rows, WORDS), np.uint64)
    ring[:] = 1  # touched, so that it is there
    mask = np.uint64(rows - 1)
    _walk(ring, mask, READS // 10)
    begun = time.process_time()
    _walk(ring, mask, READS)
    return (time.process_time() - begun) / READS * 1e9
