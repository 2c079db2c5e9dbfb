"""The cost of an order of pipelined filters, the greedy order, and the best one (a-greedy, sections 3 and 4).

Answers: what a row costs on average under an order (equation 1); which order Static Greedy builds; which order is best.
Guarantee: the greedy order costs at most four times the best (theorem 4.1); `best_order` is exact.
Cost: O(rows * n) an order; O(rows * n^2) for the greedy one; O(rows + 4^n) for the best: up to about a dozen filters.
Differs from the paper: a filter may have guards; then a position is filled from the filters whose guards stand before.

Outcomes are a table of bits, one row a tuple, one column a filter, True where the filter drops the tuple.

>>> dropped = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], bool)
>>> order_cost((0, 1), dropped, [1.0, 1.0])
1.5
>>> greedy_order(dropped, [10.0, 1.0])
(1, 0)
>>> best_order(dropped, [1.0, 1.0])
((0, 1), 1.5)

Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004,
definition 4.1, equation 1, theorem 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.plan.pipeline import Pipeline

Bits = NDArray[np.bool_]


def expected_cost(times: Sequence[float], drops: Sequence[float]) -> float:
    """Equation 1: `times[i]` is t of the filter at position i, `drops[i]` is d(i|i-1), its conditional drop rate.

    >>> expected_cost([1.0, 10.0], [0.5, 0.3])
    6.0
    """
    reach, cost = 1.0, 0.0
    for t, d in zip(times, drops, strict=True):
        cost += t * reach
        reach *= 1.0 - d
    return cost


def order_cost(
    order: Sequence[int], dropped: Bits, times: Sequence[float], weights: NDArray[np.float64] | None = None
) -> float:
    """What a tuple costs on average under `order`, over the tuples of a table of outcomes."""
    alive = np.ones(len(dropped)) if weights is None else np.array(weights, dtype=np.float64)
    total, cost = float(alive.sum()), 0.0
    for k in order:
        cost += times[k] * float(alive.sum())
        alive[dropped[:, k]] = 0.0
    return cost / total if total else 0.0


def greedy_order(
    dropped: Bits,
    times: Sequence[float],
    weights: NDArray[np.float64] | None = None,
    pipeline: Pipeline | None = None,
) -> tuple[int, ...]:
    """Static Greedy: at each position the filter that drops most per unit of time of what gets there."""
    alive = np.ones(len(dropped)) if weights is None else np.array(weights, dtype=np.float64)
    guards = pipeline.guards if pipeline is not None else ((),) * dropped.shape[1]
    drops = dropped.astype(np.float64)  # sums of columns are then one product
    order: list[int] = []
    left = list(range(dropped.shape[1]))
    while left:
        here = alive @ drops
        eligible = [k for k in left if all(g in order for g in guards[k])]
        best = max(eligible, key=lambda k: float(here[k]) / times[k])
        order.append(best)
        left.remove(best)
        alive[dropped[:, best]] = 0.0
    return tuple(order)


def best_order(
    dropped: Bits,
    times: Sequence[float],
    weights: NDArray[np.float64] | None = None,
    pipeline: Pipeline | None = None,
) -> tuple[tuple[int, ...], float]:
    """The cheapest order and its cost, exactly: what a filter costs depends only on the set of filters before it, so
    the best way to run each set is found from the best ways to run the sets smaller by one."""
    alive = np.ones(len(dropped)) if weights is None else np.asarray(weights, dtype=np.float64)
    guards = pipeline.guards if pipeline is not None else ((),) * dropped.shape[1]
    n = dropped.shape[1]
    codes = dropped @ (1 << np.arange(n))
    weight = np.bincount(codes, weights=alive, minlength=1 << n)
    total = float(alive.sum()) or 1.0
    sets = np.arange(1 << n)
    best: list[tuple[float, tuple[int, ...]] | None] = [None] * (1 << n)
    best[0] = (0.0, ())
    for done in range(1 << n):
        here = best[done]
        if here is None:
            continue
        reach = float(weight[(sets & done) == 0].sum()) / total
        for k in range(n):
            if done >> k & 1 or not all(done >> g & 1 for g in guards[k]):
                continue
            there = (here[0] + times[k] * reach, (*here[1], k))
            known = best[done | 1 << k]
            if known is None or there < known:
                best[done | 1 << k] = there
    cost, order = best[-1] or (0.0, ())
    return order, cost
