"""Picks rows, each with the same probability, at the price of the rows picked and not of those passed over.

>>> picker = RowPicker(np.random.default_rng(1))
>>> 9_500 < sum(len(picker.pick(1000, 0.01)) for _ in range(1000)) < 10_500  # of a million; 5 standard deviations
True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPARSE = 0.02
"""A probability below which drawing a number a row costs more than drawing the gaps."""


class RowPicker:
    """Remembers how many rows to skip until the next is picked."""

    __slots__ = ("_gap", "_p", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._p, self._gap = 0.0, 0

    def pick(self, rows: int, p: float) -> NDArray[np.int64]:
        """Each of so many rows with probability p. A small p skips: the gap to the next row picked is geometric."""
        if p >= SPARSE:
            return (self.rng.random(rows) < p).nonzero()[0]
        if p != self._p:
            self._p, self._gap = p, int(self.rng.geometric(p)) - 1
        picked = []
        while self._gap < rows:
            picked.append(self._gap)
            self._gap += int(self.rng.geometric(p))
        self._gap -= rows
        return np.array(picked, dtype=np.int64)
