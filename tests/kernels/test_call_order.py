"""The order of calls contains every route, and is nearly as short as the shortest one, found by brute force."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.kernels.fabric import Order, call_order


def contains(calls: Order, route: Order) -> bool:
    left = iter(calls)
    return all(k in left for k in route)


def shortest(routes: tuple[Order, ...]) -> int:
    @lru_cache(None)
    def from_here(at: tuple[int, ...]) -> int:
        heads = {route[i] for route, i in zip(routes, at, strict=True) if i < len(route)}
        after = [
            tuple(i + (i < len(route) and route[i] == k) for route, i in zip(routes, at, strict=True)) for k in heads
        ]  # fmt: skip
        return 1 + min(map(from_here, after)) if after else 0

    return from_here((0,) * len(routes))


@given(st.lists(st.permutations(range(6)).map(tuple), min_size=1, max_size=5).map(tuple))
def test_it_contains_every_route(routes: tuple[Order, ...]) -> None:
    calls = call_order(routes)
    assert all(contains(calls, route) for route in routes)
    assert len(calls) <= 6 * len(set(routes))


def test_equal_routes_share_all_calls() -> None:
    assert call_order(((2, 0, 1),) * 3) == (2, 0, 1)


@pytest.mark.parametrize(("routes", "calls"), [(2, 1.06), (3, 1.12), (4, 1.16)])
def test_it_is_nearly_the_shortest(routes: int, calls: float) -> None:
    rng = np.random.default_rng(7)
    drawn = [tuple(tuple(rng.permutation(6).tolist()) for _ in range(routes)) for _ in range(60)]
    assert sum(len(call_order(each)) for each in drawn) <= calls * sum(map(shortest, drawn))


def test_shifted_lists_need_as_few_calls_as_possible() -> None:
    shifted = tuple(tuple(np.roll(np.arange(8), -2 * shift).tolist()) for shift in range(4))
    assert len(call_order(shifted)) == shortest(shifted) == 14
