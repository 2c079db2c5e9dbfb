"""What the first plan is chosen by: expected partners, shares of filters, declared costs, and who does what."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import thalweg as tw
from tests.sql.planned import BEFORE, JOINED, catalog, plan_of, texts
from thalweg.optimizer import optimize
from thalweg.optimizer.choose_order import choose_order
from thalweg.optimizer.fold_constants import fold_constants
from thalweg.optimizer.order_filters import order_filters
from thalweg.optimizer.shares import share_of_all
from thalweg.optimizer.split_conjunctions import split_conjunctions
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import Catalog, Statistics, UserFunction
from thalweg.plan.sql.analysis import read_query
from thalweg.session.conditions import predicates

# choose_order: from what is declared, and only then


ORDERED = (
    "SELECT p.a FROM p [RANGE 10 SECONDS], q [RANGE 10 SECONDS], r [RANGE 100 SECONDS] WHERE p.a = q.a AND q.a = r.a"
)


def order(**statistics: Statistics) -> tuple[tuple[str, ...], str]:
    plan = plan_of(ORDERED, *BEFORE, choose_order, known=catalog(**statistics))
    assert plan.join is not None
    return plan.join.order, plan.join.why


def test_the_fewest_partners_come_first() -> None:
    def declared(rate: float, different: float) -> Statistics:
        return Statistics(rows_per_second=rate, distinct={"a": different})

    # rows in the window over different values: p 10*10/5 = 20, q 10*10/50 = 2, r 1*100/20 = 5
    found = order(p=declared(10, 5), q=declared(10, 50), r=declared(1, 20))
    assert found == (("q", "r", "p"), "fewest expected partners first, from declared statistics")
    # ten times the rate of q makes it 20: p was written before
    assert order(p=declared(10, 5), q=declared(100, 50), r=declared(1, 20))[0] == ("r", "p", "q")


@pytest.mark.parametrize(
    "r",
    [
        None,
        Statistics(distinct={"a": 5}),
        Statistics(rows_per_second=5),
        Statistics(rows_per_second=5, distinct={"b": 5}),
    ],
)
def test_where_something_is_unknown_the_written_order_stands(r: Statistics | None) -> None:
    known = Statistics(rows_per_second=1, distinct={"a": 1000})
    found = order(p=known, q=known, **({"r": r} if r is not None else {}))
    assert found == (("p", "q", "r"), "as written, since nothing is known of r")


def test_estimates_say_where_they_come_from() -> None:
    known = catalog(p=Statistics(rows_per_second=10, distinct={"a": 5}), q=Statistics(distinct={"a": 5}))
    estimates = plan_of(ORDERED, *BEFORE, choose_order, known=known).estimates
    assert estimates == {
        "p": "20 partners a row, 100 % find one, declared: 5 different values of a, 100 rows",
        "q": "no rate is declared",
        "r": "nothing is declared",
    }


def test_tables_have_rows_and_no_rate() -> None:
    known = catalog(
        p=Statistics(rows_per_second=10, distinct={"a": 5}), t=Statistics(rows=30, distinct={"a": 15})
    )  # fmt: skip
    plan = plan_of("SELECT word FROM p [RANGE 1 SECOND], t WHERE p.a = t.a", *BEFORE, choose_order, known=known)
    assert plan.estimates["t"] == "2 partners a row, 86.5 % find one, declared: 15 different values of a, 30 rows"
    assert plan.join is not None
    assert plan.join.order == ("p", "t")  # 10 rows of 5 values are 2 partners too: as written


def test_filters_leave_fewer_partners() -> None:
    declared = Statistics(rows_per_second=10, distinct={"a": 5, "b": 4})
    known = catalog(p=declared, q=declared, r=declared)
    # 20, 20 and 200 partners; of r's rows one of four, and a tenth of those
    plan = plan_of(f"{ORDERED} AND r.b = 3 AND r.s = 'x'", *BEFORE, choose_order, known=known)
    assert plan.join is not None
    assert plan.join.order == ("r", "p", "q")
    assert plan.estimates["r"] == (
        "5 partners a row, 99.3 % find one, declared: 5 different values of a, 1,000 rows, of which filters "
        "keep 2.5 %, assumed"
    )


def test_a_computed_key_has_the_values_of_its_column() -> None:
    declared = Statistics(rows_per_second=10, distinct={"s": 5})
    text = "SELECT p.a FROM p [RANGE 1 SECOND], q [RANGE 2 SECONDS] WHERE lower(p.s) = q.s"
    plan = plan_of(text, *BEFORE, choose_order, known=catalog(p=declared, q=declared))
    assert plan.estimates["p"] == "2 partners a row, 86.5 % find one, declared: 5 different values of s, 10 rows"


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
    counted = duckdb.sql(
        "SELECT avg(CASE WHEN {} THEN 1 ELSE 0 END) FROM range(1, 6) AS p(a), range(1, 5) AS q(b), "
        "(VALUES ('x'), ('y')) AS r(s), range(0, 3) AS t(x)".format(condition.replace("<=>", "IS NOT DISTINCT FROM"))
    ).fetchall()
    query = read_query(f"SELECT a FROM p WHERE {condition}", catalog(), {})
    plan = split_conjunctions(fold_constants(QueryPlan.of(query)))
    declared = Statistics(distinct={"a": 5, "b": 4, "s": 2})
    found = share_of_all([c.expression for c in plan.conditions], declared)
    assert found.declared
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
    found = share_of_all([c.expression for c in query.conditions], None)
    assert not found.declared
    assert found.value == pytest.approx(share)


# order_filters: by declared costs


def first_order(condition: str, costs: dict[str, float | None], **statistics: Statistics) -> list[str]:
    known = catalog(**statistics)
    functions = {
        name: UserFunction(name, bool, pa.bool_(), cost_us=cost, safe=name != "risky") for name, cost in costs.items()
    }
    known = Catalog(known.relations, functions)
    plan = plan_of(f"SELECT a FROM p WHERE {condition}", *BEFORE, order_filters, known=known)
    return texts(plan.scans[0].conditions)


def test_cheap_filters_are_tried_first() -> None:
    found = first_order("dear(a) AND x > 1.5 AND calm(b)", {"dear": 500, "calm": 20})
    assert found == ["p.x > 1.5", "calm(p.b)", "dear(p.a)"]


def test_what_drops_more_may_cost_more() -> None:
    values = Statistics(distinct={"a": 1.25, "b": 100})
    # 0.01 us over a fifth dropped, against 0.01 us over nearly all
    assert first_order("a = 1 AND b = 2", {}, p=values) == ["p.b = 2", "p.a = 1"]


def test_a_cost_nobody_declared_leaves_the_written_order() -> None:
    assert first_order("dear(a) AND x > 1.5", {"dear": None}) == ["dear(p.a)", "p.x > 1.5"]


def test_what_can_raise_waits_for_those_written_before_it() -> None:
    costs: dict[str, float | None] = {"dear": 500, "risky": 1, "calm": 20}
    assert first_order("dear(a) AND risky(b) AND calm(a)", costs) == ["calm(p.a)", "dear(p.a)", "risky(p.b)"]
    assert first_order("risky(b) AND dear(a) AND calm(a)", costs) == ["risky(p.b)", "calm(p.a)", "dear(p.a)"]


def test_guards_are_the_conditions_written_before_whatever_comes_first() -> None:
    s = tw.session()
    s.stream("p", pa.table({"ts": pa.array([0], pa.timestamp("us")), "a": [0], "b": [1]}), time="ts")
    s.function("risky", lambda a: a / 0 > 1, "boolean", cost=1)
    s.function("calm", lambda b: b > 0, "boolean", cost=50, safe=True)
    s.function("dear", lambda a: a > 0, "boolean", cost=500, safe=True)
    plan = s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan
    assert texts(plan.scans[0].conditions) == ["calm(p.b)", "dear(p.a)", "risky(p.a)"]
    made = predicates(plan.branches[0], s._functions)
    assert [p.after for p in made] == [(), (), ("dear(p.a)",)]
    assert plan.fingerprint == s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan.fingerprint
    assert s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").dataframe().num_rows == 0
    before = plan.fingerprint
    s.function("dear", lambda a: a > 0, "boolean", cost=5, safe=True)  # what it costs is no part of the question
    again = s.query("SELECT a FROM p WHERE dear(a) AND risky(a) AND calm(b)").plan
    assert texts(again.scans[0].conditions) != texts(plan.scans[0].conditions)
    assert again.fingerprint == before


# choose_operators: where conditions run, and who joins


def places(text: str, engine: str) -> list[tuple[str, str]]:
    plan = optimize(read_query(text, catalog(), {}), engine)
    return [(c.text, c.where) for scan in plan.scans for c in scan.conditions] + [
        (c.text, c.where) for c in plan.conditions
    ]


def test_spark_s_own_words_run_in_the_jvm_before_rows_travel() -> None:
    text = "SELECT a FROM p WHERE calm(a) AND b > 1 AND 1 / a > 0.5"
    told = places(text, "spark")
    # what can raise waits for the function that is written before it, so that Arrow evaluates it in the worker
    assert told == [("calm(p.a)", "python"), ("p.b > 1", "jvm"), ("1.0 / p.a > 0.5", "arrow")]
    assert [where for _, where in places(text, "local")] == ["python", "arrow", "arrow"]
    before = "SELECT a FROM p WHERE 1 / a > 0.5 AND calm(a)"
    assert [where for _, where in places(before, "spark")] == ["jvm", "python"]


def test_conditions_of_joined_rows_have_a_place_too() -> None:
    text = JOINED + "p.a = q.a AND calm(p.b + q.b) AND risky(q.a)"
    assert {where for _, where in places(text, "spark")} == {"python"}


def test_spark_joins_one_stream_with_tables() -> None:
    one = read_query("SELECT word FROM p, t WHERE p.a = t.a", catalog(), {})
    two = read_query(JOINED + "p.a = q.a", catalog(), {})
    joins = [optimize(query, engine).join for query in (one, two) for engine in ("local", "spark")]
    assert [type(join).__name__ for join in joins] == ["WindowJoin", "TableJoin", "WindowJoin", "WindowJoin"]
