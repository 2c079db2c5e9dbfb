"""The policy `chart`: its settings; filters have the order of their region; the rows are DuckDB's."""

from __future__ import annotations

import itertools
import random
from datetime import datetime
from itertools import permutations
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg import PlanError
from thalweg.adapt import POLICIES, chart
from thalweg.adapt.auto import Auto
from thalweg.adapt.chart import Chart, ChartSettings
from thalweg.adapt.policy import Costs, Observation
from thalweg.adapt.profiling_budget import PooledBudget
from thalweg.cost.plan_chart import PlanChart
from thalweg.optimizer.charts import plan_chart
from thalweg.optimizer.joins import start_plan
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.runtime.joins import plan_watch
from thalweg.runtime.joins.join_counts import Estimating


def test_it_is_auto_with_more_settings() -> None:
    assert POLICIES["chart"] is Chart
    assert issubclass(Chart, Auto)
    assert ChartSettings().budget == Auto.defaults.budget  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parts": 1}, "parts=1: must be a whole number from 2 to 1000"),
        ({"parts": 2.5}, "parts=2.5: must be a whole number"),
        ({"rounds": 0}, "rounds=0: must be a whole number from 1 to 1000"),
        ({"decay": -1.0}, "decay=-1.0: must be a number of at least 0"),
        ({"threshold": float("nan")}, "threshold=nan: must be a number of at least 0"),
        ({"decay": 10**400}, "must be a number of at least 0 and at most 1e+15"),
        ({"threshold": "much"}, "threshold='much': must be a number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        ChartSettings(**given)
    assert message in str(caught.value)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from thalweg.runtime.joins.join_settings import JoinSettings

    monkeypatch.setenv("THALWEG_POLICY", "chart(parts=25)")
    made = JoinSettings.in_force({})
    assert made.profile == ChartSettings(parts=25)


def test_filters_take_it_too() -> None:
    keep = tw.filters(tw.predicate(str.isdigit, "code"), policy="chart")
    assert [row for batch in keep.over(pa.table({"code": ["1", "x", "23"]})) for row in batch["code"].to_pylist()] == [
        "1", "23",
    ]  # fmt: skip
    assert keep.report().sections[0].policy == "chart"


def observed(passes: list[float], cost_ns: list[float], seed: int, rows: int = 400) -> Observation:
    """Profiled rows of independent filters, those that at least one of them drops, and the costs of the filters."""
    n, rng = len(passes), np.random.default_rng(seed)
    bits = rng.random((rows, n)) >= np.array(passes)
    bits = bits[bits.any(axis=1)]
    nothing, costs = np.zeros(n, np.int64), np.array(cost_ns)
    more = Costs(costs, costs, np.zeros(n), np.full(n, 1_000, np.int64))
    return Observation(nothing, nothing, nothing, costs, bits, np.ones_like(bits), more)


def cost_of(order: tuple[int, ...], passes: list[float], cost_ns: list[float]) -> float:
    alive, total = 1.0, 0.0
    for k in order:
        total += alive * cost_ns[k]
        alive *= passes[k]
    return total


@examples(40, long=1_000)
@given(n=st.integers(2, 4), seed=st.integers(0, 2**32))
def test_the_order_is_about_the_best_of_independent_filters(n: int, seed: int) -> None:
    """Shares are known to half a region, and nearly no row passes all filters, so all rows are profiled."""
    r = random.Random(seed)
    passes = [r.uniform(0.02, 0.3) for _ in range(n)]
    cost_ns = [10 ** r.uniform(2, 5) for _ in range(n)]
    policy = Chart(Pipeline(tuple(map(str, range(n)))), ChartSettings(parts=50))
    for step in range(3):
        verdict = policy.update(observed(passes, cost_ns, seed + step))
        assert verdict is None or verdict.order == policy.order
    least = min(cost_of(order, passes, cost_ns) for order in permutations(range(n)))
    assert cost_of(policy.order, passes, cost_ns) <= 1.15 * least


def test_the_order_changes_when_shares_move_to_another_region() -> None:
    policy = Chart(Pipeline(("a", "b")))
    policy.update(observed([0.1, 0.9], [100.0, 100.0], 1))
    assert policy.order == (0, 1)
    reasons = []
    for seed in range(12):  # the window still has old rows at first
        verdict = policy.update(observed([0.9, 0.1], [100.0, 100.0], seed))
        reasons += [] if verdict is None else [verdict.reason]
    assert policy.order == (1, 0)
    assert len(reasons) == 1
    assert reasons[0].startswith("the chart has b → a: b passes ")
    assert policy.standing.startswith("the chart has this order for the shares of ")


def test_other_costs_make_another_chart() -> None:
    policy = Chart(Pipeline(("a", "b")))
    policy.update(observed([0.5, 0.5], [100.0, 1_000.0], 1))
    assert policy.order == (0, 1)
    first = policy._chart
    policy.update(observed([0.5, 0.5], [110.0, 1_000.0], 2))
    assert policy._chart is first
    policy.update(observed([0.5, 0.5], [10_000.0, 1_000.0], 3))
    assert policy._chart is not first
    assert policy.order == (1, 0)


def test_guards_stay_before_what_they_guard() -> None:
    pipeline = Pipeline(("parses", "large", "recent"), guards=((), (0,), ()))
    policy = Chart(pipeline)
    for seed in range(3):
        policy.update(observed([0.9, 0.05, 0.5], [1_000.0, 10.0, 5_000.0], seed))
    assert pipeline.respects(policy.order)


def test_probes_of_joins_are_ordered_as_by_auto() -> None:
    orders = []
    for kind in (Auto, Chart):
        policy = kind(Pipeline(("a", "b", "c")))
        policy.join(PooledBudget(0.02), follows=False, leads=False)
        for seed in range(4):
            policy.update(observed([0.7, 0.3, 0.1], [100.0, 300.0, 200.0], seed))
        orders.append((policy.order, policy.standing))
    assert orders[0] == orders[1]


def test_a_restored_policy_makes_its_own_chart() -> None:
    policy = Chart(Pipeline(("a", "b")))
    policy.update(observed([0.9, 0.1], [100.0, 100.0], 1))
    other = Chart(Pipeline(("a", "b")))
    other.update(observed([0.1, 0.9], [100.0, 100.0], 1))
    other.restore(policy.snapshot())
    assert other.order == policy.order == (1, 0)
    assert other._chart is None


@examples(15, long=300)
@given(seed=st.integers(0, 2**32))
def test_the_rows_are_those_of_duckdb(seed: int) -> None:
    """Shares change in the middle, so that the order changes too."""
    r = random.Random(seed)
    n = 20_000
    first = [r.randrange(100) if k < n // 2 else r.randrange(30) for k in range(n)]
    second = [r.randrange(30) if k < n // 2 else r.randrange(100) for k in range(n)]
    rows = pa.table({"id": range(n), "a": first, "b": second, "c": [r.choice([None, *range(9)]) for _ in range(n)]})
    x, y, z = r.randrange(1, 60), r.randrange(1, 60), r.randrange(9)
    keep = tw.filters(
        tw.predicate(lambda a: a >= x, "a", name="a"), tw.predicate(lambda b: b >= y, "b", name="b"),
        tw.predicate(lambda c: c is not None and c != z, "c", name="c"), policy="chart", seed=seed,
    )  # fmt: skip
    found = [
        k for batch in keep.over(rows.to_batches(max_chunksize=r.choice([100, 2_000]))) for k in batch["id"].to_pylist()
    ]
    asked = f"SELECT id FROM rows WHERE a >= {x} AND b >= {y} AND c <> {z} ORDER BY id"
    assert found == [k for (k,) in duckdb.execute(asked).fetchall()]


@examples(10, long=300)
@given(seed=st.integers(0, 2**32))
def test_any_chart_of_orders_gives_the_same_rows(seed: int) -> None:
    """Each round has another one of the possible orders, in a chart of its own that does not cover its rows."""
    r = random.Random(seed)
    rows = pa.table({name: [r.randrange(10) for _ in range(4_000)] for name in ("a", "b", "c")})
    x, y, z = (r.randrange(10) for _ in range(3))

    drawn = itertools.cycle(r.sample([(0, 1, 2), (0, 2, 1), (1, 0, 2)], 3))  # `a` guards `c`

    first = tw.predicate(lambda a: a != x, "a", name="a")
    keep = tw.filters(
        first, tw.predicate(lambda b: b >= y, "b", name="b"),
        tw.predicate(lambda a, c: 1 // (a - x) != 5 and c >= z, "a", "c", name="c", after=first),
        policy="chart", budget=0.5, seed=seed,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chart, "best_order", lambda *_, **named: next(drawn))
        patch.setattr(chart, "RANGE", 0.5)
        patch.setattr(chart, "JUDGE_NS", 10**15)  # nothing else asks for the best order
        found = [row for batch in keep.over(rows.to_batches(max_chunksize=400)) for row in batch.to_pylist()]
    asked = f"SELECT * FROM rows WHERE a <> {x} AND b >= {y} AND c >= {z} ORDER BY ALL"
    expected = [dict(zip("abc", row, strict=True)) for row in duckdb.execute(asked).fetchall()]
    assert sorted(found, key=lambda row: tuple(row.values())) == expected
    (section,) = keep.report().sections
    assert section.chart.outside == section.chart.rounds >= 1
    assert section.switch_count >= section.chart.rounds - 1  # the first order may be the written one


DECLARED = {**{alias: {"rows_per_second": rate} for alias, rate in (("a", 9.0), ("b", 3.0), ("c", 1.0))},
            "partners": {"a.k = b.k": (5, None), "b.m = c.m": (1, None)}}  # fmt: skip


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[PlanChart]:
    """The charts that joins make before they start."""
    charts: list[PlanChart] = []
    make_chart = plan_chart.make_chart

    def kept(*given: Any, **named: Any) -> PlanChart:
        charts.append(make_chart(*given, **named))
        return charts[-1]

    monkeypatch.setattr(start_plan, "make_chart", kept)
    return charts


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> list[Estimating]:
    """How joins estimate rates and shares."""
    found: list[Estimating] = []

    def kept(*given: Any) -> Estimating:
        made = Estimating(*given)
        if given:  # otherwise the defaults, before the policy is known
            found.append(made)
        return made

    monkeypatch.setattr(plan_watch, "Estimating", kept)
    return found


def rows_of(*names: str) -> pa.Table:
    moment = datetime(2026, 1, 1)
    return pa.table({"ts": [moment, moment], **{name: [1, 2] for name in names}})


TEXT = "chart(parts=4, rounds=7, decay=0.5, threshold=0.3)"


@pytest.mark.parametrize(
    "policy", [TEXT, tw.policy("chart", parts=4, rounds=7, decay=0.5, threshold=0.3), None], ids=str
)
def test_joins_and_queries_take_its_settings(
    policy: Any, made: list[PlanChart], estimated: list[Estimating], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"policy": policy, "statistics": DECLARED}
    # arguments come first
    monkeypatch.setenv("THALWEG_POLICY", TEXT if policy is None else "chart(parts=25)")
    sources = {"a": rows_of("k"), "b": rows_of("k", "m"), "c": rows_of("m")}
    j = tw.join("a.k = b.k AND b.m = c.m", "1 second", "ts", **given)
    s = tw.session()
    for alias, rows in sources.items():
        s.stream(alias, rows, time="ts")
    q = s.query("SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.m = c.m WINDOW 1 SECOND", **given)
    assert sum(batch.num_rows for batch in j.over(**sources)) == q.dataframe().num_rows == 2
    assert [{each.parts for each in chart.dimensions} for chart in made] == [{4}, {4}]
    assert estimated == [Estimating(7, 0.5, 0.3)] * 2
    assert j.report().sections[0].policy == "chart"


def test_its_settings_are_checked_before_anything_runs() -> None:
    s = tw.session()
    s.stream("a", rows_of("k"), time="ts")
    s.stream("b", rows_of("k"), time="ts")
    refused = [
        ("auto(parts=4)", "policy 'auto' has no setting parts=4; it has budget"),
        ("chart(parts=1)", "parts=1: must be a whole number from 2 to 1000"),
        ("chart(rounds=2.5)", "rounds=2.5: must be a whole number"),
        ("chart(decay=-1)", "decay=-1: must be a number of at least 0"),
        ("chart(threshold=True)", "threshold=True: must be a number of at least 0"),
    ]
    for policy, message in refused:
        with pytest.raises(PlanError) as caught:
            s.query("SELECT a.k FROM a, b WHERE a.k = b.k WINDOW 1 SECOND", policy=policy)
        assert message in str(caught.value)
        with pytest.raises(PlanError) as caught:
            tw.join("a.k = b.k", "1 second", "ts", policy=policy)
        assert message in str(caught.value)
