"""What the first plan is chosen by: expected partners, shares of filters, declared costs, and who does what."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import thalweg as tw
from tests.optimizer.planned import BEFORE, JOINED, catalog, declared, plan_of, texts
from thalweg.optimizer import optimize
from thalweg.optimizer.rules.choose_order import choose_order
from thalweg.optimizer.rules.estimate_sources import share_kept_by_all
from thalweg.optimizer.rules.fold_constants import fold_constants
from thalweg.optimizer.rules.order_filters import order_filters
from thalweg.optimizer.rules.split_conjunctions import split_conjunctions
from thalweg.plan.estimate import Estimate
from thalweg.plan.query.nodes import Filter
from thalweg.plan.query.plan_estimates import PartnersEstimate
from thalweg.plan.query.query import guards_of
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import Catalog, UserFunction
from thalweg.plan.sql.analysis import read_query
from thalweg.report.explain.sources import source_sentence
from thalweg.session.conditions import predicates
from thalweg.stats import NOTHING_KNOWN, Knowledge, Partners, ShareKept

# choose_order: from what is declared, and only then


ORDERED = (
    "SELECT p.a FROM p [RANGE 10 SECONDS], q [RANGE 10 SECONDS], r [RANGE 100 SECONDS] WHERE p.a = q.a AND q.a = r.a"
)


def order(**statistics: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    plan = plan_of(ORDERED, *BEFORE, choose_order, known=declared(**statistics))
    assert plan.join is not None
    return plan.join.order, plan.join.why


def test_the_fewest_partners_come_first() -> None:
    def each(rate: float, different: float) -> dict[str, Any]:
        return {"rows_per_second": rate, "distinct": {"a": different}}

    # rows in the window over different values: p 10*10/5 = 20, q 10*10/50 = 2, r 1*100/20 = 5
    found = order(p=each(10, 5), q=each(10, 50), r=each(1, 20))
    assert found == (("q", "r", "p"), "fewest expected partners first, from declared statistics")
    # ten times the rate of q makes it 20: p was written before
    assert order(p=each(10, 5), q=each(100, 50), r=each(1, 20))[0] == ("r", "p", "q")


@pytest.mark.parametrize(
    "r",
    [
        None,
        {"distinct": {"a": 5}},
        {"rows_per_second": 5},
        {"rows_per_second": 5, "distinct": {"b": 5}},
    ],
)
def test_where_something_is_unknown_the_written_order_stands(r: dict[str, Any] | None) -> None:
    known = {"rows_per_second": 1, "distinct": {"a": 1000}}
    found = order(p=known, q=known, **({"r": r} if r is not None else {}))
    assert found == (("p", "q", "r"), "as written, because nothing is known about r")


def said(plan: QueryPlan) -> dict[str, str]:
    """What `explain` says about the sources of a join."""
    sources = {scan.alias: scan.source.relation for scan in plan.scans}
    return {
        alias: source_sentence(each, is_stream=sources[alias].is_stream, is_joined=True)
        for alias, each in plan.estimates.sources.items()
    }


def test_estimates_say_where_they_come_from() -> None:
    known = declared(p={"rows_per_second": 10, "distinct": {"a": 5}}, q={"distinct": {"a": 5}})
    assert said(plan_of(ORDERED, *BEFORE, choose_order, known=known)) == {
        "p": "20 partners per row of q and r, 100 % of rows find one, declared: 5 distinct values of a, 100 rows",
        "q": "no rate is declared",
        "r": "no statistics are declared",
    }


def test_tables_have_rows_and_no_rate() -> None:
    known = declared(p={"rows_per_second": 10, "distinct": {"a": 5}}, t={"rows": 30, "distinct": {"a": 15}})
    plan = plan_of("SELECT word FROM p [RANGE 1 SECOND], t WHERE p.a = t.a", *BEFORE, choose_order, known=known)
    assert said(plan)["t"] == (
        "2 partners per row of p, 86.5 % of rows find one, declared: 15 distinct values of a, 30 rows"
    )
    assert plan.join is not None
    assert plan.join.order == ("p", "t")  # 10 rows of 5 values are 2 partners too: as written


def test_filters_leave_fewer_partners() -> None:
    each = {"rows_per_second": 10, "distinct": {"a": 5, "b": 4}}
    known = declared(p=each, q=each, r=each)
    # 20, 20 and 200 partners; of r's rows one of four, and a tenth of those
    plan = plan_of(f"{ORDERED} AND r.b = 3 AND r.s = 'x'", *BEFORE, choose_order, known=known)
    assert plan.join is not None
    assert plan.join.order == ("r", "p", "q")
    assert said(plan)["r"] == (
        "5 partners per row of p and q, 99.3 % of rows find one, declared: 5 distinct values of a, 1,000 rows, of "
        "which filters keep 2.5 %, assumed"
    )


def test_a_computed_key_has_the_values_of_its_column() -> None:
    each = {"rows_per_second": 10, "distinct": {"s": 5}}
    text = "SELECT p.a FROM p [RANGE 1 SECOND], q [RANGE 2 SECONDS] WHERE lower(p.s) = q.s"
    plan = plan_of(text, *BEFORE, choose_order, known=declared(p=each, q=each))
    assert said(plan)["p"] == (
        "2 partners per row of q, 86.5 % of rows find one, declared: 5 distinct values of s, 10 rows"
    )


# partners belong to a directed edge


CHAIN = "SELECT p.a FROM p [RANGE 10 SECONDS], q [RANGE 10 SECONDS], r [RANGE 10 SECONDS] WHERE p.a = q.a AND q.b = r.b"
WIDE = {"rows_per_second": 30, "distinct": {"a": 10, "b": 3000}}


def edges(plan: QueryPlan) -> dict[tuple[str, str], float | None]:
    """Partners by who looks and where."""
    return {
        (edge.of, alias): None if edge.partners is None else edge.partners.value
        for alias, source in plan.estimates.sources.items()
        for edge in source.partners
    }


def test_partners_are_estimated_by_the_column_of_the_lookup() -> None:
    """In a chain, rows of p look in q by a, and rows of r by b; DuckDB counts them in even data."""
    known = declared(
        p={"rows_per_second": 5, "distinct": {"a": 10}}, q=WIDE, r={"rows_per_second": 300, "distinct": {"b": 3000}}
    )
    data = duckdb.connect()
    data.sql("CREATE TABLE p AS SELECT i % 10 AS a FROM range(50) AS t(i)")
    data.sql("CREATE TABLE q AS SELECT i % 10 AS a, i * 10 AS b FROM range(300) AS t(i)")
    data.sql("CREATE TABLE r AS SELECT i AS b FROM range(3000) AS t(i)")

    def counted(one: str, other: str, key: str) -> float:
        ((mean,),) = data.sql(
            f"SELECT (SELECT count(*) FROM {one} JOIN {other} USING ({key})) / (SELECT count(*) FROM {one})"
        ).fetchall()
        return float(mean)

    found = edges(plan_of(CHAIN, *BEFORE, choose_order, known=known))
    assert found[("p", "q")] == pytest.approx(counted("p", "q", "a")) == 30
    assert found[("r", "q")] == pytest.approx(counted("r", "q", "b")) == 0.1
    assert found[("q", "p")] == pytest.approx(counted("q", "p", "a")) == 5
    assert found[("q", "r")] == pytest.approx(counted("q", "r", "b")) == 1
    assert len(found) == 4


def test_what_many_rows_look_for_decides_the_order() -> None:
    """A row of p finds 30 rows of q, a row of r one in ten times, and a row of either one in t six of ten times."""
    text = CHAIN.replace("r [RANGE 10 SECONDS]", "r [RANGE 10 SECONDS], t") + " AND p.b = t.a AND r.a = t.a"

    def first(p_rate: float, r_rate: float) -> tuple[str, ...]:
        one = {"a": 1, "b": 1}
        known = declared(
            p={"rows_per_second": p_rate, "distinct": one}, q=WIDE, r={"rows_per_second": r_rate, "distinct": one},
            t={"rows": 100, "distinct": {"a": 100}},
        )  # fmt: skip
        plan = plan_of(text, *BEFORE, choose_order, known=known)
        assert plan.join is not None
        assert (edges(plan)[("p", "q")], edges(plan)[("r", "q")], edges(plan)[("p", "t")]) == (30, 0.1, 1)
        return tuple(alias for alias in plan.join.order if alias in "qt")

    assert first(1000, 1) == ("t", "q")
    assert first(1, 1000) == ("q", "t")


def test_every_edge_is_explained() -> None:
    known = declared(q=WIDE, p={"rows_per_second": 5, "distinct": {"a": 10}})
    plan = plan_of(f"{CHAIN} AND q.s = 'x'", *BEFORE, choose_order, known=known)
    assert said(plan) == {
        "p": "5 partners per row of q, 99.3 % of rows find one, declared: 10 distinct values of a, 50 rows",
        "q": "3 partners per row of p, 95 % of rows find one, declared: 10 distinct values of a, 300 rows; 0.01 "
        "partners per row of r, 0.995 % of rows find one, declared: 3,000 distinct values of b, 300 rows; filters "
        "keep 10 %, assumed",
        "r": "no statistics are declared",
    }
    known = declared(q={"rows_per_second": 30, "distinct": {"a": 10}})
    assert said(plan_of(CHAIN, *BEFORE, choose_order, known=known))["q"] == (
        "30 partners per row of p, 100 % of rows find one, declared: 10 distinct values of a, 300 rows; "
        "distinct values of b are not declared"
    )


def test_one_known_edge_of_a_source_is_enough() -> None:
    known = declared(p=WIDE, q={"rows_per_second": 30, "distinct": {"a": 1}}, r={**WIDE, "rows_per_second": 0.1})
    plan = plan_of(CHAIN, *BEFORE, choose_order, known=known)
    assert plan.join is not None
    assert plan.join.order == ("r", "p", "q")
    assert edges(plan)[("r", "q")] is None


def test_of_several_keys_the_one_with_fewest_partners_counts() -> None:
    text = "SELECT p.a FROM p [RANGE 10 SECONDS], q [RANGE 10 SECONDS] WHERE p.a = q.a AND p.b = q.b"
    plan = plan_of(text, *BEFORE, choose_order, known=declared(q=WIDE))
    (edge,) = plan.estimates.sources["q"].partners
    assert edge == PartnersEstimate("p", "b", Estimate(3000, "declared", low=1), Estimate(0.1, "declared", low=0))


def test_what_was_counted_for_an_edge_is_taken_as_it_is() -> None:
    counted = Estimate(7, "counted", 0.5, low=0, as_of=3)
    known = declared(q=WIDE).with_estimate(Partners(("p", "a"), ("q", "a")), counted)
    plan = plan_of(CHAIN, *BEFORE, choose_order, known=known)
    assert (edges(plan)[("p", "q")], edges(plan)[("r", "q")]) == (7, 0.1)
    only = Knowledge({Partners(("p", "a"), ("q", "a")): counted})
    assert said(plan_of(CHAIN, *BEFORE, choose_order, known=only))["q"] == (
        "7 partners per row of p, 99.9 % of rows find one, counted; no statistics are declared"
    )


def test_what_was_counted_for_a_filter_is_taken_as_it_is() -> None:
    known = Knowledge({ShareKept("p.x > 1.5"): Estimate(0.9, "counted", 0, 0, 1)})
    text = "SELECT a FROM p WHERE x > 1.5 AND s = 'x'"
    plan = plan_of(text, *BEFORE, order_filters, choose_order, known=known)
    kept = plan.estimates.sources["p"].kept
    assert kept is not None
    assert kept.value == pytest.approx(0.09)
    assert (kept.origin, kept.interval(0.9)) == ("assumed", (0, 1))
    # nine of ten pass the first; what is not known of the second is assumed to be a third
    assert texts(plan.scans[0].conditions) == ["p.s = 'x'", "p.x > 1.5"]
    one = plan_of("SELECT a FROM p WHERE x > 1.5", *BEFORE, choose_order, known=known)
    assert one.estimates.sources["p"].kept == Estimate(0.9, "counted", 0, 0, 1)


@pytest.mark.parametrize(
    "condition",
    [
        "a = 3", "a <> 3", "a IN (1, 2)", "NOT a IN (1, 2)", "a = 3 OR b = 2", "a = 3 AND b = 2", "a <=> 3",
        "NOT (a = 3 OR b = 2)", "(a = 1 OR b = 2) AND s = 'x'", "FALSE OR a = 3",
        "a = 3 AND x > 1 AND 1 = 2",
    ],
)  # fmt: skip
def test_declared_shares_are_those_of_even_values(condition: str) -> None:
    """All combinations of so many values each, counted by DuckDB."""
    relation = duckdb.sql(
        "SELECT avg(CASE WHEN {} THEN 1 ELSE 0 END) FROM range(1, 6) AS p(a), range(1, 5) AS q(b), "
        "(VALUES ('x'), ('y')) AS r(s), range(0, 3) AS t(x)".format(condition.replace("<=>", "IS NOT DISTINCT FROM"))
    )
    assert relation is not None
    counted = relation.fetchall()
    query = read_query(f"SELECT a FROM p WHERE {condition}", catalog(), {})
    plan = split_conjunctions(fold_constants(QueryPlan.of(query)))
    found = share_kept_by_all(plan.conditions, declared(p={"distinct": {"a": 5, "b": 4, "s": 2}}), "p")
    assert found.origin == "declared"
    assert found.value == pytest.approx(counted[0][0])


@pytest.mark.parametrize(
    ("condition", "share"),
    [("x > 1", 1 / 3), ("x BETWEEN 1 AND 2", 1 / 4), ("s = 'x'", 1 / 10), ("s IN ('x', 'y')", 2 / 10),
     ("a IN (1, 2, 3, 4, 5, 6, 7)", 1 / 2), ("s LIKE 'x%'", 1 / 3), ("calm(a)", 1 / 3), ("s IS NOT NULL", 9 / 10),
     ("x > 1 AND s = 'x'", 1 / 30), ("x > 1 OR s = 'x'", 1 / 3 + 1 / 10 - 1 / 30)],
)  # fmt: skip
def test_shares_that_nobody_declared_are_those_of_the_paper(condition: str, share: float) -> None:
    """Selinger et al., SIGMOD 1979, table 1; of LIKE, functions and nulls it says nothing."""
    query = read_query(f"SELECT a FROM p WHERE {condition}", catalog(), {})
    found = share_kept_by_all(query.conditions, NOTHING_KNOWN, "p")
    assert found.origin == "assumed"
    assert found.value == pytest.approx(share)


# order_filters: by declared costs


def first_order(condition: str, costs: dict[str, float | None], **statistics: dict[str, Any]) -> list[str]:
    functions = {
        name: UserFunction(name, bool, pa.bool_(), cost_us=cost, safe=name != "risky") for name, cost in costs.items()
    }
    known = declared(**statistics).merged(Knowledge.declared_costs(functions.values()))
    of = Catalog(catalog().relations, functions)
    plan = plan_of(f"SELECT a FROM p WHERE {condition}", *BEFORE, order_filters, known=known, of=of)
    return texts(plan.scans[0].conditions)


def test_cheap_filters_are_tried_first() -> None:
    found = first_order("dear(a) AND x > 1.5 AND calm(b)", {"dear": 500, "calm": 20})
    assert found == ["p.x > 1.5", "calm(p.b)", "dear(p.a)"]


def test_what_drops_more_may_cost_more() -> None:
    values = {"distinct": {"a": 1.25, "b": 100}}
    # 0.01 us over a fifth dropped, against 0.01 us over nearly all
    assert first_order("a = 1 AND b = 2", {}, p=values) == ["p.b = 2", "p.a = 1"]


def test_a_cost_nobody_declared_leaves_the_written_order() -> None:
    assert first_order("dear(a) AND x > 1.5", {"dear": None}) == ["dear(p.a)", "p.x > 1.5"]


def test_functions_wait_for_nothing() -> None:
    costs: dict[str, float | None] = {"dear": 500, "risky": 1, "calm": 20}
    for text in ("dear(a) AND risky(b) AND calm(a)", "risky(b) AND dear(a) AND calm(a)"):
        assert first_order(text, costs) == ["risky(p.b)", "calm(p.a)", "dear(p.a)"]


def test_what_spark_evaluates_waits_and_nothing_else_does() -> None:
    # nearly all rows pass a <> 0, and so by rank it comes last
    values = {"distinct": {"a": 1000}}
    text = "SELECT a FROM p WHERE 6 / b > 1 AND a <> 0 AND 6 / a = 1"
    here, there = (
        optimize(read_query(text, catalog(), {}), engine, known=declared(p=values)).scans[0].conditions
        for engine in ("local", "spark")
    )
    assert texts(here)[-1] == "p.a <> 0"
    assert guards_of(here) == ((), (), ())
    assert texts(there) == ["6.0 / p.b > 1.0", "p.a <> 0", "6.0 / p.a = 1.0"]
    assert guards_of(there) == ((), (), (0, 1))


def test_costs_change_the_first_order_and_no_identity() -> None:
    s = tw.session()
    s.stream("p", pa.table({"ts": pa.array([0], pa.timestamp("us")), "a": [0], "b": [1]}), time="ts")
    s.function("risky", lambda a: a / 0 > 1, "boolean", cost=1)
    s.function("calm", lambda b: b > 0, "boolean", cost=50, safe=True)
    s.function("dear", lambda a: a > 0, "boolean", cost=500, safe=True)
    plan = s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan
    assert texts(plan.scans[0].conditions) == ["risky(p.a)", "calm(p.b)", "dear(p.a)"]
    branch = plan.branches[0]
    assert isinstance(branch, Filter)
    made = predicates(branch, s._functions)
    assert [p.after for p in made] == [(), (), ()]
    assert plan.state == s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan.state
    assert s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").dataframe().num_rows == 0
    before = plan.state
    s.function("dear", lambda a: a > 0, "boolean", cost=0.5, safe=True)  # what it costs is no part of the question
    again = s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan
    assert texts(again.scans[0].conditions) != texts(plan.scans[0].conditions)
    assert again.state == before


# choose_operators: where conditions run, and who joins


def places(text: str, engine: str) -> list[tuple[str, str]]:
    plan = optimize(read_query(text, catalog(), {}), engine)
    return [(c.text, c.where) for scan in plan.scans for c in scan.conditions] + [
        (c.text, c.where) for c in plan.conditions
    ]


def test_spark_s_own_words_run_in_the_jvm_before_rows_travel() -> None:
    text = "SELECT a FROM p WHERE calm(a) AND b > 1 AND 1 / a > 0.5"
    told = places(text, "spark")
    # one that can raise is evaluated beside the function, so that a row's outcome does not depend on the order
    assert told == [("calm(p.a)", "python"), ("p.b > 1", "jvm"), ("1.0 / p.a > 0.5", "arrow")]
    assert [where for _, where in places(text, "local")] == ["python", "arrow", "arrow"]
    before = "SELECT a FROM p WHERE 1 / a > 0.5 AND calm(a)"
    assert [where for _, where in places(before, "spark")] == ["arrow", "python"]
    alone = "SELECT a FROM p WHERE 1 / a > 0.5 AND b > 1"
    assert [where for _, where in places(alone, "spark")] == ["jvm", "jvm"]


def test_rows_that_are_set_aside_are_found_by_the_chain() -> None:
    query = read_query("SELECT a FROM p WHERE 1 / a > 0.5 AND b > 1", catalog(), {})
    (scan,) = optimize(query, "spark", sets_aside=True).scans
    assert [c.where for c in scan.conditions] == ["arrow", "jvm"]


def test_spark_evaluates_raising_parts_early_only_if_first() -> None:
    assert places(JOINED + "1 / p.a > 0.5 AND p.a = q.a", "spark") == [("1.0 / p.a > 0.5", "jvm")]
    assert places(JOINED + "p.a = q.a AND 1 / p.a > 0.5", "spark") == [("1.0 / p.a > 0.5", "arrow")]


def test_conditions_of_joined_rows_have_a_place_too() -> None:
    text = JOINED + "p.a = q.a AND calm(p.b + q.b) AND risky(q.a)"
    assert {where for _, where in places(text, "spark")} == {"python"}


def test_spark_joins_one_stream_with_tables() -> None:
    one = read_query("SELECT word FROM p, t WHERE p.a = t.a", catalog(), {})
    two = read_query(JOINED + "p.a = q.a", catalog(), {})
    joins = [optimize(query, engine).join for query in (one, two) for engine in ("local", "spark")]
    assert [type(join).__name__ for join in joins] == ["WindowJoin", "TableJoin", "WindowJoin", "WindowJoin"]
