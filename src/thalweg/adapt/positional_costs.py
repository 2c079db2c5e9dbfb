"""Remembers what filters cost after which other filters.

A filter may cost more on rows that another filter would have dropped: a pattern on long texts, a parser on broken ones.
Its cost then depends on the filters before it. A single number per filter would move it forward, where it is expensive,
and back again, where it is cheap, over and over. The cost depends on the order only through the set of filters before
it, so costs are remembered by that set.

Answers: how much more an order costs than expected, as far as its filters have already run after the same filters.
Guarantee: a cost counts only if it was measured at least `LEAST_TIMES` times (once, if the filter is known to vary)
and is more than `UNLIKE` times the expected one. The smallest measurement is used, because a call may be interrupted.
It is valid until the number of rows seen has grown by the factor `LASTS`, or until the data moves.
Cost: one dictionary lookup per filter and update.

>>> costs = PositionalCosts()
>>> for _ in range(2):
...     costs.record((0, 1), [100, 100], [90_000, 1_000], 1_000)
>>> costs.extra_ns((0, 1), [1.0, 0.5], [10.0, 10.0], 1_500)  # 900 ns instead of 10 at the front
890.0
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_TIMES = 2
LEAST_TIMED_ROWS = 32
"""Fewer rows are not enough to measure the cost of a row."""
UNLIKE = 2.5
LEAST_NS = 300.0
"""A filter varies only if its costs also differ by at least this much per row: a long slice of such rows takes a few
milliseconds more."""
LASTS = 8
MOST = 4_096
"""Entries that are kept; if there are more, all are removed."""


class PositionalCosts:
    """Measured costs of one worker since its data last moved."""

    def __init__(self) -> None:
        self._costs: dict[tuple[int, int], tuple[float, int, int]] = {}  # ns per row, times, rows seen at the last time
        self._range: dict[int, tuple[float, float]] = {}  # the least and the most that was measured
        self.varying: set[int] = set()
        """Filters whose highest cost was more than `UNLIKE` times their lowest. Once is enough, because being careful
        costs little."""

    def clear(self) -> None:
        """Remove all costs, because the data has moved."""
        self._costs.clear()
        self._range.clear()

    def record(self, order: Sequence[int], evaluated: Sequence[int], busy_ns: Sequence[float], rows_seen: int) -> None:
        """Take measurements of an order. `busy_ns`: the time of each filter without the fixed cost of its calls."""
        before = 0
        if len(self._costs) > MOST:
            self._costs.clear()
        for k in order:
            if evaluated[k] >= LEAST_TIMED_ROWS:
                ns = max(busy_ns[k], 0.0) / evaluated[k]
                old, times, at = self._costs.get((before, k), (ns, 0, rows_seen))
                if rows_seen >= LASTS * at:
                    old, times = ns, 0
                self._costs[before, k] = min(ns, old), times + 1, rows_seen
                least, most = self._range.get(k, (ns, ns))
                self._range[k] = least, most = min(least, ns), max(most, ns)
                if most > UNLIKE * least + LEAST_NS:
                    self.varying.add(k)
            before |= 1 << k

    def extra_ns(self, order: Sequence[int], reach: Sequence[float], costs: Sequence[float], rows_seen: int) -> float:
        """Return how much more a row costs than `costs` says. `reach`: the share of rows that reaches each position."""
        extra, before = 0.0, 0
        for place, k in enumerate(order):
            ns, times, at = self._costs.get((before, k), (0.0, 0, 0))
            enough = 1 if k in self.varying else LEAST_TIMES
            if times >= enough and rows_seen < LASTS * at and ns > costs[k] * UNLIKE:
                extra += reach[place] * (ns - costs[k])
            before |= 1 << k
        return extra
