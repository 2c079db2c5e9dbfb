"""The interval of micro-batches: the shortest with an allowed load, against a search; wrong shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg import PlanError
from thalweg.optimizer.trigger_interval import LEAST_S, check_busy, interval_of, intervals, shortest_interval


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
        else:
            assert found == pytest.approx(max(allowed[0], LEAST_S), rel=0.02, abs=2e-3)
            assert interval_of(found, fixed, per_row, rate, 0.0).load <= busy + 1e-2


def test_a_round_adds_to_the_rows_held() -> None:
    one = interval_of(2.0, fixed=0.5, per_row=1e-4, rate=1_000.0, held_s=10.0)
    assert one.rows == 2_000
    assert one.held == 12_000
    assert one.load == pytest.approx((0.5 + 0.2) / 2)
    assert one.latency == pytest.approx(2.7)


def test_intervals_around_the_chosen_one_are_compared() -> None:
    compared = intervals(0.7, 0.0, 1_000.0, 5.0, busy=0.7)
    assert [each.seconds for each in compared] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert [each.load for each in compared] == sorted((each.load for each in compared), reverse=True)
    assert not intervals(0.7, 1.0, 1_000.0, 5.0)


@pytest.mark.parametrize("busy", [0, 1, -0.5, 1.5, float("nan"), True, "0.5"])
def test_a_share_that_is_none_is_refused(busy: Any) -> None:
    with pytest.raises(PlanError, match=r"must be a share of the time above 0 and below 1, such as 0.7"):
        check_busy(busy, "auto")


def test_a_share_needs_the_automatic_trigger() -> None:
    check_busy(None, None)
    check_busy(0.5, "auto")
    with pytest.raises(PlanError, match=r"busy=0.5 is only for trigger='auto'; remove it, or set the trigger"):
        check_busy(0.5, "10 seconds")
