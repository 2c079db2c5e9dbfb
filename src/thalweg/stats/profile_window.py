"""The profile: a sliding window over the outcomes of sampled rows (a-greedy, section 4.1.1).

A profile tuple holds one bit per filter, 1 if the filter drops the row. The last `capacity` tuples are kept and the
oldest are removed first, so that old input does not affect current statistics.

Cost: O(rows added) per insertion, `capacity` times n bytes of memory, no Python loop.

>>> window = ProfileWindow(capacity=2, width=3)
>>> window.insert(np.array([[1, 0, 0], [0, 1, 1]], bool)).tolist()
[]
>>> window.insert(np.array([[0, 0, 1]], bool)).tolist()
[[True, False, False]]
>>> window.tuples.tolist()
[[False, True, True], [False, False, True]]

Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


class ProfileWindow:
    """A window of the last `capacity` profile tuples."""

    __slots__ = ("_bits", "_size", "_start", "capacity")

    def __init__(self, capacity: int, width: int) -> None:
        assert capacity >= 1
        assert width >= 1
        self.capacity = capacity
        self._bits: Bits = np.zeros((capacity, width), dtype=bool)
        self._start = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def insert(self, tuples: Bits) -> Bits:
        """Add tuples, and return those that left, oldest first. If more are added than fit, some of these leave too."""
        count = len(tuples)
        leaving = max(0, self._size + count - self.capacity)
        if leaving == 0:
            self._put(tuples)
            return self._bits[:0]
        old = min(leaving, self._size)
        gone = self.tuples[:old]
        self._start = (self._start + old) % self.capacity
        self._size -= old
        if leaving > old:
            gone = np.concatenate([gone, tuples[: leaving - old]])
        self._put(tuples[leaving - old :])
        return gone

    def clear(self) -> None:
        """Remove all tuples from the window."""
        self._start = self._size = 0

    @property
    def tuples(self) -> Bits:
        """All tuples in the window, oldest first (a copy)."""
        places = (self._start + np.arange(self._size)) % self.capacity
        return self._bits[places]

    def newest(self, count: int) -> Bits:
        """Return the last `count` tuples, or all if there are fewer, oldest first (a copy)."""
        count = min(count, self._size)
        places = (self._start + self._size - count + np.arange(count)) % self.capacity
        return self._bits[places]

    @property
    def unordered(self) -> Bits:
        """All tuples in the window in any order; a view if possible, for statistics that do not depend on the age."""
        return self._bits[: self._size] if self._start == 0 or self._size == self.capacity else self.tuples

    def _put(self, tuples: Bits) -> None:
        places = (self._start + self._size + np.arange(len(tuples))) % self.capacity
        self._bits[places] = tuples
        self._size += len(tuples)

    def snapshot(self) -> str:
        """Return the tuples as text, eight bits per byte."""
        return np.packbits(self.tuples, axis=None).tobytes().hex()

    def restore(self, text: str) -> None:
        """Replace the content with an earlier snapshot of a window of the same width."""
        width = self._bits.shape[1]
        flat = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8)).astype(bool)
        rows = flat[: len(flat) // width * width].reshape(-1, width)
        self.clear()
        # Padding of the last byte can look like tuples; a profile tuple has at least one bit set, padding has none.
        self.insert(rows[rows.any(axis=1)])
