"""A join is explained with the plan that it begins with, for the columns and the memory that it then has."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.spark.joins.streams import BEGIN_US, UTC
from tests.session.begun_joins import Begun, begun_here
from tests.session.corpus_query import assert_same, by_duckdb
from tests.session.random_queries import TABLE, RandomQuery, queries
from tests.simulation.test_simulated_queries import simulated
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan.joins.join_plan import join_graph
from thalweg.plan.joins.shape import Shape
from thalweg.plan.query.nodes import Kept, WindowJoin, walk
from thalweg.plan.query.query_plan import QueryPlan

CHAIN = (
    "SELECT a.text AS one, b.text AS two, c.text AS three FROM a, b, c WHERE a.k = b.k AND b.m = c.m WINDOW 10 SECONDS"
)
RATES = {"a": 2_000, "b": 300, "c": 20}
PARTNERS = {"partners": {"a, b": (30, None), "b, c": (0.1, None)}}
"""With which the results of b and c are kept."""


def rows(number: int, count: int = 30) -> pa.Table:
    ticks = [BEGIN_US + 100_000 * n for n in range(count)]
    return pa.table({
        "ts": pa.array(ticks, pa.int64()).cast(UTC), "k": pa.array([n % 3 for n in range(count)], pa.int64()),
        "m": pa.array([n % 5 for n in range(count)], pa.int64()), "text": [f"{number} {n}" for n in range(count)],
    })  # fmt: skip


def chained(**given: Any) -> tw.ContinuousQuery:
    s = tw.session()
    for number, (name, rate) in enumerate(RATES.items()):
        s.stream(name, rows(number), time="ts", statistics={"rows_per_second": rate})
    return s.query(CHAIN, **{"statistics": PARTNERS, **given})


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Begun]:
    return begun_here(monkeypatch)


def join_in(plan: QueryPlan) -> WindowJoin:
    assert isinstance(plan.join, WindowJoin)
    return plan.join


def test_a_query_is_explained_with_the_widths_of_its_columns(begun: list[Begun]) -> None:
    """A text needs more memory than a number."""
    q = chained()
    explained = q.explain().candidates
    assert q.dataframe().num_rows
    (ran,) = begun
    assert ran.start is not None
    assert ran.start.choice is not None
    assert explained == ran.start.choice.candidates
    assert ran.shape == ran.start.shape == ("a", ("b", "c"))


def test_a_chart_has_the_limit_and_the_widths_of_a_run() -> None:
    """With little memory it has other plans than with much."""
    assert chained(max_bytes=1).chart(k=3).to_dict() != chained(max_bytes=1 << 40).chart(k=3).to_dict()


def test_a_started_query_shows_what_was_chosen_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    q = chained()
    run = q.start(format="noop")
    run.awaitTermination()
    then = run.explain().candidates
    assert q.explain().candidates == then
    monkeypatch.setenv("THALWEG_MAX_BYTES", "1000")
    assert run.explain().candidates == then
    assert all(each.fits for each in then)
    assert not any(each.fits for each in q.explain().candidates)


def test_what_a_user_sets_is_what_begins(begun: list[Begun]) -> None:
    tables = {name: rows(number) for number, name in enumerate("abc")}
    for plan, shape in (("multiway", None), ("((a b) c)", (("a", "b"), "c"))):
        q = chained(plan=plan)
        assert q.dataframe().num_rows == simulated(q, tables, 1).rows().num_rows
        assert {each.shape for each in begun} == {shape}
        kept = join_in(q.plan).kept
        assert kept is not None
        assert kept.why == "as plan= sets it"
        begun.clear()


@pytest.mark.parametrize(
    ("statistics", "given", "why"),
    [
        (PARTNERS, {}, "the best of 3 plans, from declared numbers: least CPU time"),
        (PARTNERS, {"objective": "steady_rate"}, "the best of 3 plans, from declared numbers: steady_rate()"),
        (PARTNERS, {"max_bytes": 1}, "the best of 3 plans, from declared numbers: least memory, because none is "
                                     "expected to stay within max_bytes"),
        ({}, {}, "unknown: the partners of a in b and the partners of b in c"),
    ],
)  # fmt: skip
def test_the_plan_says_why(statistics: Any, given: Any, why: str) -> None:
    kept = join_in(chained(statistics=statistics, **given).plan).kept
    assert kept is not None
    assert kept.why == why


def drawn_session(query: RandomQuery, r: random.Random) -> tw.Session:
    """With numbers that lead to all kinds of plans."""
    session, declared = tw.session(), r.random() < 0.9
    for name, table in query.streams.items():
        known = {"rows_per_second": 10.0 ** r.uniform(-1, 4), "distinct": {"k": 3, "j": 4, "n": 7}}
        session.stream(
            name, table, time="ts", lateness=f"{query.lateness_us} microseconds", statistics=known if declared else None
        )
    session.table(TABLE, query.table, statistics={"rows": 20, "distinct": {"k": 3, "j": 4}} if declared else None)
    return session


@examples(40, long=1_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(query=queries(), seed=st.integers(0, 2**32))
def test_random_queries_run_as_they_are_explained(query: RandomQuery, seed: int) -> None:
    r = random.Random(seed)
    objective = r.choice([None, "steady_rate", "least_memory", tw.objective.balance(1, 2)])
    given_bytes = r.choice([None, None, 10**7])
    q = drawn_session(query, r).query(query.ours, objective=objective, max_bytes=given_bytes)
    assume(isinstance(q.plan.join, WindowJoin))
    explained, kept = q.explain(), start_of(join_in(q.plan))
    with pytest.MonkeyPatch.context() as patch:
        begun = begun_here(patch)
        found = q.dataframe()
        simulated(q, query.streams, seed)
    assert_same(found, by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), q.schema)
    here, under_virtual_clock = begun
    for ran in begun:
        assert ran.memory == kept.limits.memory == (given_bytes or kept.limits.memory)
        assert ran.shape == kept.shape
        assert {alias: sum(each.values()) for alias, each in ran.binding.widths.items()} == kept.estimates.widths
    assert here.start == kept
    assert explained.candidates == (() if kept.choice is None else kept.choice.candidates)
    assert under_virtual_clock.start is None


# what is kept is part of no identity


def identities(plan: QueryPlan, q: tw.ContinuousQuery) -> list[Any]:
    functions = q._functions
    return [plan.query.question, plan.state.parts, [plan.fingerprint_of(node, functions) for node in walk(plan.root)]]


@examples(100, long=2_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(query=queries(), data=st.data())
def test_identities_do_not_depend_on_what_is_kept(query: RandomQuery, data: st.DataObject) -> None:
    q = drawn_session(query, random.Random(1)).query(query.ours)
    plan = q.plan
    assume(isinstance(plan.join, WindowJoin))
    join = join_in(plan)
    shapes: list[Shape | None] = [None, *all_plans(join_graph(join))]
    other = plan.with_join(replace(join, kept=Kept(data.draw(st.sampled_from(shapes)), "drawn")))
    assert other == plan
    assert identities(other, q) == identities(plan, q)
