"""The costs of an order of filters of one stream at given pass shares and a rate, and the best order.

Answers
- `order_costs`: the CPU time per second of orders, and the rows that wait between filters.
- `best_order`: the order that is the best for an objective.
How: filters are independent, so the share of rows that reaches a filter is the product of the pass shares of those
before it. The rows of a round, rate × its length, are filtered in slices of at most `SLICE_ROWS` rows. A filter costs
its time per row for each row that reaches it, and its fixed time per call for each slice in which at least one row
does. With few rows per round a filter at the end is seldom called, so fixed times decide; with many rows, times per row
do. The rows that wait are those of OM: in the input buffer of each filter and in the queue after it, over a round.
Guarantee: up to `ALL_ORDERS` filters, no order that respects the guards is better. With more, filters are sorted by
time divided by the share that they drop, which is the best order for the least CPU time if calls have no fixed time and
there are no guards.
Cost: n! n operations on arrays up to `ALL_ORDERS` filters, some ten microseconds for up to four filters and about a
millisecond for seven; n² beyond.
Differs from the paper: OM has a time per row only, and its output rate does not depend on the order. Here it is the one
that workers can sustain, results per second of CPU time, as in `objective.balance`.

>>> two = FilterTimes(Pipeline(("cheap", "slow")), per_row_ns=(100.0, 900.0), fixed_ns=(20_000.0, 0.0))
>>> [two.pipeline.label(best_order(two, (0.5, 0.1), rate)) for rate in (10.0, 10_000.0)]
[['slow', 'cheap'], ['cheap', 'slow']]

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
4.1; Babu et al., SIGMOD 2004, equation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.objective import LEAST_CPU, Objective

Numbers = NDArray[np.float64]
ALL_ORDERS = 7
"""All orders are compared up to this many filters."""
SLICE_ROWS = 16_384
"""The largest slice of a batch that filters are called on."""
RATE = "rows_per_second"
"""The name of the arrival rate, which no filter may have."""
ROUND_S = 1.0
"""The length of a round in seconds, the paper's."""
LEAST_RATE = 1e-9
"""A rate below is taken as this, so that orders can be compared without rows too."""
LEAST_DROPPED = 1e-6
EQUAL = 1e-12
"""Orders that differ by at most this share are equally good: the difference is due to rounding."""


@dataclass(frozen=True)
class FilterTimes:
    """Filters, and what they cost."""

    pipeline: Pipeline
    per_row_ns: tuple[float, ...]
    fixed_ns: tuple[float, ...]
    """The fixed time of a call."""

    @property
    def orders(self) -> NDArray[np.intp]:
        """All orders that respect the guards, one per row; the written one is the first."""
        return _orders_of(self.pipeline)


@lru_cache(maxsize=32)
def _orders_of(pipeline: Pipeline) -> NDArray[np.intp]:
    found = np.array([order for order in permutations(pipeline.start) if pipeline.respects(order)], dtype=np.intp)
    found.flags.writeable = False  # it is used for other times of the same filters
    return found


class OrderCost(NamedTuple):
    """The costs of orders."""

    cpu_ns: Numbers
    """The CPU time per second."""
    queued_rows: Numbers
    """The rows in the input buffers of all filters and in the queues after them (OM's C_m)."""


def order_costs(
    times: FilterTimes, orders: NDArray[np.intp], passes: Sequence[float], rate: float, round_s: float = ROUND_S
) -> OrderCost:
    """Return the costs of orders, which are the rows of a matrix. `passes`: the share of rows that each filter passes.
    `rate`: rows per second."""
    rate = max(rate, LEAST_RATE)
    shares = np.array(passes, dtype=np.float64)[orders]
    left = np.cumprod(shares, axis=1)
    reach = np.ones_like(left)
    reach[:, 1:] = left[:, :-1]
    per_row, fixed = np.array(times.per_row_ns)[orders], np.array(times.fixed_ns)[orders]
    rows = min(max(rate * round_s, 1.0), float(SLICE_ROWS))
    called = 1.0 - (1.0 - reach) ** rows  # the probability that at least one row of a slice gets there
    cpu = (rate * reach * per_row + rate / rows * called * fixed).sum(axis=1)
    waiting = (rate * reach) ** 2 * round_s * per_row / 1e9 + rate * left * round_s
    return OrderCost(cpu, waiting.sum(axis=1))


def best_order(
    times: FilterTimes, passes: Sequence[float], rate: float, objective: Objective = LEAST_CPU,
    round_s: float = ROUND_S, most: int = ALL_ORDERS,
) -> tuple[int, ...]:  # fmt: skip
    """Return the best order; of equally good ones, the first in the order of permutations of the written one. `most`:
    the most filters whose orders are all compared."""
    if len(times.pipeline) > most:
        return _by_rank(times, passes, rate, round_s)
    cost = order_costs(times, times.orders, passes, rate, round_s)
    scores = score(cost, objective)
    first = int(np.argmax(scores <= scores.min() * (1.0 + EQUAL)))
    return tuple(times.orders[first].tolist())


def score(cost: OrderCost, objective: Objective) -> Numbers:
    """Return the scores of orders for an objective; less is better. All orders return the same rows, so objectives in
    time are those of the least CPU time."""
    if objective.name == "least_memory":
        return cost.queued_rows
    if objective.name != "balance":
        return cost.cpu_ns
    rate, memory = objective.rate or 0.0, objective.memory or 0.0
    cpu, rows = (each / max(float(each.min()), 1e-300) for each in cost)
    balanced: Numbers = (rate * cpu + memory * rows) / (rate + memory)
    return balanced


def _by_rank(times: FilterTimes, passes: Sequence[float], rate: float, round_s: float) -> tuple[int, ...]:
    """Return the filters by time per row, with the fixed time of a call divided by the rows of a slice, over the share
    that they drop; each as early as its guards allow."""
    rows = min(max(rate * round_s, 1.0), float(SLICE_ROWS))
    ranks = [
        (per_row + fixed / rows) / max(1.0 - share, LEAST_DROPPED)
        for per_row, fixed, share in zip(times.per_row_ns, times.fixed_ns, passes, strict=True)
    ]
    placed: list[int] = []
    left = list(times.pipeline.start)
    while left:
        ready = [k for k in left if all(guard in placed for guard in times.pipeline.guards[k])]
        placed.append(min(ready, key=ranks.__getitem__))
        left.remove(placed[-1])
    return tuple(placed)
