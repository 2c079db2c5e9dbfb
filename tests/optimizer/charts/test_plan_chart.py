"""Charts of plans: each region has the plan that is chosen anew at its centroid; look-ups, ranges, storage and wrong
arguments."""

from __future__ import annotations

import base64
import itertools
import json
import math
import pickle
import random
import zlib
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.optimizer.joins.test_choose_plan import CHAIN, drawn_estimates, fan_out
from tests.optimizer.joins.test_search_plans import graphs
from thalweg import Estimate, PlanError, objective
from thalweg.cost.join_bytes import limited_bytes, plan_bytes
from thalweg.cost.join_work import work_ns
from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.optimizer.charts import plan_chart
from thalweg.optimizer.charts.plan_chart import best_plan, make_chart
from thalweg.optimizer.joins.choose_plan import choose_plan
from thalweg.optimizer.joins.estimates import JoinEstimates
from thalweg.optimizer.joins.point_scores import PointScores
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, as_shape, plan_text
from thalweg.plan.objective import LEAST_CPU, Objective

SEEDS = st.integers(0, 2**32)
OBJECTIVES = [LEAST_CPU, objective.least_memory(), objective.steady_rate(), objective.balance(rate=0.4, memory=0.6),
              objective.most_results(by=20)]  # fmt: skip


def at_rates(estimates: JoinEstimates, rates: dict[str, float]) -> JoinEstimates:
    """The same join with exact numbers, and these rates."""
    exact = {name: Estimate(each.value, "counted", 0.0) for name, each in estimates.quantities.items()}
    exact |= {("rate", alias): Estimate(rate, "counted", 0.0) for alias, rate in rates.items()}
    return replace(estimates, quantities=exact)


@examples(25, long=1_000)
@given(graph=graphs(3, 4), seed=SEEDS, wanted=st.sampled_from(OBJECTIVES), limited=st.booleans())
def test_each_region_has_the_plan_chosen_anew_at_its_centroid(
    graph: JoinGraph, seed: int, wanted: Objective, limited: bool
) -> None:
    r = random.Random(seed)
    estimates = drawn_estimates(graph, seed, spread=r.choice([0.0, 0.5]))
    sizes = [float(plan_bytes(graph.aliases, estimates.numbers(estimates.expected()))) * 1.5]
    limit = sizes[0] if limited else math.inf
    chart = make_chart(estimates, wanted, r.randint(2, 5), max_bytes=limit)
    for _ in range(5):
        region = tuple(r.randrange(each.parts) for each in chart.dimensions)
        there = at_rates(estimates, chart.centroid(region))
        choice = choose_plan(there, wanted, max_bytes=limit)
        plan, anew = chart.plan(region), choice.chosen
        if plan != anew.shape:  # then they are equally good
            own = next(each for each in choice.candidates if each.shape == plan)
            assert own.fits == anew.fits
            if choice.over_memory:
                assert own.bytes == pytest.approx(anew.bytes)
            elif wanted == LEAST_CPU:
                numbers = there.numbers(there.expected())
                assert float(work_ns(plan, numbers)) == pytest.approx(float(work_ns(anew.shape, numbers)))
            else:
                assert own.score == pytest.approx(anew.score, rel=2e-3)


@examples(25, long=1_000)
@given(graph=graphs(3, 5), seed=SEEDS, wanted=st.sampled_from(OBJECTIVES[:4]), limited=st.booleans())
def test_many_points_have_the_plans_that_each_has_alone(
    graph: JoinGraph, seed: int, wanted: Objective, limited: bool
) -> None:
    """Also if the best order of probes differs from point to point."""
    r = random.Random(seed)
    estimates = drawn_estimates(graph, seed)
    numbers = estimates.numbers(estimates.expected())
    limit = float(plan_bytes(graph.aliases, numbers)) * 1.5 if limited else math.inf
    points = [
        {alias: estimates.quantities["rate", alias].value * 10 ** r.uniform(-2, 2) for alias in estimates.streams}
        for _ in range(20)
    ]
    together = {alias: np.array([point[alias] for point in points]) for alias in estimates.streams}
    for point, plan in zip(points, plan_chart._best_plans(estimates, wanted, limit, together), strict=True):
        alone = best_plan(estimates, point, wanted, limit)
        if plan != alone:  # then they are equally good
            there = estimates.numbers(at_rates(estimates, point).expected())
            fit = [each for each in all_plans(graph)
                   if float(limited_bytes(each, there, estimates.streams)) <= limit]  # fmt: skip
            if not fit:
                assert float(plan_bytes(plan, there)) == pytest.approx(float(plan_bytes(alone, there)))
                continue
            scores = dict(zip(fit, PointScores(there).of(fit, wanted), strict=True))
            assert scores[plan] == pytest.approx(scores[alone])


def by_regions(dimensions: tuple[Dimension, ...]) -> PlanChart:
    """A chart whose plan says where it was chosen."""
    return PlanChart(dimensions, lambda rates: tuple(f"{alias}{rate:g}" for alias, rate in rates.items()))


def test_a_point_is_in_the_region_around_it() -> None:
    chart = by_regions((Dimension("a", 0, 100, 4), Dimension("b", 10, 20, 2)))
    assert chart.at({"a": 0.0, "b": 10.0}) == ((0, 0), ("a12.5", "b12.5"), False)
    assert chart.at({"a": 24.9, "b": 15.0}) == ((0, 1), ("a12.5", "b17.5"), False)
    assert chart.at({"a": 100.0, "b": 20.0}) == ((3, 1), ("a87.5", "b17.5"), False)


def test_a_point_outside_has_the_plan_of_the_nearest_region() -> None:
    chart = by_regions((Dimension("a", 0, 100, 4), Dimension("b", 10, 20, 2)))
    assert chart.at({"a": 1e9, "b": 15.0}) == ((3, 1), ("a87.5", "b17.5"), True)
    assert chart.at({"a": 50.0, "b": 0.0}) == ((2, 0), ("a62.5", "b12.5"), True)


def test_ranges_are_those_declared_or_a_factor_of_two() -> None:
    estimates = fan_out()
    estimates = estimates.with_quantity(("rate", "a"), Estimate.between(1_000, 9_000))
    of = {each.name: (each.low, each.high) for each in make_chart(estimates, k=2).dimensions}
    assert of["a"] == pytest.approx((1_000, 9_000), rel=1e-3)
    exact = estimates.with_quantity(("rate", "b"), Estimate(500.0, "counted", 0.0))
    of = {each.name: (each.low, each.high) for each in make_chart(exact, k=2, ranges={"c": (0, 7)}).dimensions}
    assert (of["b"], of["c"]) == ((250.0, 1000.0), (0.0, 7.0))


def test_a_large_chart_is_made_region_by_region(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, float]] = []

    def counted(estimates: JoinEstimates, rates: Any, **given: Any) -> Shape:
        asked.append(dict(rates))
        return best_plan(estimates, rates, **given)

    monkeypatch.setattr(plan_chart, "best_plan", counted)
    many = Mock(wraps=plan_chart._best_plans)
    monkeypatch.setattr(plan_chart, "_best_plans", many)
    chart = make_chart(fan_out(), k=40)
    assert chart.size == 64_000
    assert not asked
    point = {"a": 20e3, "b": 3e3, "c": 300.0}
    assert chart.at(point) == chart.at(point)
    assert (len(asked), many.call_count) == (1, 0)
    assert len(make_chart(fan_out(), k=3).plans) >= 1
    assert (len(asked), many.call_count) == (1, 1)


def test_a_chart_whose_plans_take_long_is_made_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join must not wait for 729 searches of plans of six streams before it starts."""
    one, many = Mock(), Mock(return_value=[("a", "b", "c")] * 1_000)
    monkeypatch.setattr(plan_chart, "best_plan", one)
    monkeypatch.setattr(plan_chart, "_best_plans", many)
    pairs = [(left, "k", right, "k") for left, right in itertools.pairwise("abcdef")]
    make_chart(drawn_estimates(JoinGraph.of(pairs), 0), k=3)
    make_chart(fan_out(), objective.most_results(by=20), k=10)
    assert not one.called
    assert not many.called
    make_chart(fan_out(), objective.balance(rate=1, memory=1), k=10)
    assert not one.called
    assert many.call_count == 1


def stored_plans(stored: dict[str, Any]) -> dict[tuple[int, ...], Shape]:
    """Return the plans of the regions in a stored chart."""
    cells = np.frombuffer(zlib.decompress(base64.b85decode(stored["cells"])), np.uint16)
    rows = cells.reshape(-1, len(stored["dimensions"]) + 1).tolist()
    return {tuple(region): as_shape(stored["plans"][plan]) for *region, plan in rows}


def test_a_chart_is_stored_in_little() -> None:
    estimates = fan_out()
    ranges = {"a": (100, 40_000), "b": (10, 6_000), "c": (1, 600)}
    chart = make_chart(estimates, k=10, ranges=ranges)
    assert len(chart.plans) > 1
    stored = json.dumps(chart.to_dict())
    assert len(stored) < 100_000
    regions = itertools.product(range(10), repeat=3)
    assert stored_plans(json.loads(stored)) == {region: chart.plan(region) for region in regions}


def test_a_chart_of_many_streams_holds_only_what_was_asked() -> None:
    """With 12 streams it has 10^12 regions, which no memory holds."""
    dimensions = tuple(Dimension(f"s{n}", 0, 10, 10) for n in range(12))
    chart = by_regions(dimensions)
    assert chart.size == 10**12
    low, high = ({each.name: rate for each in dimensions} for rate in (0.0, 10.0))
    assert not chart.knows(high)
    assert chart.at(high).plan == tuple(f"s{n}9.5" for n in range(12))
    assert chart.at(low).plan == tuple(f"s{n}0.5" for n in range(12))
    assert chart.knows(high)
    stored = json.dumps(chart.to_dict())
    assert len(stored) < 2_000
    assert stored_plans(json.loads(stored)) == {chart.at(rates).region: chart.at(rates).plan for rates in (low, high)}
    assert stored_plans(json.loads(json.dumps(by_regions(dimensions).to_dict()))) == {}


def test_a_rate_far_outside_has_the_nearest_region() -> None:
    chart = by_regions((Dimension("a", 0, 1e-300, 4),))
    assert chart.at({"a": 1e300}) == ((3,), ("a8.75e-301",), True)
    assert chart.at({"a": math.inf}).region == (3,)


def test_a_chart_can_be_sent_to_workers() -> None:
    chart = make_chart(fan_out(), k=3)
    again = pickle.loads(pickle.dumps(chart))
    assert again.at({"a": 1.0, "b": 1.0, "c": 1.0}) == chart.at({"a": 1.0, "b": 1.0, "c": 1.0})


def test_a_balance_of_one_weight_is_the_best_at_that() -> None:
    for seed in range(30):
        estimates = drawn_estimates(CHAIN, seed)
        rates = {alias: estimates.quantities["rate", alias].value for alias in "abc"}
        numbers = estimates.numbers(estimates.expected())
        plans: list[Shape] = [("a", "b", "c"), (("a", "b"), "c"), ("a", ("b", "c"))]
        cpu = {plan: float(work_ns(plan, numbers)) for plan in plans}
        memory = {plan: float(plan_bytes(plan, numbers)) for plan in plans}
        fastest = best_plan(estimates, rates, objective.balance(rate=2, memory=0))
        smallest = best_plan(estimates, rates, objective.balance(rate=0, memory=0.1))
        assert cpu[fastest] == min(cpu.values())
        assert memory[smallest] == min(memory.values())
        both = best_plan(estimates, rates, objective.balance(rate=0.4, memory=0.6))
        scores = {
            plan: 0.4 * cpu[plan] / min(cpu.values()) + 0.6 * memory[plan] / min(memory.values()) for plan in plans
        }
        assert scores[both] == pytest.approx(min(scores.values()))


def test_the_balance_of_the_paper_depends_on_the_weights() -> None:
    """Keeping b and c is four times as fast and needs a little more memory."""
    estimates = fan_out(partners=100.0)
    plans = {
        weight: choose_plan(estimates, objective.balance(rate=1 - weight, memory=weight)).chosen.plan
        for weight in (0.0, 0.5, 1.0)
    }
    assert plans == {0.0: "(a (b c))", 0.5: "(a (b c))", 1.0: "multiway"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 1}, "k=1): the number of parts must be a whole number from 2 to 1000"),
        ({"k": 2.0}, "must be a whole number"),
        ({"k": True}, "must be a whole number"),
        ({"k": 10**6}, "from 2 to 1000"),
        ({"ranges": {"a": (5, 5)}}, "ranges={'a': (5, 5)}): must be the least and the largest rows per second"),
        ({"ranges": {"a": (-1, 5)}}, "at least 0 and different, such as (10, 1000)"),
        ({"ranges": {"a": (9, 5)}}, "must be the least and the largest"),
        ({"ranges": {"a": 7}}, "must be the least and the largest"),
        ({"ranges": {"a": (1, math.nan)}}, "must be the least and the largest"),
        ({"ranges": {"a": (1, math.inf)}}, "must be the least and the largest"),
        ({"ranges": {"a": (1, 10**400)}}, "must be the least and the largest"),
        ({"ranges": {"a": (1, 1e300)}}, "and at most 1e+15"),
        ({"ranges": {"a": (0, 5e-324)}}, "must be the least and the largest"),
        ({"ranges": {"a": "12"}}, "ranges={'a': '12'}): must be the least and the largest"),
        ({"ranges": "ab"}, "ranges='ab'): must be a dict of the least and the largest rows per second by stream"),
        ({"ranges": 5}, "ranges=5): must be a dict"),
        ({"ranges": {7: (1, 2)}}, "7 is not a stream of this join; it has a, b and c"),
        ({"ranges": {"aa": (1, 2)}}, "'aa' is not a stream of this join (did you mean 'a'?); it has a, b and c"),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_chart(fan_out(), **given)
    assert message in str(caught.value)


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, 10**400, 1e300, "1", True])
def test_wrong_weights_are_refused(weight: Any) -> None:
    with pytest.raises(PlanError, match=r"memory=.*a weight must be a number of at least 0 and at most 1e\+15"):
        objective.balance(rate=1, memory=weight)


def test_what_is_unknown_is_named() -> None:
    estimates = fan_out()
    known = {name: each for name, each in estimates.quantities.items() if name != ("rate", "b")}
    with pytest.raises(PlanError, match=r"unknown: the rate of b; declare them with statistics="):
        make_chart(replace(estimates, quantities=known))


def test_plans_are_named_as_the_argument_plan_takes_them() -> None:
    chart = make_chart(fan_out(), k=2)
    assert {plan_text(plan) for plan in chart.plans} <= {"multiway", "(a (b c))", "((a b) c)"}
