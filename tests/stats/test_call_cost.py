"""What one more row costs, from calls timed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.stats import CallCost


def after(calls: list[tuple[int, float]]) -> CallCost:
    cost = CallCost()
    for rows, ns in calls:
        cost.record(rows, ns)
    return cost


def test_nothing_is_known_before_a_call():
    cost = CallCost()
    assert not cost.known
    assert math.isnan(cost.per_row_ns)


def test_nothing_is_known_before_the_first_call_and_something_after_it():
    assert not CallCost().known
    assert after([(100, 5e6)]).per_row_ns == 50_000


def test_a_cost_taken_over_outlasts_the_call_that_warms_up_and_no_longer():
    cost = CallCost()
    cost.take_over(300.0)
    assert cost.known
    cost.record(1000, 9e9)
    assert cost.per_row_ns == 300.0
    for _ in range(3):
        cost.record(1000, 200_000)
    assert cost.per_row_ns == pytest.approx(200)


@pytest.mark.parametrize("factor", [10, 100])
def test_a_predicate_that_gets_dearer_is_followed(factor: int):
    cost = after([(1000, 200_000)] * 200)
    for _ in range(200):
        cost.record(1000, factor * 200_000)
    assert cost.per_row_ns == pytest.approx(factor * 200, rel=0.1)


def test_the_first_call_does_not_count():
    cost = after([(1000, 9e9)] + [(1000, 200_000)] * 3)
    assert cost.per_row_ns == pytest.approx(200)


@pytest.mark.parametrize("ns", [1, 2, 64, 1024])
@pytest.mark.parametrize("sizes", [[1] * 50, [1, 7, 1000, 3, 3, 64, 1024] * 9])
def test_a_cost_without_a_fixed_part_is_found_exactly(ns: int, sizes: list[int]):
    assert after([(rows, ns * rows) for rows in sizes]).per_row_ns == ns


def test_the_fixed_part_of_a_call_is_told_apart():
    # a vectorised filter: 50 us a call, 100 ns a row
    sizes = np.random.default_rng(1).integers(1, 1025, 200)
    cost = after([(int(rows), 50_000 + 100 * int(rows)) for rows in sizes])
    assert cost.per_row_ns == pytest.approx(100, rel=0.05)
    assert cost.fixed_ns == pytest.approx(50_000, rel=0.1)


def test_tiny_calls_do_not_make_a_cheap_filter_look_dear():
    """The same filter at the front (a thousand rows a call) and at the end (four rows, and now and then a sample)."""
    rng = np.random.default_rng(2)

    def timed(rows: int) -> tuple[int, float]:
        return rows, 50_000 + 100 * rows

    front = after([timed(1024) for _ in range(200)])
    end = after([timed(64 if i % 10 == 9 else int(rng.integers(1, 8))) for i in range(200)])
    slower = after([(1024, 50_000 + 400 * 1024) for _ in range(200)])
    # by time over rows the end would be at some 12,000 ns and stay there
    assert end.per_row_ns < 2 * front.per_row_ns
    assert end.per_row_ns < slower.per_row_ns


def test_a_descheduled_call_hardly_counts():
    usual = [(1000, 200_000.0), (500, 100_000.0)] * 20
    cost = after([*usual, (1000, 200_000_000.0)])
    assert cost.per_row_ns == pytest.approx(200, rel=0.15)
    calm = after([*usual, (1000, 200_000_000.0), *usual])
    assert calm.per_row_ns == pytest.approx(200, rel=0.05)


def test_a_descheduled_small_call_does_not_hide_what_the_others_told_apart():
    usual = [(1000, 150_000.0), (10, 51_000.0), (300, 80_000.0)] * 20
    assert after(usual).per_row_ns == pytest.approx(100, rel=0.05)
    cost = after([*usual, (10, 200_000_000.0), *usual[:9]])
    assert cost.per_row_ns == pytest.approx(100, rel=0.25)


def test_calls_of_nearly_one_size_are_not_extrapolated():
    """Where sizes hardly differ their times say nothing of the fixed part: the answer is time per row."""
    rng = np.random.default_rng(3)
    cost = after([(int(rng.integers(1000, 1010)), 200_000 * rng.uniform(0.95, 1.2)) for _ in range(200)])
    assert cost.per_row_ns == pytest.approx(200, rel=0.1)


def test_in_doubt_a_filter_is_held_to_be_dear():
    """Small calls with delays as long as the rows take: hardly one history in twenty comes out clearly too cheap."""
    too_cheap = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, 64, 40)
        times = 20_000 + 100 * sizes + rng.exponential(10_000, 40)
        cost = after([(int(rows), float(ns)) for rows, ns in zip(sizes, times, strict=True)])
        too_cheap += cost.per_row_ns < 85
    assert too_cheap <= 10


@pytest.mark.parametrize("factor", [0.1, 0.5, 3, 20])
def test_a_cost_that_changes_is_followed(factor: float):
    sizes = [1000, 300, 700, 64] * 150
    cost = after([(rows, 200.0 * rows) for rows in sizes])
    for rows in sizes:
        cost.record(rows, 200.0 * factor * rows)
    assert cost.per_row_ns == pytest.approx(200 * factor, rel=0.05)


def test_a_change_shows_before_a_hundred_calls():
    cost = after([(1000, 200_000.0)] * 300)
    for _ in range(100):
        cost.record(1000, 800_000.0)
    assert cost.per_row_ns > 500


def test_a_clock_too_coarse_to_see_a_call_does_not_make_it_free():
    cost = after([(1000, 0.0)] * 10)
    assert cost.per_row_ns > 0


calls = st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 1e10)), min_size=2, max_size=60)


@given(calls)
def test_it_is_positive_and_never_above_the_best_call_it_remembers(calls: list[tuple[int, float]]):
    cost = after(calls)
    assert cost.known
    assert 0 < cost.per_row_ns < math.inf
    assert 0 <= cost.fixed_ns < math.inf
    # the latest call is remembered in full, however long it took
    rows, ns = calls[-1]
    assert cost.per_row_ns <= max(ns, 1.0) / rows * (1 + 1e-9)


def test_an_estimate_that_was_too_low_does_not_confirm_itself():
    """Two calls of unlike size that took equally long look like a predicate whose rows are free."""
    cost = after([(1000, 90_000), (1000, 90_000), (12, 89_000)])
    for _ in range(20):
        cost.record(10_000, 900_000)
    assert cost.per_row_ns == pytest.approx(90, rel=0.15)
