"""Estimates of a join: partners that are declared in both directions, contradictions, and the order of writing."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg import Estimate
from thalweg.optimizer.joins.estimates import JoinEstimates, join_estimates, log_deviation
from thalweg.optimizer.rules.choose_kept import estimates_of_query
from thalweg.plan.joins.join_plan import JoinPlan, window_join_plan
from thalweg.plan.query.nodes import WindowJoin
from thalweg.stats.declared_statistics import join_statistics

NORMAL = 1.6448536269514722
"""Nine of ten values of a normal quantity are within so many deviations."""
DEVIATION = math.log(1.5) / NORMAL
"""That of the logarithm of a number that is declared without an interval: within a factor of 1.5."""


def estimated(statistics: dict[str, Any], on: str = "a.k = b.k", **windows: Any) -> JoinEstimates:
    plan = JoinPlan.of(on, windows.get("window", 10), "t", 0)
    return join_estimates(plan, join_statistics(statistics, plan))


def both(a: Any, b: Any, of_a: Any, of_b: Any) -> dict[str, Any]:
    """The rates of a and b, and the partners of a row of a, and of b."""
    return {"a": {"rows_per_second": a}, "b": {"rows_per_second": b}, "partners": {"a.k = b.k": (of_a, of_b)}}


def interval(low: float, high: float) -> tuple[dict[str, float], float, float]:
    """An interval as it is declared, and the mean and the deviation of its logarithm, by the log-normal formulas."""
    deviation = math.log(high / low) / 2 / NORMAL
    return {"low": low, "high": high}, math.sqrt(low * high) * math.exp(deviation**2 / 2), deviation


def test_both_directions_are_weighted_by_what_is_known_of_them() -> None:
    rate, mean_rate, of_rate = interval(90, 110)
    partners, mean, of_partners = interval(4, 40)
    found = estimated(both(rate, 10, 2, partners)).quantities["share", "a", "b"]
    # 2 of 100 rows of b, which are declared without an interval; about 15 of 1,000 rows of a
    weights = [1 / (2 * DEVIATION**2), 1 / (of_partners**2 + of_rate**2)]
    logs = [math.log(2 / 100), math.log(mean / (10 * mean_rate))]
    expected = math.exp((weights[0] * logs[0] + weights[1] * logs[1]) / sum(weights))
    assert found.value == pytest.approx(expected, rel=0.01)  # the mean of 1 / rate is not 1 over the mean
    assert log_deviation(found) == pytest.approx(1 / math.sqrt(sum(weights)))
    assert found.origin == "declared"


def test_equal_directions_say_what_one_says() -> None:
    one, two = (estimated(both(100, 10, 2, of_b)).quantities["share", "a", "b"] for of_b in (None, 20))
    assert two.value == pytest.approx(one.value) == pytest.approx(0.02)
    assert log_deviation(two) == pytest.approx(log_deviation(one))


NUMBERS = st.floats(0.1, 1000.0)
KINDS = st.one_of(NUMBERS, NUMBERS.flatmap(lambda low: st.floats(1.01, 30.0).map(lambda f: interval(low, low * f)[0])))


def mean_and_deviation(given: Any) -> tuple[float, float]:
    return interval(given["low"], given["high"])[1:] if isinstance(given, dict) else (given, DEVIATION)


@examples(50, long=2_000)
@given(a=KINDS, b=KINDS, of_a=KINDS, of_b=KINDS)
def test_only_contradictions_beyond_their_intervals_are_refused(a: Any, b: Any, of_a: Any, of_b: Any) -> None:
    values, deviations = zip(*map(mean_and_deviation, (a, b, of_a, of_b)), strict=True)
    apart = abs(math.log(values[2] / values[1]) - math.log(values[3] / values[0]))
    widths = NORMAL * (math.hypot(deviations[2], deviations[1]) + math.hypot(deviations[3], deviations[0]))
    assume(not 0 <= apart - widths <= 0.02)  # what is 1 % apart is the same
    if apart > widths:
        with pytest.raises(tw.ThalwegError, match=r"but .* are declared; correct the partners or a rate"):
            estimated(both(a, b, of_a, of_b))
        return
    share = estimated(both(a, b, of_a, of_b)).quantities["share", "a", "b"]
    turned = both(a, b, of_a, of_b) | {"partners": {"b.k = a.k": (of_b, of_a)}}
    assert estimated(turned, "b.k = a.k").quantities["share", "b", "a"].value == pytest.approx(share.value, rel=1e-12)


def test_a_contradiction_names_both_numbers_and_the_remedy() -> None:
    with pytest.raises(tw.PlanError) as error:
        tw.join("a.k = b.k", "10 seconds", "t", statistics=both(1000, 100, 30, 0.2))
    assert str(error.value) == (
        "statistics: a row of a finds 30 of 1,000 rows of b, so a row of b finds about 300 of 10,000 rows of a, but "
        "0.2 are declared; correct the partners or a rate, or give None for one direction"
    )
    for first, second in ((0, 3), (3, 0)):
        with pytest.raises(tw.PlanError, match="declared; correct"):
            tw.join("a.k = b.k", "10 seconds", "t", statistics=both(1000, 100, first, second))
    assert estimated(both(1000, 100, 0, 0)).quantities["share", "a", "b"].value == 0


def test_what_was_counted_may_contradict_itself() -> None:
    """A short run counts too few partners, because its windows have not filled."""

    def counted(value: float) -> Estimate:
        return Estimate(value, "counted", (value / 100) ** 2, 0)

    found = estimated(both(counted(100), counted(10), counted(2), counted(5))).quantities["share", "a", "b"]
    assert 5 / 1000 < found.value < 2 / 100
    mixed = estimated(both(counted(100), 10, 2, 5)).quantities["share", "a", "b"]
    assert 5 / 1000 < mixed.value < 2 / 100
    assert estimated(both(counted(100), 10, 0, counted(5))).quantities["share", "a", "b"].value < 2 / 100


def test_of_several_equalities_the_least_share_counts() -> None:
    statistics: dict[str, Any] = {name: {"rows_per_second": 10} for name in "ab"}
    for on in map(" AND ".join, permutations(["a.k = b.k", "b.m = a.m"])):
        given = {**statistics, "partners": {"a.k = b.k": (30, 30), "a.m = b.m": (None, 2)}}
        (share,) = (each for name, each in estimated(given, on).quantities.items() if name[0] == "share")
        assert share.value == pytest.approx(2 / 100)


# SQL

ROWS = pa.table({"ts": pa.array([datetime(2026, 1, 1)], pa.timestamp("us")), "k": [1], "m": [1]})


def asked(where: str, statistics: dict[str, Any]) -> tw.ContinuousQuery:
    s = tw.session()
    for name in "abc":
        s.stream(name, ROWS, time="ts")
    return s.query(f"SELECT a.k FROM a, b, c WHERE {where} WINDOW 10 SECONDS", statistics=statistics)


def of_query(q: tw.ContinuousQuery) -> JoinEstimates:
    assert isinstance(q.plan.join, WindowJoin)
    return estimates_of_query(window_join_plan(q.plan.join), q.plan.estimates)


KNOWN: dict[str, Any] = {
    "a": {"rows_per_second": 10, "distinct": {"k": 5}}, "b": {"rows_per_second": 20, "distinct": {"k": 50}},
    "c": {"rows_per_second": 30, "distinct": {"m": 9}},
}  # fmt: skip


@pytest.mark.parametrize(
    "partners",
    [{}, {"a.k = b.k": (4, None)}, {"a.k = b.k": (None, 4)}, {"a.k = b.k": (4, 3), "b.m = c.m": (3, 1)}],
)
def test_sql_estimates_as_joins_do_however_it_is_written(partners: dict[str, Any]) -> None:
    statistics = {**KNOWN, "partners": partners}
    expected = {
        (name[0], *sorted(name[1:])): each for name, each in estimated(
            statistics, "a.k = b.k AND b.m = c.m").quantities.items()
    }  # fmt: skip
    if not partners:
        assert expected["share", "a", "b"].value == 1 / 50  # the one with more values has those of the other one
    for sides in (("a.k = b.k", "b.m = c.m"), ("b.k = a.k", "c.m = b.m")):
        for where in map(" AND ".join, permutations(sides)):
            found = of_query(asked(where, statistics)).quantities
            assert {(name[0], *sorted(name[1:])): each for name, each in found.items()} == expected


def test_sql_refuses_a_contradiction_when_the_query_is_made() -> None:
    with pytest.raises(tw.ThalwegError, match=r"a row of a finds 30 of 200 rows of b, .* but 0\.2 are declared"):
        asked("a.k = b.k AND b.m = c.m", {**KNOWN, "partners": {"a.k = b.k": (30, 0.2)}})


def test_values_are_drawn_in_the_order_of_names() -> None:
    drawn = [
        estimated({**KNOWN, "partners": {"a.k = b.k": (4, 3)}}, on).drawn()
        for on in ("a.k = b.k AND b.m = c.m", "c.m = b.m AND b.k = a.k")
    ]
    one, other = ({(name[0], *sorted(name[1:])): each.tolist() for name, each in found.items()} for found in drawn)
    assert one == other
