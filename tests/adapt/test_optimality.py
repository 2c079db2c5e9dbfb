"""Theorem 4.1 with alpha: on a stable stream, fully profiled, A-Greedy is within 4/alpha of the best order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import SLACK, violations
from tests.kernels.watched import Watched
from thalweg.adapt import Observation, ProfileSettings, Verdict, make_policy
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop


@st.composite
def stable_streams(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    """Up to six correlated filters with different costs, and a table of outcomes that is repeated."""
    n = draw(st.integers(1, 6))
    patterns = draw(st.lists(st.integers(0, 2**n - 1), min_size=1, max_size=6))
    table = draw(st.lists(st.sampled_from(patterns), min_size=1, max_size=30))
    drops = np.array([[pattern >> k & 1 for k in range(n)] for pattern in table], dtype=bool)
    return drops, draw(st.lists(st.sampled_from([1, 3, 10, 1000]), min_size=n, max_size=n))


def cost(order: tuple[int, ...], drops: np.ndarray, costs: list[int]) -> int:
    total = 0
    for row in drops:
        for k in order:
            total += costs[k]
            if row[k]:
                break
    return total


@settings(max_examples=150)
@given(stable_streams(), st.sampled_from([0.3, 0.5, 0.9, 1.0]), st.sampled_from([1, 5, 31]))
def test_a_greedy_is_within_four_over_alpha_of_the_best_order(
    stream: tuple[np.ndarray, list[int]], alpha: float, slice_rows: int
) -> None:
    drops, costs = stream
    n = drops.shape[1]
    pipeline = Pipeline(tuple(f"f{k}" for k in range(n)))
    watched = Watched(drops, pipeline, costs)
    # the window holds the dropped rows of the table exactly once
    window = max(1, int(drops.any(axis=1).sum()))
    policy = make_policy("a-greedy", pipeline, ProfileSettings(1.0, window, alpha), np.random.default_rng(1))
    update = policy.update

    def with_true_costs(seen: Observation) -> Verdict | None:
        """The theorem is about known costs, and a few calls of one size cannot show them."""
        return update(replace(seen, cost_ns=np.array(costs, dtype=np.float64)))

    policy.update = with_true_costs  # type: ignore[method-assign]
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=slice_rows)
    for _ in range(4):
        loop.process(watched.batch(range(len(drops))))
    best = min(cost(order, drops, costs) for order in itertools.permutations(range(n)))
    assert cost(loop.order, drops, costs) <= 4 / alpha * best * (1 + SLACK)
    # the reason why, which is the sharper claim: equation 4 holds for the true statistics
    assert violations(loop.order, drops.tolist(), costs, alpha, pipeline.guards, SLACK) == []
