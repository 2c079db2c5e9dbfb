"""Rounds under a chart: what is looked up, observed and estimated, and how plans are judged."""

from __future__ import annotations

import math

import pytest

from thalweg.lab.om.rounds import Query, Values, at_random, follow, static
from thalweg.plan.joins.shape import Shape

LOW, HIGH = "low", "high"


def cost(plan: Shape, values: Values) -> float:
    """`low` costs as much as the value, and what is held, `high` what is missing from 10."""
    return (
        1.0 + (values["x"] if plan == LOW else max(10.0 - values["x"], 0.0)) + values.get("bias", 0.0) * (plan == LOW)
    )


QUERY = Query((LOW, HIGH), cost, ("x",))
BEFORE = [{"x": x} for x in (0.0, 10.0, *[2.0] * 10)]


def test_the_plan_of_a_round_comes_from_the_rounds_before() -> None:
    found = follow(QUERY, BEFORE, [{"x": x} for x in (2.0, 9.0, 9.0)], 10)
    weights = [math.exp(-0.2 * r) for r in range(10)]
    second = 2.0
    third = (9.0 + sum(2.0 * weight for weight in weights[1:])) / sum(weights)
    assert [each["x"] for each in found.estimates] == pytest.approx([2.0, second, third])
    assert found.plans == [LOW, LOW, LOW]
    assert found.chart.hits == [True, False, False]
    assert found.chart.regrets == pytest.approx([1.0, 10 / 2, 10 / 2])
    assert found.foreseen.hits == [True, True, True]


def test_moves_switches_and_rounds_outside() -> None:
    rounds = [{"x": x} for x in (2.0, *[30.0] * 10, *[2.0] * 12)]
    found = follow(QUERY, BEFORE, rounds, 2)
    assert found.plans[0] == found.plans[-1] == LOW
    assert HIGH in found.plans
    assert found.switches == found.moves == 2
    assert found.outside == sum(each["x"] > 10.0 for each in found.estimates) > 0


def test_a_region_has_the_plan_of_its_centroid() -> None:
    """With two parts of 0 to 6, the centroids are 1.5 and 4.5: the chart never has the plan that is better above 5."""
    before = [{"x": x} for x in (0.0, 6.0, *[5.5] * 30)]
    found = follow(QUERY, before, [{"x": 5.5}] * 3, 2)
    assert (found.chart.fidelity, found.anew.fidelity) == (0.0, 1.0)
    assert found.chart.regret == pytest.approx(6.5 / 5.5)
    assert follow(QUERY, before, [{"x": 5.5}] * 3, 12).chart.fidelity == 1.0


def test_a_chart_is_made_anew_when_a_held_value_differs() -> None:
    query = Query((LOW, HIGH), cost, ("x",), ("bias",))
    before = [{"x": x, "bias": 1.0} for x in (0.0, 10.0, *[2.0] * 10)]
    same = follow(query, before, [{"x": 2.0, "bias": 1.19}] * 5, 10)
    assert same.charts == 1
    other = follow(query, before, [{"x": 2.0, "bias": 20.0}] * 5, 10)
    assert other.charts > 1
    assert other.plans[0] == LOW
    assert other.plans[-1] == HIGH


def test_equal_costs_are_hits() -> None:
    assert follow(QUERY, BEFORE, [{"x": 5.0}], 10).chart.hits == [True]


def test_one_plan_that_stays_and_plans_at_random() -> None:
    rounds = [{"x": 9.0}] * 30 + [{"x": 1.0}] * 70
    stays = static(QUERY, BEFORE, rounds)
    assert stays.fidelity == 0.7
    assert stays.regret == pytest.approx((30 * 10 / 2 + 70) / 100)
    assert stays.total == pytest.approx((30 * 10 + 70 * 2) / (100 * 2))
    drawn = at_random(QUERY, rounds, draws=10)
    assert len(drawn.hits) == 1000
    assert 0.45 < drawn.fidelity < 0.55
    assert drawn.hits[:100] != drawn.hits[100:200]
