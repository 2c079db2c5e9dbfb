"""What is learned from the times that plans took: errors that all plans share cancel out, those of one plan do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.runtime.joins.plan_times import LIKELY, SETTLING, PlanTimes

LEVELS = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=20)


@examples(50, long=1_000)
@given(levels=LEVELS)
def test_plans_are_equal_as_long_as_only_one_has_run(levels: list[float]) -> None:
    times = PlanTimes()
    for level in levels:
        times.add("multiway", 100.0 * level, 100.0)
    assert times.factor("multiway") == times.factor("((a b) c)")
    assert min(levels) * 0.999 <= times.factor("multiway") <= max(levels) * 1.001


@examples(50, long=1_000)
@given(error=st.floats(0.05, 20.0), level=st.floats(0.1, 10.0))
def test_a_large_error_of_one_plan_is_learned(error: float, level: float) -> None:
    times = PlanTimes()
    for _ in range(10):
        times.add("multiway", 100.0 * level, 100.0)
    for _ in range(SETTLING):
        times.add("((a b) c)", 50.0 * level * error, 50.0)
    apart = times.factor("((a b) c)") / times.factor("multiway")
    if 1 / LIKELY <= error <= LIKELY:
        assert apart == pytest.approx(1.0)
    else:
        assert apart == pytest.approx(error / LIKELY if error > 1 else error * LIKELY)


def test_what_changes_for_all_plans_says_nothing_about_one() -> None:
    """The machine becomes three times as slow while a plan runs; the other plan is still thought to be as good."""
    times = PlanTimes()
    for slower in (1.0, 1.0, 1.0):
        times.add("multiway", 100.0 * slower, 100.0)
    for slower in (1.0, 1.0, 3.0, 3.0, 3.0, 3.0):
        times.add("((a b) c)", 80.0 * slower, 80.0)
    assert times.factor("multiway") == times.factor("((a b) c)")
    assert times.factor("multiway") == pytest.approx(3.0, rel=0.1)


def test_what_was_learned_survives_a_restart() -> None:
    times, again = PlanTimes(), PlanTimes()
    for plan, taken in (("multiway", 100.0), ("((a b) c)", 900.0), ("((a b) c)", 950.0), ("((a b) c)", 920.0)):
        times.add(plan, taken, 100.0)
    again.restore(json.loads(json.dumps(times.snapshot())))
    for each in (times, again):
        each.add("((a b) c)", 1000.0, 100.0)
    assert again.snapshot() == times.snapshot()
    assert again.factor("((a b) c)") > 2 * again.factor("multiway")
