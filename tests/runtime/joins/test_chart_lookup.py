"""Joins that follow a chart: the plan is the one of the region; any chart gives DuckDB's rows; moves, fidelity and
regret are counted."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.test_plan_watch import ON, SPAN, WINDOW, batches, by_duckdb, streams
from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.events import PlanObserved, read
from thalweg.optimizer.charts import plan_chart
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins import plan_watch
from thalweg.runtime.joins.chart_lookup import ChartLookup

GRAPH = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
PLANS = list(all_plans(GRAPH))


@pytest.fixture(autouse=True)
def can_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of samples depends on the machine, and must not decide a test."""
    monkeypatch.setattr(plan_watch, "LOAN_NS", 10**15)


def known(partners: float = 60, found: float = 0.02, **rates: float) -> dict[str, Any]:
    """What is declared: rates in rows per tick of the test's data, unless others are given."""
    tables = streams()
    declared = {alias: {"rows_per_second": tables[alias].num_rows / SPAN} for alias in "abc"}
    for alias, rate in rates.items():
        declared[alias] = {"rows_per_second": rate}
    return {**declared, "partners": {"a.k = b.k": (partners, None), "b.m = c.m": (found, None)}}


def charted(policy: str = "chart", **settings: Any) -> tw.Join:
    return tw.join(ON, WINDOW, "t", select=["a.id", "b.id", "c.id"], policy=policy, **settings)


def run(j: tw.Join, **given: Any) -> list[tuple[Any, ...]]:
    out = pa.Table.from_batches(j.over(**batches(streams(**given))))
    return sorted(zip(*(out[f"{alias}_id"].to_pylist() for alias in "abc"), strict=True))


def test_a_join_follows_the_chart_that_is_declared() -> None:
    j = charted(statistics=known())
    assert run(j) == by_duckdb()
    history = j.report().sections[0].plans
    assert history.plan == "(a (b c))"
    assert history.chart.rounds >= 5
    assert history.chart.outside == 0
    assert history.chart.fidelity is not None
    assert history.chart.fidelity > 0.5
    assert history.chart.mean_regret is not None
    assert 1.0 <= history.chart.mean_regret < 2.0
    text = str(j.report())
    assert "chart: " in text
    assert f"in {history.chart.judged} rounds that were judged" in " ".join(text.split())
    assert j.report().to_dict()["sections"][0]["plan"]["chart"]["rounds"] == history.chart.rounds


def test_without_statistics_the_chart_is_made_from_what_is_counted() -> None:
    j = charted()
    assert run(j) == by_duckdb()
    history = j.report().sections[0].plans
    assert history.plan == "(a (b c))"
    assert history.chart.rounds >= 5


def test_rates_outside_the_chart_are_counted() -> None:
    """The chart is made for a hundredth of the rate of a."""
    j = charted(statistics=known(a=streams()["a"].num_rows / SPAN / 100))
    assert run(j) == by_duckdb()
    assert j.report().sections[0].plans.chart.outside > 3


def test_the_track_of_a_run_is_in_the_chart() -> None:
    j = charted(statistics=known())
    run(j)
    view = j.chart(k=5)
    assert len(view.track) >= 5
    for alias, table in streams().items():
        for rates in view.track[-5:]:  # the first reports of a local pass have few rows
            assert rates[alias] == pytest.approx(table.num_rows / SPAN, rel=0.35)
    assert "after " in view._picture()


@examples(15, long=400)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 6))
def test_any_chart_gives_the_same_rows(seed: int, k: int) -> None:
    """The plan of each region is drawn, and every change pays."""
    r = random.Random(seed)

    def drawn(*given: Any, **named: Any) -> Shape:
        return r.choice(PLANS)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_chart, "best_plan", drawn)
        patch.setattr(plan_watch, "GAIN", -1e9)
        patch.setattr(plan_watch, "rebuild_ns", lambda *_: -1e30)
        j = charted(statistics=known(), max_bytes=1 << 33)
        assert run(j, rows=0.3) == by_duckdb(rows=0.3)


def test_records_say_when_the_rates_have_moved(tmp_path: Any) -> None:
    events = tmp_path / "events.jsonl"
    j = charted(statistics=known(), events=events)
    doubled = {alias: pa.concat_tables([table.slice(0, len(table) // 8), table.slice(len(table) // 2)])
               for alias, table in streams().items()}  # fmt: skip
    list(j.over(**batches(doubled)))
    records = [record for record in read(events) if isinstance(record, PlanObserved)]
    followed = j.report().sections[0].plans.chart
    assert sum(record.chart.moves for record in records) == followed.moves > 0
    assert sum(record.chart.rounds for record in records) == followed.rounds > 0
    assert all(len(record.rates) == 3 for record in records)


def test_plans_are_looked_up_when_there_is_no_time_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sampled or judged, and the declared numbers lead to the plan of the region in every round."""
    monkeypatch.setattr(plan_watch, "LOAN_NS", -(10**15))
    asked = []
    at = ChartLookup.at

    def counted(self: ChartLookup, *given: Any, **named: Any) -> Any:
        asked.append(given[0])
        return at(self, *given, **named)

    monkeypatch.setattr(ChartLookup, "at", counted)
    j = charted(statistics=known())
    assert run(j) == by_duckdb()
    history = j.report().sections[0].plans
    assert len(asked) >= 5  # not before enough rows have come, nor after the last ones
    assert (history.chart.judged, history.chart.fidelity) == (0, None)


def test_nothing_is_searched_when_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is spent in the first round. The next ones are in other regions, whose plans are not known."""
    clock = itertools.count(step=10**12)
    monkeypatch.setattr(plan_watch, "thread_time_ns", lambda: next(clock))
    monkeypatch.setattr(plan_watch, "LOAN_NS", 10**10)
    asked = []
    best_plan = plan_chart.best_plan

    def counted(*given: Any, **named: Any) -> Shape:
        asked.append(given)
        return best_plan(*given, **named)

    monkeypatch.setattr(plan_chart, "best_plan", counted)
    j = charted("chart(parts=1000)", statistics=known())
    assert run(j) == by_duckdb()
    assert len(asked) == 1


def test_auto_follows_a_chart_while_searching_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_watch, "ENOUGH_REPORTS", 2)
    monkeypatch.setattr(plan_watch, "BUDGET", 1e-9)
    j = tw.join(ON, WINDOW, "t", select=["a.id", "b.id", "c.id"])
    assert run(j) == by_duckdb()
    history = j.report().sections[0].plans
    assert history.plan == "(a (b c))"
    assert "plans are looked up in a chart of rates, because choosing one anew takes" in history.standing
    assert history.standing in " ".join(str(j.report()).split())
    monkeypatch.setattr(plan_watch, "BUDGET", 1e9)
    calm = tw.join(ON, WINDOW, "t", select=["a.id", "b.id", "c.id"])
    assert run(calm) == by_duckdb()
    assert calm.report().sections[0].plans.standing == ""


def by_place(rates: Any) -> Shape:
    return tuple(f"{alias}{rate:g}" for alias, rate in rates.items())


def test_a_chart_that_is_made_here_is_made_anew_outside_it() -> None:
    lookup = ChartLookup(None, parts=2)
    assert lookup.at({"a": 8.0, "b": 4.0}, None) is None
    place = lookup.at({"a": 8.0, "b": 4.0}, by_place)
    assert place is not None
    assert (place.region, place.is_outside) == ((0, 0), False)
    assert not lookup.moved(place)
    assert lookup.at({"a": 0.0, "b": 4.0}, by_place) == place  # a stream that pauses stays in the chart
    place = lookup.at({"a": 30.0, "b": 4.0}, by_place)
    assert place is not None
    assert place.region == (1, 0)
    assert lookup.moved(place)
    place = lookup.at({"a": 33.0, "b": 4.0}, by_place)
    assert place is not None
    assert not place.is_outside
    assert lookup.chart is not None
    assert lookup.chart.dimensions[0] == Dimension("a", 0.0, 33 * 4, 2)
    lookup.forget()
    assert lookup.chart is None


def test_a_stream_that_has_stopped_is_inside_the_chart() -> None:
    """Otherwise its chart would be made anew after every round."""
    lookup = ChartLookup(None, parts=2)
    place = lookup.at({"a": 8.0, "b": 0.0}, by_place)
    assert place is not None
    assert not place.is_outside
    made = lookup.chart
    place = lookup.at({"a": 8.5, "b": 0.0}, by_place)
    assert place is not None
    assert not place.is_outside
    assert lookup.chart is made


def test_a_chart_is_made_anew_when_shares_have_changed() -> None:
    """By more than the threshold in all, although by less from each round to the next."""
    lookup, rates, made = ChartLookup(None, parts=2), {"a": 8.0, "b": 4.0}, []
    for share in (0.10, 0.11, 0.13, 0.15, 0.15):
        lookup.renew({("a", "b"): share}, threshold=0.2)
        assert lookup.at(rates, by_place) is not None
        made.append(lookup.chart)
    assert made[0] is made[1]
    assert made[2] is not made[1]
    assert made[2] is made[3] is made[4]
    before = PlanChart((Dimension("a", 0, 10, 2),), by_place)
    lookup = ChartLookup(before)
    for share in (0.1, 0.9):
        lookup.renew({("a", "b"): share}, threshold=0.2)
    assert lookup.chart is before


def test_a_chart_from_before_the_start_stays() -> None:
    lookup = ChartLookup(PlanChart((Dimension("a", 0, 10, 2),), by_place))
    place = lookup.at({"a": 33.0}, lambda rates: ("another",))
    assert place is not None
    assert (place.plan, place.is_outside) == (("a7.5",), True)
    lookup.forget()
    assert lookup.chart is not None


def test_a_balance_weighs_memory_while_it_runs() -> None:
    """Keeping b and c costs memory, so it is kept only if the rate weighs enough."""
    for memory, plan in ((0.0, "(a (b c))"), (1.0, "multiway")):
        for policy in ("auto", "chart"):
            j = tw.join(
                ON, WINDOW, "t", select=["a.id", "b.id", "c.id"], policy=policy,
                objective=tw.objective.balance(rate=1.0 - memory, memory=memory),
            )  # fmt: skip
            assert run(j) == by_duckdb()
            assert j.report().sections[0].plans.plan == plan, (memory, policy)
