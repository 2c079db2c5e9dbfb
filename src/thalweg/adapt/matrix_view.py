"""The matrix view V over a profile window (a-greedy, section 4.2.1, figure 3).

V[i, j], for i <= j, is the number of profile tuples that the filter at position j drops among those that no filter
before position i drops. It is proportional to d(j|i-1). It is maintained incrementally: tuples that enter the window
are added, tuples that leave it are subtracted, all tuples of a batch in one matrix product.

Cost: O(n^2) per tuple, vectorized over the tuples.
Differs from the paper: not at all. The loops of figure 3 are one product, because a tuple whose first drop is at
position dc adds its bits to the rows 1..dc.

>>> view = MatrixView((2, 0, 1))
>>> view.add(np.array([[1, 0, 1], [0, 1, 0]], bool))
>>> view.V.tolist()
[[1, 1, 1], [0, 0, 1], [0, 0, 1]]

Reference: Babu et al., SIGMOD 2004, figure 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


class MatrixView:
    """The matrix V for an order; rows and columns are positions in that order."""

    __slots__ = ("V", "order")

    def __init__(self, order: Sequence[int]) -> None:
        self.order = list(order)
        self.V: NDArray[np.int64] = np.zeros((len(self.order), len(self.order)), dtype=np.int64)

    def add(self, tuples: Bits) -> None:
        """Add tuples that entered the window."""
        self.V += self._count(tuples)

    def subtract(self, tuples: Bits) -> None:
        """Subtract tuples that left the window."""
        self.V -= self._count(tuples)

    def recompute(self, tuples: Bits) -> None:
        """Compute V again from all tuples of the window."""
        self.V = self._count(tuples)

    def _count(self, tuples: Bits) -> NDArray[np.int64]:
        bits = tuples[:, self.order]
        # float64 counts are exact far beyond any window, and their product is compiled code
        drops = bits.astype(np.float64)
        reached = np.ones_like(drops)  # reached[t, i]: no filter before position i drops t
        reached[:, 1:] = ~np.logical_or.accumulate(bits[:, :-1], axis=1)
        counted: NDArray[np.int64] = np.rint(reached.T @ drops).astype(np.int64)
        return counted
