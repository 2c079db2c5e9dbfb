"""Charts of filters: each region has the order that is chosen anew at its centroid; ranges and wrong arguments."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost.test_order_load import OBJECTIVES, drawn
from tests.long_run import examples
from thalweg import Estimate, PlanError
from thalweg.cost.order_load import RATE, FilterTimes, best_order
from thalweg.optimizer.charts import filter_chart
from thalweg.optimizer.charts.filter_chart import make_filter_chart
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.objective import Objective

TWO = FilterTimes(Pipeline(("cheap", "slow")), (100.0, 900.0), (20_000.0, 0.0))
KNOWN = Estimate(100.0, "declared")


@examples(20, long=500)
@given(n=st.integers(2, 4), seed=st.integers(0, 2**32), wanted=st.sampled_from(OBJECTIVES))
def test_each_region_has_the_order_chosen_at_its_centroid(n: int, seed: int, wanted: Objective) -> None:
    r = random.Random(seed)
    times, _ = drawn(n, r)
    low = {name: r.uniform(0, 0.5) for name in times.pipeline.names}
    ranges: dict[str, Any] = {name: (least, r.uniform(0.6, 1.0)) for name, least in low.items()}
    ranges[RATE] = (r.uniform(0, 10), 10 ** r.uniform(2, 5))
    k, round_s = r.randint(2, 4), r.choice([0.5, 10.0])
    chart = make_filter_chart(times, None, {}, k, ranges=ranges, objective=wanted, round_s=round_s)
    for region in product(range(k), repeat=n + 1):
        middle = {
            name: ranges[name][0] + (part + 0.5) / k * (ranges[name][1] - ranges[name][0])
            for name, part in zip((RATE, *times.pipeline.names), region, strict=True)
        }
        anew = best_order(times, [middle[name] for name in times.pipeline.names], middle[RATE], wanted, round_s)
        assert chart.plan(region) == tuple(times.pipeline.label(anew))


def test_predicates_that_stay_in_place_are_no_dimensions() -> None:
    pipeline = Pipeline(("parses", "large", "recent"), guards=((), (0,), (0,)))
    assert pipeline.movable == ("large", "recent")
    assert Pipeline(("a", "b", "c"), guards=((), (0,), (1,))).movable == ()
    assert Pipeline(("a", "b")).movable == ("a", "b")
    chart = make_filter_chart(FilterTimes(pipeline, (1.0, 2.0, 3.0), (0.0,) * 3), KNOWN, {"parses": 0.2}, k=2)
    assert [(each.name, each.unit) for each in chart.dimensions] == [
        (RATE, "rows per second"), ("large", "passed by"), ("recent", "passed by"),
    ]  # fmt: skip
    assert {plan[0] for plan in chart.plans} == {"parses"}


def test_ranges_are_all_shares_and_the_declared_rate() -> None:
    chart = make_filter_chart(TWO, Estimate.between(10, 1_000), {}, k=2, ranges={"slow": (0.25, 0.5)})
    assert (chart.dimensions[0].low, chart.dimensions[0].high) == pytest.approx((10, 1_000), rel=1e-3)
    assert [(each.low, each.high) for each in chart.dimensions[1:]] == [(0.0, 1.0), (0.25, 0.5)]


def test_a_large_chart_is_made_region_by_region(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*given: Any, **named: Any) -> tuple[int, ...]:
        asked.append(given)
        return best_order(*given, **named)

    monkeypatch.setattr(filter_chart, "best_order", counted)
    assert make_filter_chart(TWO, KNOWN, {}, k=22).size == 10_648
    assert not asked
    assert make_filter_chart(TWO, KNOWN, {}, k=21).size == len(asked) == 9_261


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 1}, "chart(k=1): the number of parts must be a whole number from 2 to 1000"),
        ({"k": 2.5}, "must be a whole number"),
        ({"ranges": {"slow": (0.5, 0.5)}}, "chart(ranges={'slow': (0.5, 0.5)}): must be the least and the largest "
         "share of rows that pass, from 0 to 1 and different, such as (0.1, 0.9)"),
        ({"ranges": {"slow": (0, 1.5)}}, "from 0 to 1"),
        ({"ranges": {"slow": (-0.1, 1)}}, "from 0 to 1"),
        ({"ranges": {"slow": (math.nan, 1)}}, "from 0 to 1"),
        ({"ranges": {"slow": "01"}}, "from 0 to 1"),
        ({"ranges": {"slow": 3}}, "from 0 to 1"),
        ({"ranges": {RATE: (5, 5)}}, "must be the least and the largest rows per second, at least 0 and different"),
        ({"ranges": {RATE: (-5, 5)}}, "must be the least and the largest rows per second"),
        ({"ranges": {"slw": (0, 1)}}, "'slw' is no dimension, because it is not a predicate of these filters (did you "
         "mean 'slow'?); the dimensions are rows_per_second, cheap and slow"),
        ({"ranges": {7: (0, 1)}}, "7 is no dimension"),
        ({"ranges": "slow"}, "chart(ranges='slow'): must be a dict of the least and the largest values, such as"),
        ({"rate": None}, "chart(): the arrival rate is unknown; give its range, such as ranges={'rows_per_second': "
         "(10, 1000)}"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_filter_chart(TWO, **{"rate": KNOWN, "passes": {}, **given})
    assert message in str(caught.value)


def test_a_range_of_a_predicate_in_its_place_is_refused() -> None:
    pipeline = Pipeline(("parses", "large", "recent"), guards=((), (0,), (0,)))
    times = FilterTimes(pipeline, (1.0, 2.0, 3.0), (0.0,) * 3)
    with pytest.raises(PlanError, match="'parses' is no dimension, because its place does not change; the dimensions"):
        make_filter_chart(times, KNOWN, {}, ranges={"parses": (0, 1)})


def test_a_predicate_must_not_have_the_name_of_the_rate() -> None:
    times = FilterTimes(Pipeline(("a", RATE)), (1.0, 2.0), (0.0, 0.0))
    with pytest.raises(PlanError, match=r"a predicate has the name 'rows_per_second', .* rename it"):
        make_filter_chart(times, KNOWN, {})
