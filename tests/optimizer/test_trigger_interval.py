"""The interval of micro-batches: the shortest with an allowed load, against a search; wrong shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg import PlanError
from thalweg.optimizer.trigger_interval import (
    LEAST_S,
    NEAR,
    check_busy,
    interval_of,
    interval_to_try,
    intervals,
    is_near_limit,
    shortest_interval,
)


def test_no_shorter_interval_has_an_allowed_load() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        fixed, per_row, rate = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-7, -4), 10 ** rng.uniform(1, 5)
        busy = rng.uniform(0.1, 0.95)
        found = shortest_interval(fixed, per_row, rate, busy)
        tried = np.geomspace(1e-3, 1e5, 4000)
        allowed = tried[(fixed + per_row * rate * tried) / tried <= busy]
        if found is None:
            assert not len(allowed)
        elif is_near_limit(per_row, rate, busy):
            assert per_row * rate < busy < interval_of(found, fixed, per_row, rate, 0.0).load
        else:
            assert found == pytest.approx(max(allowed[0], LEAST_S), rel=0.02, abs=2e-3)
            assert interval_of(found, fixed, per_row, rate, 0.0).load <= busy + 1e-2


def test_intervals_near_the_limit_are_not_much_longer() -> None:
    """Without an end they would be 700 days long just below the limit."""
    for share in (0.5, 0.68, 0.687, 0.69, 0.6999999, np.nextafter(0.7, 0)):
        found = shortest_interval(fixed=0.5, per_row=share / 20_000, rate=20_000, busy=0.7)
        assert found is not None
        load = interval_of(found, 0.5, share / 20_000, 20_000, 0.0).load
        assert is_near_limit(share / 20_000, 20_000, 0.7) == (share > 0.686)
        assert load <= 0.7 * (1 + NEAR) + 1e-3
        assert found <= 0.5 / (NEAR * 0.7) + 1e-3
        if share < 0.686:
            assert load == pytest.approx(0.7, abs=1e-3)
    assert shortest_interval(fixed=0.5, per_row=0.71 / 20_000, rate=20_000, busy=0.7) is None
    assert not is_near_limit(0.71 / 20_000, 20_000, 0.7)


def test_a_small_share_is_kept() -> None:
    """The end is relative to the share, so that a share of 0.1 % is possible."""
    found = shortest_interval(fixed=0.5, per_row=1e-9, rate=1_000, busy=0.001)
    assert found == pytest.approx(0.5 / (0.001 - 1e-6), rel=1e-3)


@pytest.mark.parametrize("true_per_row", [1e-6, 1e-5, 5e-5, 7e-5, 2e-4, 4e-4])
def test_trying_ends_with_the_interval_of_the_true_times(true_per_row: float) -> None:
    """With 4,000 rows, a row seems to take 70 µs more than it does. Each start tries micro-batches that are four times
    as long, until the time per row is known; rows come in too fast for the largest of these times."""
    fixed, rate, busy, mean = 0.3, 4_000.0, 0.25, 4_000.0
    starts, seems = 1, true_per_row + 7e-5
    while (tried := interval_to_try(fixed, seems, rate, mean, busy)) is not None:
        assert tried * rate == 4 * mean
        starts, mean, seems = starts + 1, tried * rate, true_per_row
    assert starts <= 3
    expected = shortest_interval(fixed, true_per_row, rate, busy)
    assert shortest_interval(fixed, seems, rate, busy) == expected
    assert (expected is None) == (true_per_row * rate >= busy)


def test_nothing_is_tried_if_an_interval_is_long_enough() -> None:
    assert interval_to_try(fixed=0.3, per_row=1e-5, rate=4_000, mean_rows=4_000, busy=0.25) is None


def test_a_round_adds_to_the_rows_held() -> None:
    one = interval_of(2.0, fixed=0.5, per_row=1e-4, rate=1_000.0, held_s=10.0)
    assert one.rows == 2_000
    assert one.held == 12_000
    assert one.load == pytest.approx((0.5 + 0.2) / 2)
    assert one.latency == pytest.approx(2.7)


def test_intervals_around_the_chosen_one_are_compared() -> None:
    compared = intervals(1.0, 0.7, 0.0, 1_000.0, 5.0)
    assert [each.seconds for each in compared] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert [each.load for each in compared] == sorted((each.load for each in compared), reverse=True)


@pytest.mark.parametrize("busy", [0, 1, -0.5, 1.5, float("nan"), True, "0.5"])
def test_a_share_that_is_none_is_refused(busy: Any) -> None:
    with pytest.raises(PlanError, match=r"must be a share of the time above 0 and below 1, such as 0.7"):
        check_busy(busy, "auto")


def test_a_share_needs_the_automatic_trigger() -> None:
    check_busy(None, None)
    check_busy(0.5, "auto")
    with pytest.raises(PlanError, match=r"busy=0.5 is only for trigger='auto'; remove it, or set the trigger"):
        check_busy(0.5, "10 seconds")
