"""The order in which the operators of several routes are called, so that rows of different routes share calls.

Answers: a short sequence of operators that contains each route as a subsequence (a common supersequence).
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

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

Order = tuple[int, ...]
FAR = 1 << 30


@lru_cache(maxsize=256)
def call_order(routes: tuple[Order, ...]) -> Order:
    """Return a common supersequence of routes."""
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
