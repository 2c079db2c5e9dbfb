"""Each rule of the optimizer, by its reason. Brute force over a grid of values checks that rows stay the same."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import thalweg as tw
from tests.optimizer.planned import BEFORE, JOINED, SCHEMA, catalog, plan_of, texts
from tests.plan.sql.small_streams import at, rows_of
from thalweg.kernels.expressions import evaluate
from thalweg.optimizer import RULES, optimize
from thalweg.optimizer.rules.build_join import build_join
from thalweg.optimizer.rules.choose_order import choose_order
from thalweg.optimizer.rules.fold_constants import fold_constants
from thalweg.optimizer.rules.push_filters import push_filters
from thalweg.optimizer.rules.push_projections import push_projections
from thalweg.optimizer.rules.refuse_unrunnable import refuse_unrunnable
from thalweg.optimizer.rules.simplify_selections import simplify_selections
from thalweg.optimizer.rules.split_conjunctions import split_conjunctions
from thalweg.plan.expressions.expression import Expression, text_of
from thalweg.plan.query.nodes import Fail, walk
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.sql.analysis import read_query
from thalweg.stats import NOTHING_KNOWN


def where(condition: str, *rules: Any) -> list[str]:
    """Return what the conditions on one stream become."""
    return texts(plan_of(f"SELECT a FROM p WHERE {condition}", *rules).conditions)


# the list


def test_every_rule_stands_there_with_its_reason() -> None:
    assert [rule.__name__ for rule, _ in RULES] == [
        "fold_constants", "split_conjunctions", "simplify_selections", "push_filters", "build_join", "choose_operators",
        "place_filters", "choose_order", "push_projections", "order_filters", "carry_errors", "spread_rows",
        "choose_kept", "refuse_unrunnable",
    ]  # fmt: skip
    assert all(len(reason.split()) > 3 for _, reason in RULES)


def test_optimize_is_the_list_and_nothing_else() -> None:
    query = read_query(JOINED + "p.a = q.a AND p.a > 1 + 1 AND p.b < 3", catalog(), {})
    plan = QueryPlan.of(query)
    for rule, _ in RULES:
        plan = rule(plan, NOTHING_KNOWN)
    assert plan == optimize(query)


# fold_constants: values that are the same for every row are computed once


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("a > 2 + 3", ["p.a > 5"]),
        ("a > 2 * (3 + 4) - 1", ["p.a > 13"]),
        ("1 = 1", []),
        ("1 = 2", ["FALSE"]),
        ("NULL", ["NULL"]),
        ("TRUE AND a > 5", ["p.a > 5"]),
        ("a > 5 AND TRUE", ["p.a > 5"]),
        ("1 = 2 AND a > 5", ["FALSE", "p.a > 5"]),
        ("(1 = 2 AND a > 5)", ["FALSE", "p.a > 5"]),
        ("(1 = 2 OR a > 5)", ["p.a > 5"]),
        ("(1 = 1 OR a > 5)", []),
        ("(a > 5 OR 1 = 1)", ["p.a > 5 OR TRUE"]),
        ("s = upper('abc')", ["p.s = 'ABC'"]),
        ("a > CASE WHEN 1 = 1 THEN 5 ELSE 6 END", ["p.a > 5"]),
        ("a = 1 DIV 0", ["p.a = 1 DIV 0"]),
        ("a = CAST('x' AS INT)", ["p.a = CAST('x' AS INT)"]),
        ("risky(s)", ["risky(p.s)"]),
    ],
)
def test_fold(written: str, left: list[str]) -> None:
    assert where(written, fold_constants) == left


def test_fold_reaches_outputs_but_not_the_keys_of_groups() -> None:
    assert text_of(plan_of("SELECT a * (1 + 1) AS y FROM p", fold_constants).query.outputs[0].expression) == "p.a * 2"
    grouped = plan_of("SELECT a + (1 + 1) AS y FROM p [RANGE 1 s] GROUP BY a + (1 + 1)", fold_constants).query
    assert grouped.grouping is not None
    assert grouped.outputs[0].expression == grouped.grouping.keys[0]


def test_what_raises_does_so_on_a_row_and_not_in_planning() -> None:
    s = tw.session()
    s.stream("p", pa.table({"ts": at(0, 1), "a": [1, 2]}), time="ts")
    never = s.query("SELECT a FROM p WHERE a > 5 AND a > 1 DIV 0")
    assert never.dataframe().num_rows == 0
    with pytest.raises(tw.ThalwegError, match="zero"):
        s.query("SELECT a FROM p WHERE a > 1 AND a > 1 DIV 0").dataframe()


# split_conjunctions: later rules move conjuncts one by one


def test_split() -> None:
    plan = plan_of(
        "SELECT a FROM p WHERE a > 1 AND (b BETWEEN 2 AND 3 AND (x > 4 OR f)) AND NOT (f AND a = 1)", split_conjunctions
    )
    assert texts(plan.conditions) == ["p.a > 1", "p.b >= 2", "p.b <= 3", "p.x > 4.0 OR p.f", "NOT (p.f AND p.a = 1)"]
    assert [c.place for c in plan.conditions] == sorted(c.place for c in plan.conditions)


def test_split_what_folding_uncovers() -> None:
    assert where("(1 = 2 OR (a > 5 AND b > 6))", fold_constants, split_conjunctions) == ["p.a > 5", "p.b > 6"]


# simplify_selections: all comparisons of a column in one condition


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("a > 5 AND a < 10", ["p.a > 5 AND p.a < 10"]),
        ("a > 5 AND a > 7", ["p.a > 7"]),
        ("a >= 5 AND a > 5", ["p.a > 5"]),
        ("a > 5 AND a >= 5", ["p.a > 5"]),
        ("5 < a AND 10 >= a", ["p.a > 5 AND p.a <= 10"]),
        ("a >= 5 AND a <= 5", ["p.a = 5"]),
        ("a = 5 AND a > 3", ["p.a = 5"]),
        ("a = 5 AND a = 5", ["p.a = 5"]),
        ("a = 3 AND a > 5", ["FALSE"]),
        ("a = 3 AND a = 4", ["FALSE"]),
        ("a > 5 AND a < 5", ["FALSE"]),
        ("a > 5 AND a <= 5", ["FALSE"]),
        ("a BETWEEN 9 AND 3", ["FALSE"]),
        ("a > 5 AND b > 6 AND a < 8", ["p.a > 5 AND p.a < 8", "p.b > 6"]),
        ("a > 5 AND f AND a > 9", ["p.a > 9", "p.f"]),
        ("s > 'a' AND s > 'b'", ["p.s > 'b'"]),
        ("s > 'é' AND s > 'b'", ["p.s > 'é'", "p.s > 'b'"]),
        ("a <> 5 AND a <> 6", ["p.a <> 5", "p.a <> 6"]),
        ("a > NULL AND a > 5", ["p.a > NULL", "p.a > 5"]),
        ("a > 5 AND a + 1 > 5", ["p.a > 5", "p.a + 1 > 5"]),
        ("f = TRUE AND f = FALSE", ["p.f = TRUE", "p.f = FALSE"]),
    ],
)
def test_simplify(written: str, left: list[str]) -> None:
    assert where(written, split_conjunctions, simplify_selections) == left


def test_a_contradiction_is_told() -> None:
    plan = plan_of("SELECT a FROM p WHERE a = 3 AND a > 5", split_conjunctions, simplify_selections)
    assert plan.notes == ("p.a = 3 AND p.a > 5 can never be true: no row passes",)


NAN, INF = float("nan"), float("inf")
GRIDS: dict[str, list[Any]] = {
    "a": [None, -(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1],
    "b": [None, -(2**63), -1, 0, 1, 2, 3, 4, 2**63 - 1],
    "x": [None, NAN, -INF, -1.0, -0.0, 0.0, 1.0, 1.5, 2.0, 3.0, INF],
    "s": [None, "", "A", "a", "aa", "b", "é", "\U0001f600", "\uffff"],
}
LITERALS = {
    "a": ["0", "2", "3", "2.5", "2e0", "-1"],
    "b": ["0", "2", "9223372036854775807", "2.0"],
    "x": ["0", "-0e0", "1.5e0", "2", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"],
    "s": ["''", "'a'", "'b'", "'é'"],
}


def selected(conditions: tuple[Condition, ...], column: str, values: list[Any]) -> list[bool]:
    """Return which values pass all conditions, evaluated by the kernels one after the other."""
    array = pa.array(values, SCHEMA.field(column).type)

    def passes(expression: Expression) -> list[bool]:
        return [v is True for v in evaluate(expression, lambda ref: array, len(array), {}).to_pylist()]

    return (
        [all(row) for row in zip(*(passes(c.expression) for c in conditions), [True] * len(values), strict=False)]
        if (conditions)
        else [True] * len(values)
    )


@pytest.mark.parametrize("column", GRIDS)
def test_simplified_conditions_select_the_same_rows(column: str) -> None:
    comparisons = [f"{column} {sign} {value}" for sign in ("=", "<", "<=", ">", ">=") for value in LITERALS[column]]
    comparisons += [f"{LITERALS[column][1]} < {column}", f"{column} <> {LITERALS[column][1]}", f"{column} IS NOT NULL"]
    shorter = 0
    for several in itertools.chain(
        itertools.combinations(comparisons, 2), list(itertools.combinations(comparisons, 3))[::97]
    ):
        before = plan_of(f"SELECT a FROM p WHERE {' AND '.join(several)}", fold_constants, split_conjunctions)
        after = simplify_selections(before)
        shorter += len(after.conditions) < len(before.conditions)
        assert selected(after.conditions, column, GRIDS[column]) == selected(
            before.conditions, column, GRIDS[column]
        ), several
    assert shorter > 50


# push_filters: fewer rows are joined


def _pushed(plan: QueryPlan) -> tuple[dict[str, list[str]], list[str]]:
    return {scan.alias: texts(scan.conditions) for scan in plan.scans}, texts(plan.conditions)


def pushed(condition: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the conditions of each stream, and those that remain on joined rows."""
    return _pushed(plan_of(JOINED + condition, fold_constants, split_conjunctions, push_filters))


def test_push_to_the_stream_a_condition_speaks_of() -> None:
    assert pushed("p.a = q.a AND q.b > 3 AND p.f AND p.a > q.b") == (
        {"p": ["p.f"], "q": ["q.b > 3"]}, ["p.a = q.a", "p.a > q.b"]
    )  # fmt: skip


TABLED = "SELECT p.a FROM p, t WHERE "


@pytest.mark.parametrize(
    ("condition", "by_stream", "stays"),
    [
        ("risky(p.s) AND p.a = q.a", {"p": ["risky(p.s)"], "q": []}, ["p.a = q.a"]),
        ("p.a > 0 AND 6 / p.a > 1 AND p.a = q.a", {"p": ["p.a > 0", "6.0 / p.a > 1.0"], "q": []}, ["p.a = q.a"]),
        ("q.a > 0 AND 6 / p.a > 1 AND p.a = q.a", {"p": ["6.0 / p.a > 1.0"], "q": ["q.a > 0"]}, ["p.a = q.a"]),
        ("p.a = q.a AND risky(p.s)", {"p": ["risky(p.s)"], "q": []}, ["p.a = q.a"]),
        ("p.a = q.a AND calm(p.s)", {"p": ["calm(p.s)"], "q": []}, ["p.a = q.a"]),
        ("p.a = q.a AND p.b + 1 > 5", {"p": ["p.b + 1 > 5"], "q": []}, ["p.a = q.a"]),
        ("p.a = q.a AND risky(p.s) AND risky(q.s) AND p.f", {"p": ["risky(p.s)", "p.f"], "q": ["risky(q.s)"]},
         ["p.a = q.a"]),
        ("FALSE AND p.a = q.a", {"p": ["FALSE"], "q": []}, ["p.a = q.a"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_of_windows_all_conditions_of_one_stream_are_pushed(
    condition: str, by_stream: dict[str, list[str]], stays: list[str], engine: str
) -> None:
    plan = replace(plan_of(JOINED + condition, fold_constants, split_conjunctions), engine=engine)
    assert _pushed(push_filters(plan)) == (by_stream, stays)


@pytest.mark.parametrize(
    ("condition", "by_source", "stays"),
    [
        # nothing is written before it, or all of that went to the same source
        ("risky(p.s) AND p.a = t.a", {"p": ["risky(p.s)"], "t": []}, ["p.a = t.a"]),
        ("p.a > 0 AND 6 / p.a > 1 AND p.a = t.a", {"p": ["p.a > 0", "6.0 / p.a > 1.0"], "t": []}, ["p.a = t.a"]),
        # Spark evaluates it, and rows that have no partner in t must not be divided
        ("t.a > 0 AND 6 / p.a > 1 AND p.a = t.a", {"p": [], "t": ["t.a > 0"]}, ["6.0 / p.a > 1.0", "p.a = t.a"]),
        ("p.a = t.a AND p.b + 1 > 5", {"p": [], "t": []}, ["p.a = t.a", "p.b + 1 > 5"]),
        ("p.a = t.a AND CAST(p.s AS INT) > 5", {"p": [], "t": []}, ["p.a = t.a", "CAST(p.s AS INT) > 5"]),
        # a function is evaluated by the chain, and may raise earlier
        ("p.a = t.a AND risky(p.s)", {"p": ["risky(p.s)"], "t": []}, ["p.a = t.a"]),
        ("p.a = t.a AND p.x + 1 > 5", {"p": ["p.x + 1.0 > 5.0"], "t": []}, ["p.a = t.a"]),
        ("p.a = t.a AND p.a / 2 > 5", {"p": ["p.a / 2.0 > 5.0"], "t": []}, ["p.a = t.a"]),
    ],
)  # fmt: skip
def test_what_spark_evaluates_waits_for_what_is_written_before(
    condition: str, by_source: dict[str, list[str]], stays: list[str]
) -> None:
    plan = replace(plan_of(TABLED + condition, fold_constants, split_conjunctions), engine="spark")
    assert _pushed(push_filters(plan)) == (by_source, stays)
    # set aside, or in this process, a chain evaluates it
    for other in (replace(plan, engine="local"), replace(plan, sets_aside=True)):
        assert len(_pushed(push_filters(other))[1]) == 1


def test_that_it_waits_is_told() -> None:
    plan = replace(plan_of(TABLED + "p.a = t.a AND 6 / p.a > 1"), engine="spark")
    (note,) = push_filters(plan).notes
    assert note.startswith("6.0 / p.a > 1.0 can raise, and Spark evaluates it")
    assert "write it first" in note
    assert not push_filters(replace(plan, engine="local")).notes


# carry_errors: rows on which a condition raises before a join


def test_errors_are_carried_only_where_something_can_raise() -> None:
    plan = optimize(read_query(JOINED + "p.a = q.a AND risky(p.s) AND calm(q.s) AND q.b > 1", catalog(), {}))
    assert {scan.alias: scan.errors for scan in plan.scans} == {"p": "carried errors", "q": ""}
    assert plan.join is not None
    assert plan.join.keeps == (("p", "a"), ("p", "carried errors"))
    assert isinstance(plan.root.input, Fail)
    assert plan.root.input.names == ("p_carried errors",)
    assert plan.root.input.schema.names == ["p_a", "event_time"]


@pytest.mark.parametrize("text", [JOINED + "p.a = q.a AND calm(p.s)", "SELECT a FROM p WHERE risky(s)"])
def test_no_errors_are_carried_without_need(text: str) -> None:
    plan = optimize(read_query(text, catalog(), {}))
    assert not any(isinstance(node, Fail) for node in walk(plan.root))


def test_what_spark_evaluates_carries_nothing() -> None:
    text = JOINED + "6 / p.a > 1 AND p.a = q.a"
    assert not any(isinstance(n, Fail) for n in walk(optimize(read_query(text, catalog(), {}), "spark").root))
    assert any(isinstance(n, Fail) for n in walk(optimize(read_query(text, catalog(), {}), "local").root))


# build_join: equalities become keys


def joined(condition: str) -> QueryPlan:
    return plan_of(
        JOINED + condition, fold_constants, split_conjunctions, simplify_selections, push_filters, build_join
    )


def keys(plan: QueryPlan) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    assert plan.join is not None
    return [(e.one, e.other) for e in plan.join.equalities]


def test_one_source_needs_no_join() -> None:
    assert plan_of("SELECT a FROM p WHERE a > 5", push_filters, build_join).join is None


def test_equal_columns_are_keys() -> None:
    plan = joined("p.a = q.b AND q.s = p.s")
    assert keys(plan) == [(("p", "a"), ("q", "b")), (("q", "s"), ("p", "s"))]
    assert plan.conditions == ()
    assert all(scan.computed == () for scan in plan.scans)  # widths differ, and nothing is computed for that


def test_computed_keys_are_computed_once_before_the_join() -> None:
    plan = joined("upper(p.s) = q.s AND upper(p.s) = lower(q.s)")
    assert keys(plan) == [(("p", "computed 0"), ("q", "s")), (("p", "computed 0"), ("q", "computed 0"))]
    assert [(name, text_of(e)) for name, e in plan.scan("p").computed] == [("computed 0", "upper(p.s)")]
    assert plan.notes == ("upper(p.s) is computed before the join", "lower(q.s) is computed before the join")


@pytest.mark.parametrize(
    ("condition", "residuals", "stays"),
    [
        ("p.b < q.b", ["p.b < q.b"], []),
        ("p.ts <= q.ts", ["p.ts <= q.ts"], []),
        ("(p.b < q.b OR p.s IS NULL)", ["p.b < q.b OR p.s IS NULL"], []),
        ("p.x < q.x", ["p.x < q.x"], []),
        ("p.x = q.x", ["p.x = q.x"], []),
        ("p.a + 1 = q.a", [], ["p.a + 1 = q.a"]),
        ("p.b + q.b > 5", [], ["p.b + q.b > 5"]),
        ("p.s <=> q.s", ["p.s <=> q.s"], []),
        ("calm(p.s) = q.f", [], []),
    ],
)
def test_residuals(condition: str, residuals: list[str], stays: list[str]) -> None:
    plan = joined(f"p.a = q.a AND {condition}")
    assert plan.join is not None
    assert (texts(plan.join.residuals), texts(plan.conditions)) == (residuals, stays)


@pytest.mark.parametrize("text", ["p.b < q.b AND p.a + 1 = q.a", "p.a + 1 = q.a AND p.b < q.b"])
def test_a_raising_equality_is_a_key_if_nothing_else_connects(text: str) -> None:
    assert keys(joined(text)) == [(("p", "computed 0"), ("q", "a"))]
    for other in (f"{text} AND p.b = q.b", f"p.b = q.b AND {text}"):
        plan = joined(other)
        assert keys(plan) == [(("p", "b"), ("q", "b"))]
        assert texts(plan.conditions) == ["p.a + 1 = q.a"]


@pytest.mark.parametrize("condition", ["p.b < q.b", "p.x = q.x", "p.s <=> q.s", "p.a = 5 AND q.a = 5", "TRUE"])
def test_streams_that_no_equality_connects_are_refused(condition: str) -> None:
    with pytest.raises(tw.PlanError, match=r"no equality joins q with p.*; write p.x = q.y"):
        joined(condition)


NASTY = [
    "a'b",
    "a\\b",
    "a\nb",
    'a"b',
    "a`b",
    "a\\'b",
    "' OR '1'='1",
    " IS NULL",
    " IN (",
    "a\tb",
    "é\U0001f600",
    "\\",
    "%_",
    "",
]


def nasty() -> tuple[Any, duckdb.DuckDBPyConnection]:
    """Rows of nasty texts, twice."""
    n = len(NASTY)
    flags = [None if k % 5 == 4 else k % 2 == 0 for k in range(n)]
    table = pa.table({"ts": at(*range(n)), "k": [1] * n, "s": NASTY, "i": list(range(n)), "f": flags})
    s, other = tw.session(), duckdb.connect()
    for name in ("one", "two"):
        s.stream(name, table, time="ts")
        other.register(name, table)
    return s, other


@pytest.mark.parametrize("value", NASTY)
def test_residuals_with_any_text_select_the_rows_duckdb_selects(value: str) -> None:
    s, other = nasty()
    quoted = value.replace("'", "''")
    for condition in (
        "(a.s = :v OR b.s = :v)",
        "(NOT (a.s IN (:v, b.s)) OR b.i = 1)",
        "((a.s = :v) IS NOT NULL OR b.i = 0)",
    ):
        query = s.query(
            f"SELECT a.i, b.i AS j FROM one [RANGE 1 HOUR] a, two [RANGE 1 HOUR] b WHERE a.k = b.k AND {condition}",
            args={"v": value},
        )
        assert len(query.plan.join.residuals) == 1
        assert "\n" not in query.plan.join.residuals[0].text  # a line of the plan
        theirs = f"SELECT a.i, b.i FROM one a, two b WHERE {condition}".replace(":v", f"'{quoted}'")
        assert rows_of(query.dataframe()) == rows_of(other.sql(theirs).to_arrow_table())


@pytest.mark.parametrize(
    "condition",
    [
        "(a.f = b.f) < a.f", "(a.f < b.f) = a.f", "NOT (a.f AND b.f)", "NOT a.f OR b.f",
        "(a.f OR b.f) AND NOT (a.i > b.i)",
        "(a.i > b.i OR NULL)", "(a.i > NULL OR b.i = 3)", "a.i NOT IN (b.i, 3, NULL)",
        "NOT (a.f IS NULL AND b.f IS NULL)",
        "a.ts <> b.ts", "(a.ts > '2026-01-01 00:00:03' OR b.i < 2)", "a.i BETWEEN b.i AND 7", "(a.i < b.i) IS NULL",
        "((a.f = b.f) IS NULL) = a.f",
    ],
)  # fmt: skip
def test_residuals_of_any_shape_select_the_rows_duckdb_selects(condition: str) -> None:
    s, other = nasty()
    query = s.query(
        f"SELECT a.i, b.i AS j FROM one [RANGE 1 HOUR] a JOIN two [RANGE 1 HOUR] b ON a.k = b.k AND ({condition})"
    )
    theirs = f"SELECT a.i, b.i FROM one a, two b WHERE {condition}"
    assert rows_of(query.dataframe()) == rows_of(other.sql(theirs).to_arrow_table())


# push_projections: scans read only the columns that are needed


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT a FROM p", {"p": ("a",)}),
        ("SELECT 1 AS one FROM p", {"p": ("ts",)}),  # something must be read, for rows to be counted
        ("SELECT s, b FROM p WHERE f", {"p": ("b", "s", "f")}),
        ("SELECT count(*) AS n FROM p [RANGE 1 s]", {"p": ("ts",)}),
        ("SELECT s, max(x + b) AS n FROM p [RANGE 1 s] WHERE f GROUP BY s HAVING min(a) > 1",
         {"p": ("ts", "a", "b", "x", "s", "f")}),
        ("SELECT p.s FROM p [NOW], q [NOW] WHERE p.a = q.b", {"p": ("ts", "a", "s"), "q": ("ts", "b")}),
        ("SELECT p.s FROM p [NOW], q [NOW] WHERE upper(p.s) = q.s AND p.b < q.b",
         {"p": ("ts", "b", "s"), "q": ("ts", "b", "s")}),
        ("SELECT word FROM p, t WHERE p.a = t.a", {"p": ("ts", "a"), "t": ("a", "word")}),
    ],
)  # fmt: skip
def test_projections(text: str, columns: dict[str, tuple[str, ...]]) -> None:
    plan = plan_of(text, *BEFORE, choose_order, push_projections)
    assert {scan.alias: tuple(scan.columns) for scan in plan.scans} == columns


# refuse_unrunnable: the last check


def test_the_gatekeeper_changes_nothing() -> None:
    plan = plan_of(JOINED + "p.a = q.a", *BEFORE, choose_order, push_projections)
    assert refuse_unrunnable(plan) is plan


def test_the_gatekeeper_refuses_a_join_without_a_window() -> None:
    from dataclasses import replace

    plan = plan_of(JOINED + "p.a = q.a", *BEFORE, choose_order, push_projections)
    scan = plan.scan("q")
    with pytest.raises(tw.PlanError, match=r"q is joined but has no window.*write q \[RANGE"):
        refuse_unrunnable(plan.with_scan(replace(scan, source=replace(scan.source, window=None))))
