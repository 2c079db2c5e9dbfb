"""Slices, the time at which a verdict takes effect, and the state between batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.kernels.watched import Watched
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import ProfileSettings, make_policy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan, Pipeline
from thalweg.runtime.filters.filter_loop import MOST_SLICE_ROWS, SLICE_ROWS, FilterLoop, next_slice


@given(st.integers(0, 10_000), st.integers(1, 2000))
def test_slices_cover_the_rows_and_differ_by_one_at_most(rows: int, slice_rows: int) -> None:
    slices, left = [], rows
    while left:
        slices.append(next_slice(left, slice_rows))
        left -= slices[-1]
    lengths = set(slices)
    assert all(0 < length <= slice_rows for length in lengths)
    assert len(lengths) <= 2
    assert max(lengths, default=0) - min(lengths, default=0) <= 1
    assert len(slices) == -(-rows // slice_rows)


def test_slices_grow_until_the_order_changes() -> None:
    pipeline = Pipeline(("a", "b"))
    calm = np.tile([True, False], (400_000, 1))
    watched = Watched(np.concatenate([calm, ~calm[:100_000]]), pipeline, vectorized=True)
    policy = make_policy("a-greedy", pipeline, ProfileSettings(profile_window=50), np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1))
    assert loop.slice_rows == SLICE_ROWS
    loop.process(watched.batch(range(400_000)))
    assert (loop.slice_rows, loop.order) == (MOST_SLICE_ROWS, (0, 1))
    sizes = [len(call.rows) for call in watched.calls if call.work]
    assert sizes[0] <= SLICE_ROWS < max(sizes) <= MOST_SLICE_ROWS
    for start in range(400_000, 500_000, 10_000):
        before = loop.slice_rows
        loop.process(watched.batch(range(start, start + 10_000)))
        if loop.order == (1, 0):
            break
    assert loop.order == (1, 0)
    assert loop.slice_rows <= before // 2


@given(st.integers(0, 2**32), st.sampled_from([1, 5, 64]), st.sampled_from([0.0, 0.5]))
def test_a_verdict_takes_effect_at_the_next_slice(seed: int, slice_rows: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    pipeline = Pipeline(("a", "b", "c"))
    watched = Watched(rng.random((300, 3)) < 0.4, pipeline)
    policy = Scripted(pipeline, seed, p, restless=0.4)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=slice_rows)
    start = loop.order
    loop.process(watched.batch(range(200)))
    loop.process(watched.batch(range(200, 300)))
    expected, switches, seen = start, list(loop.work.switches), 0
    for rows, order in watched.passes:
        while switches and switches[0].at <= seen:
            assert switches[0].before == expected
            expected = switches.pop(0).after
        assert order == expected
        seen += len(rows)
    assert all(switch.at == 300 for switch in switches)  # after the last slice


def test_an_empty_batch_is_nothing() -> None:
    watched = Watched([[False]])
    policy = make_policy("a-greedy", watched.pipeline, ProfileSettings(), np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1))
    assert loop.process(watched.batch([])).tolist() == []
    assert watched.calls == []


def test_what_was_learned_outlives_a_batch_and_travels() -> None:
    pipeline = Pipeline(("a", "b"))
    watched = Watched([[False, True]] * 100, pipeline)

    def fresh() -> FilterLoop[pa.RecordBatch]:
        policy = make_policy("a-greedy", pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
        return FilterLoop(watched.chain, policy, np.random.default_rng(1))

    loop = fresh()
    loop.process(watched.batch(range(50)))
    assert loop.order == (1, 0)
    loop.process(watched.batch(range(50, 100)))
    assert watched.passes[-1][1] == (1, 0)
    other = fresh()
    other.restore(loop.snapshot())
    assert other.order == (1, 0)


def test_rows_waiting_at_a_restore_are_not_read_in_the_new_order() -> None:
    pipeline = Pipeline(("x", "guard", "guarded"), guards=((), (), (1,)))
    # eight rows that the guard drops; eight sampled rows are looked at together
    watched = Watched([[False, True, False]] * 16, pipeline)
    policy = make_policy("a-greedy", pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1))
    loop.process(watched.batch(range(4)))
    learned = {**loop.snapshot(), "order": [1, 0, 2]}
    loop.restore(learned)
    loop.process(watched.batch(range(4, 16)))
    assert [call for call in watched.calls if call.filter == 2] == []
    pairs = [(call.filter, row) for call in watched.calls for row in call.rows]
    assert len(pairs) == len(set(pairs))


def test_sampled_rows_wait_across_batches_with_their_own_values() -> None:
    saw: list[str] = []

    def look(s: str) -> bool:
        saw.append(s)
        return True

    plan = FilterPlan(
        (
            tw.predicate(lambda x: x > 100, "x", name="large"),
            tw.predicate(look, "s"),
        )
    )
    policy = make_policy("a-greedy", plan.pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
    loop = FilterLoop(FilterChain(plan, lambda: 0), policy, np.random.default_rng(1))
    for start in (0, 3, 6):
        loop.process(pa.RecordBatch.from_pydict({"x": [1, 2, 3], "s": [f"{start + i}" for i in range(3)]}))
    assert saw == [f"{i}" for i in range(9)]


@pytest.mark.parametrize("slices", [3, 40])
def test_an_expensive_filter_moves_after_an_equal_cheap_one(slices: int) -> None:
    """Costs come from the clock: the filters drop equally many rows, and one costs a hundred times as much."""
    pipeline = Pipeline(("expensive", "cheap"))
    rng = np.random.default_rng(2)
    watched = Watched(rng.random((slices * 100, 2)) < 0.5, pipeline, costs_ns=[1000, 10])
    policy = make_policy("a-greedy", pipeline, ProfileSettings(p=0.5), rng)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=100)
    loop.process(watched.batch(range(slices * 100)))
    assert loop.order == (1, 0)
    for cost, true in zip(loop.costs, (1000, 10), strict=True):
        assert cost.least_ns <= true <= cost.most_ns * 1.001


def test_times_are_not_negative_when_a_predicate_fails_half_way() -> None:
    pipeline = Pipeline(("a", "b"))
    watched = Watched([[True, True]] * 640, pipeline, costs_ns=[1, 100])
    policy = make_policy("a-greedy", pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=64)
    with pytest.raises(tw.PredicateError):
        loop.process(watched.batch([*range(600), 10**6]))  # no such row in the table
    work = loop.take_work()
    assert work.times.profiling_ns > 0
    assert work.times.total_ns - work.times.profiling_ns - work.times.reoptimizing_ns >= 0


def test_a_call_that_raised_in_profiling_has_no_cost() -> None:
    """Otherwise a filter that fails at once on rows others drop would look free, move to the front, and fail the query.
    Batches of two sizes, so that the cost per row can be distinguished from that of a call."""
    now = 0

    def even(x: int) -> bool:
        nonlocal now
        now += 16_000
        return x % 2 == 0

    def parses(s: str) -> bool:
        nonlocal now
        int(s)
        now += 1_024_000
        return True

    plan = FilterPlan((tw.predicate(even, "x"), tw.predicate(parses, "s")))
    policy = make_policy("a-greedy", plan.pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
    loop = FilterLoop(FilterChain(plan, lambda: now), policy, np.random.default_rng(1), slice_rows=16)
    for rows in (16, 4) * 10:  # odd rows hold what cannot be parsed, and are dropped before anybody tries
        loop.process(pa.RecordBatch.from_pydict({"x": range(rows), "s": ["7", "?"] * (rows // 2)}))
    assert loop.work.calls.profile_errors[1] == 10 * 8 + 10 * 2
    assert loop.cost_ns() == pytest.approx([16_000, 1_024_000], rel=0.02)


@pytest.mark.parametrize("restored", [False, True])
def test_a_good_order_is_not_left_because_little_is_known_yet(restored: bool) -> None:
    """A cheap filter before expensive ones; in the first slices only it has been called on many rows."""
    pipeline = Pipeline(("cheap", "slow", "slower", "slowest"))
    left = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drops = rng.random((3_000, 4)) < [0.5, 0.8, 0.8, 0.8]
        watched = Watched(drops.tolist(), pipeline, costs_ns=[250, 5_000, 5_000, 5_000], vectorized=True)
        policy = make_policy("a-greedy", pipeline, ProfileSettings(), np.random.default_rng(seed))
        loop = FilterLoop(watched.chain, policy, np.random.default_rng(seed))
        if restored:
            loop.restore({**loop.snapshot(), "cost_ns": [250.0, 5_000.0, None, None]})
        loop.process(watched.batch(range(3_000)))
        left += loop.order[0] != 0
    assert left <= 1
