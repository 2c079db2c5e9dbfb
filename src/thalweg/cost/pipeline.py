"""The cost of an order of pipelined filters, the greedy order, and the best one (a-greedy, sections 3 and 4).

Answers: the average cost of a row in an order (equation 1), the order that Static Greedy builds, and the best order.
Guarantee: the greedy order costs at most four times the best (theorem 4.1); `best_order` is exact.
Cost: O(rows * n) per order; O(rows * n^2) for the greedy order; O(rows + n 2^n) for the best one, and O(slices * n 2^n)
bit operations if calls have a fixed cost. The best order can be computed for up to about 16 filters.
Differs from the paper: a filter may have guards. It is then ranked together with those of its guards that have not been
placed yet; they come before it. The bound of theorem 4.1 is for filters without guards.

Outcomes are a table of bits with one row per tuple and one column per filter, True if the filter drops the tuple.

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

from thalweg.plan.filters.pipeline import Pipeline

Bits = NDArray[np.bool_]
SLICES_TOGETHER = 64
"""The number of slices whose outcomes are processed together: one bit per slice for every set of filters."""
BITS_SET = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)


def expected_cost(times: Sequence[float], drops: Sequence[float]) -> float:
    """Return the expected cost of an order (equation 1). `times[i]` is t of the filter at position i, `drops[i]` is
    d(i|i-1), its conditional drop rate.

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
    """Return the average cost of a tuple in an order, over the tuples of a table of outcomes."""
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
    """Return the order of Static Greedy: at each position the filter that drops most tuples per unit of time, of those
    that get there.

    `prior`: act as if this many more tuples got to every position, of which each filter drops the share that it drops
    of all tuples. If few tuples get to a position, filters are thus assumed to be independent there, and a cheap filter
    comes before an expensive one.

    >>> dropped = np.array([[1, 0, 0], [1, 1, 1]], bool)  # the first filter drops all tuples, so none reach the others
    >>> greedy_order(dropped, [1.0, 10.0, 1.0]), greedy_order(dropped, [1.0, 10.0, 1.0], prior=1.0)
    ((0, 1, 2), (0, 2, 1))
    """
    alive = np.ones(len(dropped)) if weights is None else np.array(weights, dtype=np.float64)
    drops = dropped.astype(np.float64)  # sums of columns are then one product
    of_all = prior * (alive @ drops) / max(float(alive.sum()), 1.0)
    order: list[int] = []
    while len(order) < dropped.shape[1]:
        here = alive @ drops + of_all
        left = [k for k in range(dropped.shape[1]) if k not in order]
        best: tuple[float, tuple[int, ...]] | None = None
        for k in left:
            chain = (k,) if pipeline is None else (*pipeline.missing(k, order), k)
            rate = float(here[k]) / times[k] if len(chain) == 1 else _rate(chain, alive, dropped, times)
            if best is None or rate > best[0]:
                best = rate, chain
        assert best is not None
        for k in best[1]:
            order.append(k)
            alive[dropped[:, k]] = 0.0
    return tuple(order)


def _rate(chain: Sequence[int], alive: NDArray[np.float64], dropped: Bits, times: Sequence[float]) -> float:
    """Return what a chain of filters drops per unit of time, one filter after the other. A guard that drops nothing is
    thus worth what the filters it guards drop."""
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
    fixed: Sequence[float] | None = None,
    starts: NDArray[np.int64] | None = None,
) -> tuple[tuple[int, ...], float]:
    """Return the cheapest order and its cost per tuple, exactly.

    `fixed`: the fixed cost of a call of each filter. The tuples then come in slices, the first tuple of each given by
    `starts`, and a filter is called once per slice unless the filters before it have dropped all tuples of the slice.

    >>> dropped = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], bool)
    >>> best_order(dropped, [1.0, 1.0], fixed=[9.0, 0.0], starts=np.array([0, 2]))  # filter 0 is called only once
    ((1, 0), 3.75)
    """
    n = dropped.shape[1]
    codes = dropped @ (1 << np.arange(n))
    alive = alive_after(codes, n, weights)
    steps = np.outer(times, alive)
    if fixed is not None:
        assert starts is not None, "a fixed cost is paid once per slice, so the starts of the slices are needed"
        steps += np.outer(fixed, calls_after(codes, n, starts))
    order, cost = cheapest_order(steps, pipeline.guards if pipeline is not None else ((),) * n)
    return order, cost / (float(alive[0]) or 1.0)


def alive_after(codes: NDArray[np.int64], n: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return for each set of filters the number of tuples that none of them drops. Bit k of a set says that filter k is
    in it; bit k of a tuple's code says that filter k drops the tuple.

    >>> alive_after(np.array([0b01, 0b01, 0b10, 0b00]), 2).tolist()
    [4.0, 2.0, 3.0, 1.0]
    """
    sums = np.bincount(codes, weights, minlength=1 << n).astype(np.float64)
    for k in range(n):  # afterwards sums[s] is over all codes within s
        halves = sums.reshape(-1, 2, 1 << k)
        halves[:, 1] += halves[:, 0]
    return sums[::-1].copy()  # the codes outside a set are those within its complement


def calls_after(codes: NDArray[np.int64], n: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each set of filters the number of slices with at least one tuple that none of them drops. `starts`:
    the first tuple of each slice.

    >>> calls_after(np.array([0b01, 0b01, 0b10, 0b00]), 2, np.array([0, 2])).tolist()
    [2, 1, 2, 1]
    """
    edges = np.append(starts, len(codes))
    counts = np.zeros(1 << n, dtype=np.int64)
    for first in range(0, len(starts), SLICES_TOGETHER):
        inner = edges[first : first + SLICES_TOGETHER + 1]
        present = np.zeros((SLICES_TOGETHER, 1 << n), dtype=bool)
        present[np.repeat(np.arange(len(inner) - 1), np.diff(inner)), codes[inner[0] : inner[-1]]] = True
        bits = np.packbits(present, axis=0)  # one bit per slice
        for k in range(n):
            halves = bits.reshape(len(bits), -1, 2, 1 << k)
            halves[:, :, 1] |= halves[:, :, 0]
        counts += BITS_SET[bits].sum(axis=0, dtype=np.int64)
    return counts[::-1].copy()


def cheapest_order(
    steps: NDArray[np.float64], guards: Sequence[Sequence[int]], worst: bool = False
) -> tuple[tuple[int, ...], float]:
    """Return the cheapest order and its cost, if filter k costs `steps[k, s]` after the set s of filters. Of equally
    cheap orders the first is returned. `worst`: return the most expensive order instead.

    The cost of running the remaining filters depends only on the set that has run, so it follows from the costs of the
    sets with one more filter.
    """
    n = len(steps)
    sets = np.arange(1 << n)
    needed = [sum(1 << g for g in guard) for guard in guards]
    size = np.zeros(1 << n, dtype=np.int64)
    for k in range(n):
        size += sets >> k & 1
    sign = -1.0 if worst else 1.0
    rest = np.zeros(1 << n)
    following = np.zeros(1 << n, dtype=np.int64)
    for count in range(n - 1, -1, -1):
        here = sets[size == count]
        least = np.full(len(here), np.inf)
        chosen = np.zeros(len(here), dtype=np.int64)
        for k in range(n):
            allowed = (here >> k & 1 == 0) & (here & needed[k] == needed[k])
            cost = np.where(allowed, sign * steps[k, here] + rest[here | 1 << k], np.inf)
            chosen[cost < least] = k
            least = np.minimum(least, cost)
        rest[here], following[here] = least, chosen
    order: list[int] = []
    done = 0
    for _ in range(n):
        order.append(int(following[done]))
        done |= 1 << order[-1]
    return tuple(order), sign * float(rest[0])
