"""The estimated cost per row and per call, from calls with given times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.stats import CallCost


def after(calls: list[tuple[int, float]], cost: CallCost | None = None) -> CallCost:
    cost = cost or CallCost()
    for rows, ns in calls:
        cost.record(rows, ns)
    return cost


def timed(sizes: list[int], per_row: float, fixed: float = 0.0, seed: int | None = None) -> list[tuple[int, float]]:
    """Record calls of these sizes; with a seed, each takes about 5 % more or less than it should."""
    noise = np.ones(len(sizes)) if seed is None else np.exp(np.random.default_rng(seed).normal(0, 0.05, len(sizes)))
    return [(rows, float(factor * (fixed + per_row * rows))) for rows, factor in zip(sizes, noise, strict=True)]


def test_nothing_is_known_before_a_call() -> None:
    cost = CallCost()
    assert not cost.known
    assert math.isnan(cost.per_row_ns)
    assert math.isnan(cost.error_ns)
    assert (cost.least_ns, cost.most_ns, cost.most_rows) == (0.0, math.inf, 0)


def test_one_call_shows_only_what_a_call_of_its_size_costs() -> None:
    cost = after([(100, 5e6)])
    assert cost.known
    assert cost.fixed_ns + 100 * cost.per_row_ns == pytest.approx(5e6)
    assert cost.most_ns == 50_000  # all of it by row
    assert cost.most_rows == 100


@pytest.mark.parametrize("rows", [4, 16, 1000])
def test_calls_of_one_size_do_not_separate_the_parts(rows: int) -> None:
    """At the rear of a chain calls are small, and their fixed part may be all of the time or nothing."""
    ns = 40_000 + 100 * rows
    cost = after([(rows, ns)] * 100)
    assert cost.fixed_ns + rows * cost.per_row_ns == pytest.approx(ns, rel=0.02)
    assert cost.most_ns == pytest.approx(ns / rows, rel=0.02)
    assert cost.least_ns <= 0.05 * ns / rows or cost.least_ns <= 100
    assert cost.error_ns >= 0.2 * ns / rows


@pytest.mark.parametrize("seed", [None, *range(5)])
@pytest.mark.parametrize(("per_row", "fixed"), [(100, 50_000), (2_000, 0), (60, 1_000_000), (10_000, 200_000)])
def test_calls_of_different_sizes_separate_the_two_parts(per_row: float, fixed: float, seed: int | None) -> None:
    sizes = np.random.default_rng(seed or 7).choice([16, 300, 1000, 4000, 16_000], 60).tolist()
    cost = after(timed(sizes, per_row, fixed, seed))
    noise = 0.05 if seed is None else 0.25
    # a part is known up to what calls vary by: of a call of sixteen thousand rows and a fixed part of a millionth not
    assert cost.per_row_ns == pytest.approx(per_row, rel=noise, abs=noise * fixed / 4000)
    assert cost.fixed_ns == pytest.approx(fixed, rel=noise, abs=noise * per_row * 300)
    assert cost.least_ns <= per_row * 1.1
    assert cost.most_ns >= per_row * 0.9


def test_one_large_call_separates_costs_of_rows_and_calls() -> None:
    """What a trial is for: a filter that saw four rows per call is called on a thousand."""
    small = timed([4] * 100, 100, 50_000)
    cost = after([*small, *timed([1000] * 2, 100, 50_000)])
    assert cost.per_row_ns == pytest.approx(100, rel=0.3)
    assert cost.fixed_ns == pytest.approx(50_000, rel=0.3)
    slow = after([*timed([4] * 100, 12_600), *timed([1000] * 2, 12_600)])
    assert slow.per_row_ns == pytest.approx(12_600, rel=0.05)


def test_tiny_calls_do_not_make_a_cheap_filter_look_expensive() -> None:
    """The same filter at the front (a thousand rows per call) and at the end (four rows, and now and then a sample)."""
    rng = np.random.default_rng(2)
    end = after(timed([64 if i % 10 == 9 else int(rng.integers(1, 8)) for i in range(200)], 100, 50_000))
    front = after(timed([1024] * 200, 100, 50_000))
    # time divided by rows would be about 12,000 ns at the end of the chain, and stay there
    assert end.per_row_ns == pytest.approx(100, rel=0.1)
    assert front.least_ns <= 100 <= front.most_ns <= 150


@pytest.mark.parametrize("sizes", [[1000], [1000, 300, 700, 64], [16_000, 4], [4, 4, 4, 16_000]])
@pytest.mark.parametrize("fixed", [0, 30_000])
@pytest.mark.parametrize("factor", [0.01, 0.1, 10, 100])
def test_a_sudden_change_is_followed_within_a_few_calls(factor: float, fixed: float, sizes: list[int]) -> None:
    cost = after(timed(sizes * 100, 500, fixed))
    after(timed(sizes * 4, 500 * factor, fixed), cost)
    rows = max(sizes)
    assert cost.fixed_ns + cost.per_row_ns * rows == pytest.approx(fixed + 500 * factor * rows, rel=0.1)
    after(timed(sizes * 10, 500 * factor, fixed), cost)
    for rows in sizes:
        assert cost.fixed_ns + cost.per_row_ns * rows == pytest.approx(fixed + 500 * factor * rows, rel=0.1, abs=3_000)


@pytest.mark.parametrize("sizes", [[1000], [1000, 300, 700, 64]])
@pytest.mark.parametrize("factor", [0.3, 0.5, 2, 3])
def test_a_smaller_change_is_followed_within_two_dozen_calls(factor: float, sizes: list[int]) -> None:
    cost = after(timed(sizes * 100, 500, 30_000))
    after(timed(sizes * (24 // len(sizes)), 500 * factor, 30_000), cost)
    assert cost.fixed_ns + 1000 * cost.per_row_ns == pytest.approx(30_000 + 500_000 * factor, rel=0.1)


@pytest.mark.parametrize("rows", [1000, 500, 10])
def test_a_descheduled_call_hardly_counts(rows: int) -> None:
    """A call that takes a thousand times as long as usual changes the estimate by about a half, and only for a
    while."""
    usual = timed([1000, 500, 10] * 20, 200, 20_000)
    cost = after([*usual, (rows, 200_000_000.0)])
    assert cost.per_row_ns <= 200 * 1.6
    assert cost.fixed_ns <= 20_000 * 1.6
    after(usual[:30], cost)
    assert cost.per_row_ns == pytest.approx(200, rel=0.05)
    assert cost.fixed_ns == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize("warming", [2, 30, 10_000])
def test_the_first_call_pays_for_warming_up_and_counts_little(warming: float) -> None:
    cost = after([(1000, warming * 200_000), *timed([1000] * 5, 200)])
    assert cost.fixed_ns + 1000 * cost.per_row_ns == pytest.approx(200_000, rel=0.2)
    assert cost.most_ns == pytest.approx(200, rel=0.2)


def test_a_cost_taken_over_outlasts_the_call_that_warms_up() -> None:
    cost = CallCost()
    cost.take_over(300.0, 5_000.0, 30.0)
    assert cost.known
    assert (cost.per_row_ns, cost.fixed_ns, cost.error_ns) == (300.0, 5_000.0, 30.0)
    assert cost.least_ns <= 300.0 <= cost.most_ns < math.inf
    cost.record(1000, 9e9)
    assert (cost.per_row_ns, cost.fixed_ns) == (300.0, 5_000.0)


@pytest.mark.parametrize("factor", [0.1, 0.5, 1, 2, 10])
def test_a_cost_taken_over_that_is_wrong_here_is_corrected(factor: float) -> None:
    cost = CallCost()
    cost.take_over(300.0, 5_000.0, 10.0)
    after(timed([1000, 100] * 20, 300 * factor, 5_000), cost)
    assert cost.per_row_ns == pytest.approx(300 * factor, rel=0.15)


def test_an_estimate_that_was_too_low_does_not_confirm_itself() -> None:
    """Two calls of different size that took equally long look like a predicate whose rows are free."""
    cost = after([(1000, 90_000), (1000, 90_000), (12, 89_000)])
    for _ in range(20):
        cost.record(10_000, 900_000)
    assert cost.fixed_ns + 10_000 * cost.per_row_ns == pytest.approx(900_000, rel=0.1)
    assert cost.least_ns <= 90 <= cost.most_ns * 1.02


def test_the_bounds_hold_the_true_cost_nearly_always() -> None:
    """Histories of calls that grow and shrink. The bounds are two standard errors, so one in twenty may be slightly
    outside."""
    outside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        per_row, fixed = np.exp(rng.uniform(np.log(60), np.log(60_000))), float(rng.choice([0, 3e4, 3e5]))
        sizes = rng.choice([4, 16, 64, 512, 2048], int(rng.integers(1, 40))).tolist()
        cost = after(timed(sizes, per_row, fixed, seed))
        outside += not 0.9 * cost.least_ns <= per_row <= 1.1 * cost.most_ns
    assert outside <= 20


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_clock_too_coarse_to_see_a_call_does_not_make_it_free(rows: int) -> None:
    cost = after([(rows, 0.0)] * 10)
    assert cost.per_row_ns > 0


calls = st.lists(st.tuples(st.integers(1, 16_384), st.floats(0, 1e10)), min_size=1, max_size=60)
taken_over = st.none() | st.tuples(st.floats(1e-3, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))


@given(calls, taken_over)
def test_it_is_never_negative_and_never_free(
    calls: list[tuple[int, float]], taken: tuple[float, float, float] | None
) -> None:
    cost = CallCost()
    if taken is not None:
        cost.take_over(*taken)
    for number, (rows, ns) in enumerate(calls):
        cost.record(rows, ns)
        assert cost.known
        assert 0 <= cost.fixed_ns < math.inf
        assert 0 < cost.least_ns <= cost.per_row_ns <= cost.most_ns < math.inf
        assert cost.error_ns >= 0
        if taken is None:
            assert cost.most_rows <= max(size for size, _ in calls[: number + 1])
