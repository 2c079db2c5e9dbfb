"""The self-routing fabric: rows of one slice take different routes through the same operators.

Answers: which rows pass all operators, if each row follows the route of its class (`run_routes`).
How: operators are known by their index. A ruster is the row numbers of one route with the rest of the route, a stack of
operators; it waits at the operator on top. Rusters that wait for the same operator are one call. An operator that has
answered pops itself from their stacks, and they move on; a ruster with an empty stack is output. There is no central
router, and no state depends on a route. If the order of neighbors on a route is open (an uncertain route), a lottery
picks the next operator of each ruster.
Guarantee: the rows that pass, the rows that fail and what raised on them are those of any single order. Rows stay in
their order. Each row visits an operator at most once.
Cost: at most one call per route and operator, and less if rusters meet. Where no lottery decides, the order of the
calls is known beforehand (`call_order`). Otherwise, the operator for which most rusters wait is called first; if none
has more than another, the ruster that has just moved moves on, so that it meets those that wait. No row waits for a
later slice.
Differs from the paper: the output is not an operator with index 0, because the rows that are left are the output. A
route of fewer rows than its minimum takes the default route, where the paper waits for more rows.

Reference: Nehme et al. 2013, sections 5.1, 5.2 and 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.chain import Chain
from thalweg.kernels.filter_chain import Call, RoutedCounts, SliceCounts, SliceResult
from thalweg.kernels.lottery import Lottery

RowNumbers = NDArray[np.int64]
RouteNumbers = NDArray[np.integer[Any]]
Routes = Sequence[Sequence[int]]
Order = tuple[int, ...]

FAR = 1 << 30


@dataclass(slots=True)
class Ruster:
    """Rows of one route, and how many of its operators they have passed."""

    route: int
    rows: RowNumbers
    order: list[int]
    """The operators it has passed, and then those that are left. A lottery changes the order of these."""
    passed: int = 0


def run_routes(
    chain: Chain[Any], columns: Any, routes: Routes, route: RouteNumbers, lottery: Lottery | None = None,
    most_rows: int | None = None,
) -> SliceResult:  # fmt: skip
    """Run a slice through a chain, each row along its route.

    Parameters
    ----------
    chain
        The operators.
    columns
        The rows, as the chain reads them.
    routes
        Orders of all operators, which respect the guards.
    route
        By row the number of its route.
    lottery
        Decides for each ruster where the order of its route is open; None if it is nowhere.
    most_rows
        The most rows of a ruster; None: all rows of a route are one ruster.

    Returns
    -------
    SliceResult
        The result; `dropped_at` is the position in the row's own route, as the lottery has made it.
    """
    size, n = len(route), len(chain.pipeline)
    done = chain.begin(columns)
    dropped_at = np.zeros(size, dtype=np.int16)
    counts = np.bincount(route, minlength=len(routes))
    evaluated, passed = ([[0] * n for _ in routes] for _ in range(2))
    routed = RoutedCounts(route, counts, counts, counts, [], routes)  # what is counted replaces the first counts below
    decided = 0
    if lottery is not None:
        routed.place = np.full((size, n), n, np.int16)
        decided = lottery.decisions
    waiting: list[list[Ruster]] = [[] for _ in range(n)]
    for ruster in _rusters(route, counts, routes, most_rows):
        waiting[ruster.order[0] if lottery is None else _drawn(ruster, lottery)].append(ruster)
    planned = iter(call_order(tuple(map(tuple, routes)))) if lottery is None else None
    k = _next(waiting, None, planned)
    while k is not None:
        rusters, waiting[k] = waiting[k], []
        moved: int | None = None
        for ruster, true, unasked in _called(chain, k, columns, rusters, done, routed):
            count, left = len(ruster.rows), len(true)
            evaluated[ruster.route][k] += count - unasked
            passed[ruster.route][k] += left - unasked
            if routed.place is not None:
                routed.place[ruster.rows, k] = ruster.passed
            ruster.passed += 1
            if left < count:
                ruster.rows = ruster.rows[true]
            if left:
                dropped_at[ruster.rows] = ruster.passed
                if ruster.passed < n:
                    moved = ruster.order[ruster.passed] if lottery is None else _drawn(ruster, lottery)
                    waiting[moved].append(ruster)
        k = _next(waiting, moved, planned)
    routed.evaluated, routed.passed = np.array(evaluated), np.array(passed)
    routed.decisions = 0 if lottery is None else lottery.decisions - decided
    result = done.result((dropped_at == n).nonzero()[0], dropped_at)
    result.routed = routed
    return result


def large_enough(route: NDArray[np.int16], routes: int, least: int, default: int) -> NDArray[np.int16]:
    """Return the routes of rows, in which the rows of a route with fewer than `least` rows take the default route.

    >>> large_enough(np.array([0, 1, 1, 2], np.int16), 3, least=2, default=1).tolist()
    [1, 1, 1, 1]
    """
    counts = np.bincount(route, minlength=routes)
    small = (counts < least) & (counts > 0)
    small[default] = False
    if not small.any():
        return route
    return np.where(small, default, np.arange(routes)).astype(np.int16)[route]


def _rusters(
    route: RouteNumbers, counts: NDArray[np.int64], routes: Routes, most_rows: int | None
) -> list[Ruster]:  # fmt: skip
    taken = counts.nonzero()[0].tolist()
    if len(taken) == 1:
        whole = [Ruster(taken[0], np.arange(len(route)), list(routes[taken[0]]))]
    else:
        whole = [Ruster(r, (route == r).nonzero()[0], list(routes[r])) for r in taken]
    if most_rows is None:
        return whole
    return [
        Ruster(ruster.route, ruster.rows[begin : begin + most_rows], ruster.order.copy())
        for ruster in whole
        for begin in range(0, len(ruster.rows), most_rows)
    ]


def _drawn(ruster: Ruster, lottery: Lottery) -> int:
    """Return the next operator of a ruster, as the lottery decides."""
    lottery.draw(ruster.route, ruster.order, ruster.passed)
    return ruster.order[ruster.passed]


def _next(waiting: Sequence[Sequence[Ruster]], moved: int | None, planned: Iterator[int] | None) -> int | None:
    """Return the operator that is called next; None if no ruster waits.

    If calls are not planned, it is the operator for which most rusters wait; of equal ones that to which a ruster has
    just moved, or else the first."""
    if planned is not None:
        return next((k for k in planned if waiting[k]), None)
    best, most = moved, 0 if moved is None else len(waiting[moved])
    for k, rusters in enumerate(waiting):
        if len(rusters) > most:
            best, most = k, len(rusters)
    return best


def _called(
    chain: Chain[Any], k: int, columns: Any, rusters: Sequence[Ruster], done: SliceCounts, routed: RoutedCounts
) -> Iterator[tuple[Ruster, RowNumbers, int]]:
    """Call an operator on all rows that wait for it. Yield each ruster with the places of the rows that stay among its
    own, and how many were not evaluated because a guard is unknown."""
    if len(rusters) == 1:
        true = _call(chain, k, columns, rusters[0].rows, done, routed)
        yield rusters[0], true, 0 if done.skipped is None else int(done.skipped.sum())
        return
    true = _call(chain, k, columns, np.concatenate([ruster.rows for ruster in rusters]), done, routed)
    skipped = done.skipped
    ends = list(accumulate(len(ruster.rows) for ruster in rusters))
    begin = first = 0
    for ruster, end, last in zip(rusters, ends, true.searchsorted(ends).tolist(), strict=True):
        unasked = 0 if skipped is None else int(skipped[begin:end].sum())
        yield ruster, true[first:last] - begin, unasked
        begin, first = end, last


def _call(
    chain: Chain[Any], k: int, columns: Any, rows: RowNumbers, done: SliceCounts, routed: RoutedCounts
) -> RowNumbers:
    """Call an operator, and record the call."""
    evaluated, ns = done.evaluated[k], done.ns[k]
    cpu_ns = None if done.cpu_ns is None else done.cpu_ns[k]
    true = chain.step(k, columns, rows, len(rows), done)
    took = None if done.cpu_ns is None or cpu_ns is None else done.cpu_ns[k] - cpu_ns
    routed.calls.append(Call(k, done.evaluated[k] - evaluated, done.ns[k] - ns, took))
    return true


@lru_cache(maxsize=256)
def call_order(routes: tuple[Order, ...]) -> Order:
    """Return a sequence of operators that contains each route as a subsequence (a common supersequence). So rows of
    different routes share calls.

    How: the routes are walked together. The next call is the next operator of some route; of these, the one that the
    other routes need again last, because calling it now makes few of them miss it. If none differs, it is the one that
    most routes have next.
    Guarantee: contains every route. It is at most as long as all routes together, and not always the shortest: that is
    NP-hard for many routes.
    Cost: O(r^2 n^2) for r routes of n operators, once per mesh.

    >>> call_order(((0, 1, 2, 3), (2, 3, 0, 1)))
    (0, 1, 2, 3, 0, 1)
    >>> call_order(((0, 1, 2, 3), (3, 0, 1, 2)))
    (3, 0, 1, 2, 3)
    """
    left: list[Order] = list(dict.fromkeys(routes))
    calls: list[int] = []
    while left := [route for route in left if route]:
        k = max(dict.fromkeys(route[0] for route in left), key=lambda k: _urgency(k, left))
        calls.append(k)
        left = [route[1:] if route[0] == k else route for route in left]
    return tuple(calls)


def _urgency(k: int, left: Sequence[Order]) -> tuple[int, int]:
    """Return how far the nearest route is that needs an operator later, and how many routes have it next."""
    later = [route.index(k) for route in left if route[0] != k and k in route]
    return min(later, default=FAR), sum(route[0] == k for route in left)
