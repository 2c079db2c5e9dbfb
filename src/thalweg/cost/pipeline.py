"""The cost of an order of pipelined filters, the greedy order, and the best one (a-greedy, sections 3 and 4).

Answers: what a row costs on average under an order (equation 1); which order Static Greedy builds; which order is best.
Guarantee: the greedy order costs at most four times the best (theorem 4.1); `best_order` is exact.
Cost: O(rows * n) an order; O(rows * n^2) for the greedy one; O(rows + 4^n) for the best: up to about a dozen filters.
Differs from the paper: a filter may have guards; it is then ranked together with those that do not stand yet, which
come before it. The bound of theorem 4.1 is for filters without guards.

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
    prior: float = 0.0,
) -> tuple[int, ...]:
    """Static Greedy: at each position the filter that drops most per unit of time of what gets there.

    `prior`: as if that many tuples more got to every position, of which each filter drops what it drops of all. Where
    few tuples get to, what is not known is then taken to be independent: a cheap filter comes before a dear one.

    >>> dropped = np.array([[1, 0, 0], [1, 1, 1]], bool)  # the first filter drops all: of the others nothing is seen
    >>> greedy_order(dropped, [1.0, 10.0, 1.0]), greedy_order(dropped, [1.0, 10.0, 1.0], prior=1.0)
    ((0, 1, 2), (0, 2, 1))
    """
    alive = np.ones(len(dropped)) if weights is None else np.array(weights, dtype=np.float64)
    guards = pipeline.guards if pipeline is not None else ((),) * dropped.shape[1]
    drops = dropped.astype(np.float64)  # sums of columns are then one product
    of_all = prior * (alive @ drops) / max(float(alive.sum()), 1.0)
    order: list[int] = []
    while len(order) < dropped.shape[1]:
        here = alive @ drops + of_all
        left = [k for k in range(dropped.shape[1]) if k not in order]
        best: tuple[float, tuple[int, ...]] | None = None
        for k in left:
            chain = (*_missing(k, guards, order), k)
            rate = float(here[k]) / times[k] if len(chain) == 1 else _rate(chain, alive, dropped, times)
            if best is None or rate > best[0]:
                best = rate, chain
        assert best is not None
        for k in best[1]:
            order.append(k)
            alive[dropped[:, k]] = 0.0
    return tuple(order)


def _missing(k: int, guards: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """The guards of a filter that do not stand yet, each behind its own."""
    found: list[int] = []
    for guard in guards[k]:
        if guard not in order:
            found += [g for g in (*_missing(guard, guards, order), guard) if g not in found]
    return found


def _rate(chain: Sequence[int], alive: NDArray[np.float64], dropped: Bits, times: Sequence[float]) -> float:
    """What filters drop together per unit of time, one behind the other: a guard that drops nothing is worth what it
    lets through to those it guards."""
    left, cost = alive.copy(), 0.0
    total = float(alive.sum())
    for k in chain:
        cost += times[k] * float(left.sum())
        left[dropped[:, k]] = 0.0
    return (total - float(left.sum())) / (cost / total) if cost else 0.0


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
