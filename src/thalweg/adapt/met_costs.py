"""What filters cost where they stood: after which others.

A filter may cost more on rows that another would have dropped: a pattern on long texts, a parser on broken ones. Its
cost then depends on what stands before it, and one number per filter would send it forward, where it is expensive, and
back, where it is cheap, over and over. What a filter costs depends on its order only through the set of filters before
it, so that is what is remembered.

Answers: how much more an order costs than is expected, as far as its filters have stood after the same others before.
Guarantee: only what was met `LEAST_TIMES` times and exceeds the expectation by more than `UNLIKE` counts; of what was
met the least, since a call may be interrupted; until `LASTS` times as many rows have been seen, and while the data does
not move.
Cost: a look into a dictionary per filter and update.

>>> met = MetCosts()
>>> for _ in range(2):
...     met.record((0, 1), [100, 100], [90_000, 1_000], 1_000)
>>> met.extra_ns((0, 1), [1.0, 0.5], [10.0, 10.0], 1_500)  # 900 ns instead of 10 at the front
890.0
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_TIMES = 2
LEAST_ROWS = 32
"""Fewer rows say little about what a row costs."""
UNLIKE = 2.5
LASTS = 4
MOST = 4_096
"""Places remembered; then all are forgotten."""


class MetCosts:
    """For one worker, since its data last moved."""

    def __init__(self) -> None:
        self._met: dict[tuple[int, int], tuple[float, int, int]] = {}  # ns per row, times, rows seen at the last time

    def clear(self) -> None:
        """The data has moved."""
        self._met.clear()

    def record(self, order: Sequence[int], evaluated: Sequence[int], busy_ns: Sequence[float], rows_seen: int) -> None:
        """An order was in force. `busy_ns`: the time of each filter without the fixed cost of its calls."""
        before = 0
        if len(self._met) > MOST:
            self._met.clear()
        for k in order:
            if evaluated[k] >= LEAST_ROWS:
                ns = max(busy_ns[k], 0.0) / evaluated[k]
                old, times, at = self._met.get((before, k), (ns, 0, rows_seen))
                if rows_seen >= LASTS * at:
                    old, times = ns, 0
                self._met[before, k] = min(ns, old), times + 1, rows_seen
            before |= 1 << k

    def extra_ns(self, order: Sequence[int], reach: Sequence[float], costs: Sequence[float], rows_seen: int) -> float:
        """What a row costs more than by these costs, where this share of the rows gets to each position."""
        extra, before = 0.0, 0
        for place, k in enumerate(order):
            ns, times, at = self._met.get((before, k), (0.0, 0, 0))
            if times >= LEAST_TIMES and rows_seen < LASTS * at and ns > costs[k] * UNLIKE:
                extra += reach[place] * (ns - costs[k])
            before |= 1 << k
        return extra
