"""The memory of joins: the rows that windows and kept sub-joins hold.

Answers: the rows that the window of a stream holds (`rows_held`), and those of a kept sub-join (`kept_rows`).
Guarantee: exact for regular arrivals, as long as no row is late and watermarks move in every round; for kept sub-joins
a lower bound, and `EXPIRED` times it an upper bound.
Cost: a few operations.

>>> rows_held(rate=100.0, window=60.0, lateness=5.0, round_length=10.0)
7500.0
>>> kept_rows([(7500.0, 1.0), (750.0, 0.5)], selectivity=0.001)  # half of the second stream's rows pass its filters
2812.5
"""

from __future__ import annotations

import math
from collections.abc import Iterable

EXPIRED = 2.0
"""By how many times the rows that a kept sub-join holds may exceed those that can still have partners. Its rows do not
end in the order in which they are made, and a store removes rows from its beginning until the others are as many
(`kernels/window_store.py`)."""
INDEX_BYTES_PER_ROW = 40
"""A row in a hash index: four words, and one for its bucket (`kernels/window_store.py`)."""


def rows_held(rate: float, window: float, lateness: float = 0.0, round_length: float = 0.0, copies: int = 1) -> float:
    """Return the rows that the window of a stream holds, before filters: those of the window, and those that stay until
    the watermark has passed them. `copies`: the number of buckets that hold the same rows, if they are replicated."""
    return rate * (window + lateness + round_length) * copies


def kept_rows(inputs: Iterable[tuple[float, float]], selectivity: float) -> float:
    """Return the rows of a kept sub-join that can still have partners; it holds at most `EXPIRED` times as many.
    `inputs`: for each of its streams, the rows in its window and the
    share of them that its filters keep. `selectivity`: the share of the combinations of rows that join."""
    return selectivity * math.prod(rows * kept for rows, kept in inputs)
