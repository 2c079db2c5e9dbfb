"""Where conditions with user functions are placed. Expected numbers are computed by hand, or by brute force."""

from __future__ import annotations

import itertools
import random
from math import prod
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.optimizer.planned import SCHEMA, catalog, declared, texts
from thalweg.optimizer import optimize
from thalweg.optimizer.rules.order_filters import BUILT_IN_US
from thalweg.optimizer.rules.place_filters import RESULT_US, ROW_US, place_filters
from thalweg.plan.estimate import Estimate
from thalweg.plan.query.query_plan import FilterPlaces, QueryPlan
from thalweg.plan.query.relation import Catalog, Relation, UserFunction
from thalweg.plan.sql.analysis import read_query
from thalweg.stats import NOTHING_KNOWN, CostUs, Knowledge, Partners, ShareKept

TEXT = "SELECT p.b FROM p [RANGE 10 SECONDS], q [RANGE 10 SECONDS] WHERE p.a = q.a AND risky(p.s)"
COSTLY = Knowledge({CostUs("risky"): Estimate(50, "declared", low=0), CostUs("calm"): Estimate(50, "declared", low=0)})


def rates(distinct: float, p: float = 1000, q: float = 1000) -> Knowledge:
    """With windows of 10 seconds, a row of p finds 10 q / distinct rows of q."""
    streams = {name: {"rows_per_second": rate, "distinct": {"a": distinct}} for name, rate in (("p", p), ("q", q))}
    return declared(**streams).merged(COSTLY)


def planned(
    text: str = TEXT,
    known: Knowledge = NOTHING_KNOWN,
    engine: str = "local",
    policy: str = "auto",
    places: FilterPlaces = "cheapest",
    of: Catalog | None = None,
) -> QueryPlan:
    return optimize(read_query(text, of or catalog(), {}), engine, policy, known, filter_places=places)


def after(plan: QueryPlan) -> list[str]:
    return texts(plan.conditions)


def before(plan: QueryPlan) -> list[str]:
    return [text for scan in plan.scans for text in texts(scan.conditions)]


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_few_results_place_it_after_the_join(engine: str) -> None:
    # 1,000 rows per second of each stream find 10,000 / 1,000,000 partners on arrival: 20 results per second
    plan = planned(known=rates(1_000_000), engine=engine)
    assert (after(plan), before(plan)) == (["risky(p.s)"], [])
    assert plan.notes == (
        "risky(p.s) is evaluated after the join: 0.02 results per row expected, so 20 calls per second instead of "
        "1,000",
    )  # fmt: skip
    assert plan.join is not None
    assert ("p", "s") in plan.join.keeps, "joined rows have the column that it reads"
    assert not any(scan.errors for scan in plan.scans), "windows need no column for errors"


def test_many_results_keep_it_before_the_join() -> None:
    plan = planned(known=rates(10_000))  # 2 results per row
    assert (after(plan), before(plan), plan.notes) == ([], ["risky(p.s)"], ())


@pytest.mark.parametrize(
    ("text", "known", "why"),
    [
        (TEXT, COSTLY, "nothing is known"),
        (TEXT, declared(p={"rows_per_second": 9, "distinct": {"a": 10**6}}).merged(COSTLY), "one edge is unknown"),
        (TEXT, rates(10**6).merged(Knowledge({ShareKept("risky(p.s)"): Estimate(0, "counted")})), "it keeps nothing"),
        (TEXT.replace("risky(p.s)", "p.b > 5"), rates(10**6), "it is cheap"),
        (TEXT.replace("p.a = q.a", "p.a + 1 = q.a"), rates(10**6), "a key can raise"),
        (TEXT.replace("p.a = q.a", "calm(p.s) = q.f AND p.a = q.a"), rates(10**6), "a key calls a function"),
        ("SELECT p.b FROM p, t WHERE p.a = t.a AND risky(t.word)",
         declared(t={"rows": 5, "distinct": {"a": 10**6}}).merged(COSTLY), "it reads a table"),
    ],
)  # fmt: skip
def test_it_stays_before_the_join_if(text: str, known: Knowledge, why: str) -> None:
    plan = planned(text, known)
    assert after(plan) == [], why
    assert len(before(plan)) == 1


def test_the_static_policy_keeps_it_before_the_join() -> None:
    assert before(planned(known=rates(10**6), policy="static")) == ["risky(p.s)"]


def test_a_function_that_costs_less_than_a_row_stays() -> None:
    cheap = Knowledge({CostUs("risky"): Estimate(0.1, "declared", low=0)})
    assert before(planned(known=rates(10**6).merged(cheap))) == ["risky(p.s)"]
    assert before(planned(known=rates(10**6))) == []


def test_an_undeclared_cost_is_assumed_to_be_that_of_a_call() -> None:
    known = Knowledge({q: e for q, e in rates(10**6).facts.items() if not isinstance(q, CostUs)})
    assert after(planned(known=known)) == ["risky(p.s)"]


def test_it_stays_if_the_jvm_may_raise_on_joined_rows() -> None:
    """`10 / (p.b - q.b)` fails a query of Spark on every result, so `calm` must drop rows before."""
    text = TEXT.replace("risky(p.s)", "calm(p.s) AND 10 / (p.b - q.b) > 1")
    assert before(planned(text, rates(10**6), "spark")) == ["calm(p.s)"]
    assert before(planned(text, rates(10**6), "local")) == []


def test_who_evaluates_a_condition_does_not_change() -> None:
    """The JVM would fail the query at `10 / p.b`, and the chain only if a result contains the row."""
    text = TEXT + " AND 10 / p.b > 1"
    for places in ("before", "after"):
        plan = planned(text, engine="spark", places=places)
        (divided,) = [c for scan in plan.scans for c in scan.conditions if "/ p.b" in c.text]
        assert divided.where == "arrow"
        assert plan.scan("p").errors


def test_the_name_of_the_result_s_time_is_left_free() -> None:
    events = Relation("event", pa.schema([*SCHEMA, pa.field("time", pa.string())]), "ts", 0)
    of = Catalog({**catalog().relations, "event": events}, catalog().functions)
    text = "SELECT q.b FROM event [NOW], q [NOW] WHERE event.a = q.a AND risky(event.time)"
    assert before(planned(text, of=of, places="after")) == ["risky(event.time)"]


def test_without_rates_the_partners_say_how_they_compare() -> None:
    """A row of p finds 0.02 rows of q and one of q finds 2 of p, in windows of the same length: q has a hundredth of
    the rows of p, and there are 0.02 + 2 / 100 results per row of p. Half of p is kept, which the 2 are already."""
    known = Knowledge({
        Partners(("p", "a"), ("q", "a")): Estimate(0.02, "declared", low=0),
        Partners(("q", "a"), ("p", "a")): Estimate(2, "declared", low=0),
        ShareKept("risky(p.s)"): Estimate(0.5, "declared", low=0, high=1),
    }).merged(COSTLY)  # fmt: skip
    (note,) = planned(known=known).notes
    assert note == (
        "risky(p.s) is evaluated after the join: 0.04 results per row expected, so 0.04 calls per row of p instead of 1"
    )
    # a window of p that is four times as long has four times the rows: the same partners mean a fourth of the rate
    (note,) = planned(TEXT.replace("p [RANGE 10", "p [RANGE 40"), known).notes
    assert "0.1 results per row" in note  # 0.02 + 2 * 0.02 / 2 * 4


@pytest.mark.parametrize(("words", "moved"), [(200, True), (2, False)])
def test_a_stream_joined_with_a_table(words: int, moved: bool) -> None:
    known = declared(t={"rows": 20, "distinct": {"a": words}}).merged(COSTLY)
    plan = planned("SELECT p.b FROM p, t WHERE p.a = t.a AND risky(p.s)", known, "spark")
    assert after(plan) == ["risky(p.s)"] * moved
    assert len(plan.notes) == moved


def test_places_of_a_checkpoint_are_taken() -> None:
    text = TEXT + " AND calm(p.s) AND calm(q.s)"
    begun = {"p": ("calm(p.s)",), "q": ()}
    for known in (NOTHING_KNOWN, rates(10**6), rates(10)):
        plan = planned(text, known, "spark", places=begun)
        assert sorted(after(plan)) == ["calm(q.s)", "risky(p.s)"]
        assert dict(plan.state.conditions) == begun
        assert plan.notes == (
            "risky(p.s) is evaluated after the join, as its checkpoint was created",
            "calm(q.s) is evaluated after the join, as its checkpoint was created",
        )  # fmt: skip


class Expected(NamedTuple):
    """A condition on one stream."""

    of: str
    cost_us: float
    kept: float


def chain_us(chain: list[Expected], rows: float) -> float:
    """The work of a chain in the best of all orders."""

    def work(order: tuple[Expected, ...]) -> float:
        return sum(each.cost_us * rows * prod(e.kept for e in order[:n]) for n, each in enumerate(order))

    return min(map(work, itertools.permutations(chain)))


def work_us(conditions: list[Expected], rows: dict[str, float], results: float, moved: set[int]) -> float:
    """The work per second if some conditions are after the join."""
    total = 0.0
    for name, rate in rows.items():
        here = [c for n, c in enumerate(conditions) if c.of == name and n not in moved]
        total += chain_us(here, rate) + rate * prod(c.kept for c in here) * ROW_US
    found = results * prod(c.kept for n, c in enumerate(conditions) if n not in moved)
    return total + found * RESULT_US + chain_us([conditions[n] for n in moved], found)


@examples(100, long=5_000)
@given(seed=st.integers(0, 2**32))
def test_the_choice_is_the_cheapest_of_all(seed: int) -> None:
    r = random.Random(seed)
    conditions = [
        Expected(r.choice("pq"), 10 ** r.uniform(-1, 3), r.choice([0.01, 0.2, 0.5, 0.9]))
        for _ in range(r.randint(1, 4))
    ]
    functions = {f"f{n}": UserFunction(f"f{n}", bool, pa.bool_()) for n in range(len(conditions))}
    calls = [f"f{n}({c.of}.s)" for n, c in enumerate(conditions)]
    rows = {name: 10 ** r.uniform(0, 4) for name in "pq"}
    distinct = 10 ** r.uniform(0, 7)
    known = declared(**{name: {"rows_per_second": rate, "distinct": {"a": distinct}} for name, rate in rows.items()})
    for n, each in enumerate(conditions):
        known = known.with_estimate(CostUs(f"f{n}"), Estimate(each.cost_us - BUILT_IN_US, "declared"))
        known = known.with_estimate(ShareKept(calls[n]), Estimate(each.kept, "declared"))
    text = TEXT.replace("risky(p.s)", " AND ".join(calls))
    plan = planned(text, known, of=Catalog(catalog().relations, functions))
    results = 2 * rows["p"] * rows["q"] * 10 / distinct
    chosen = {calls.index(text) for text in after(plan)}
    sets = [set(s) for k in range(len(calls) + 1) for s in itertools.combinations(range(len(calls)), k)]
    best = min(work_us(conditions, rows, results, moved) for moved in sets)
    assert work_us(conditions, rows, results, chosen) <= best * (1 + 1e-9)
    assert sum("after the join" in note for note in plan.notes) == len(chosen)


def test_the_rule_changes_nothing_without_a_join() -> None:
    plan = QueryPlan.of(read_query("SELECT a FROM p WHERE risky(s)", catalog(), {}))
    assert place_filters(plan, COSTLY) is plan
