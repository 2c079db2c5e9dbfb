"""Profiling on a busy machine: the cost of a filter is the time of its thread, as in regular work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.adapt import ProfileSettings, make_policy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop


def test_an_interrupted_profile_call_counts_with_cpu_time() -> None:
    """Only profiling calls the second filter; a third of its calls are interrupted for ten milliseconds."""
    wall = cpu = calls = 0

    def none(x: pa.Array) -> np.ndarray:
        return np.zeros(len(x), dtype=bool)

    def rear(x: pa.Array) -> np.ndarray:
        nonlocal wall, cpu, calls
        calls += 1
        took = 100_000 + 1_000 * len(x)
        cpu += took
        wall += took + (10_000_000 if calls > 9 and calls % 3 == 0 else 0)
        return np.zeros(len(x), dtype=bool)

    plan = FilterPlan((tw.predicate(none, "x", vectorized=True), tw.predicate(rear, "x", vectorized=True)))
    policy = make_policy("a-greedy", plan.pipeline, ProfileSettings(p=0.2), np.random.default_rng(1))
    chain = FilterChain(plan, lambda: wall, cpu_clock=lambda: cpu)
    loop = FilterLoop(chain, policy, np.random.default_rng(1), slice_rows=256)
    for rows in (256, 64) * 60:
        loop.process(pa.record_batch({"x": np.arange(rows)}))
    assert loop.order == (0, 1)
    assert loop.work.chain.evaluated[1] == 0
    assert calls > 30
    cost = loop.costs[1]
    assert cost.fixed_ns + 32 * cost.per_row_ns == pytest.approx(132_000, rel=0.1)
