"""spread_rows and the probe trees of choose_order: what the rules decide, and what explain says about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.optimizer.planned import catalog, declared
from tests.runtime.joins.generated import graphs
from thalweg.draw.plan_tree import as_text
from thalweg.errors import PlanError
from thalweg.optimizer import optimize
from thalweg.optimizer.rules.spread_rows import rows_held
from thalweg.plan.joins.join_plan import JoinPlan, join_graph, window_join_plan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.query.nodes import WindowJoin
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import Catalog
from thalweg.plan.sql.analysis import read_query
from thalweg.report.explain.query import QueryRun, explain_query
from thalweg.stats import NOTHING_KNOWN, Knowledge

CHAIN = "SELECT p.a FROM p, q, r WHERE p.a = q.a AND q.b = r.b{} WINDOW 1 SECOND"
BY_A, BY_B = (("p", "a"), ("q", "a")), (("q", "b"), ("r", "b"))


def planned(text: str, known: Knowledge = NOTHING_KNOWN, engine: str = "spark") -> QueryPlan:
    return optimize(read_query(text, catalog(), {}), engine, "auto", known)


def join_of(plan: QueryPlan) -> WindowJoin:
    assert isinstance(plan.join, WindowJoin)
    return plan.join


def rates(p: float | None, q: float | None, r: float | None) -> Knowledge:
    told = {"p": p, "q": q, "r": r}
    return declared(**{name: {"rows_per_second": rate} for name, rate in told.items() if rate is not None})


@pytest.mark.parametrize(
    ("known", "where", "columns", "replicated"),
    [
        (rates(1, 1, 1), "", BY_A, ("r",)),  # of equals the one that is written first
        (rates(5, 1, 6), "", BY_B, ("p",)),
        (rates(7, 1, 6), "", BY_A, ("r",)),
        (rates(7, 1, 6), " AND p.s = 'x'", BY_B, ("p",)),  # a tenth is assumed to pass
        (rates(0.02, 1, 0.03), "", BY_B, ("p",)),
        (rates(None, 1, 900), "", BY_A, ("r",)),  # not all are known
        (NOTHING_KNOWN, "", BY_A, ("r",)),
    ],
)
def test_the_fewest_rows_are_replicated(
    known: Knowledge, where: str, columns: tuple[tuple[str, str], ...], replicated: tuple[str, ...]
) -> None:
    by = join_of(planned(CHAIN.format(where), known)).spread_by
    assert by is not None
    assert (by.columns, by.replicated) == (columns, replicated)


def test_windows_count_as_well_as_rates() -> None:
    """Of streams with equal rates, those with long windows hold more rows."""
    text = "SELECT p.a FROM p {}, q [RANGE 1 SECOND], r {} WHERE p.a = q.a AND q.b = r.b"

    def spread(p: str, r: str, known: Knowledge) -> tuple[tuple[tuple[str, str], ...], str]:
        by = join_of(planned(text.format(p, r), known)).spread_by
        assert by is not None
        return by.columns, by.why

    equal = rates(5, 5, 5)
    held = "streams with such a column have {} of {} rows in windows, more than for any other"
    assert spread("[RANGE 10 SECONDS]", "[RANGE 1 SECOND]", equal) == (BY_A, held.format(55, 60))
    assert spread("[RANGE 1 SECOND]", "[RANGE 10 SECONDS]", equal) == (BY_B, held.format(55, 60))
    assert spread("[RANGE 1 SECOND]", "[RANGE 10 SECONDS]", rates(500, 5, 5))[0] == BY_A
    assert spread("[ROWS 9]", "[ROWS 90]", rates(None, 5, None)) == (BY_B, held.format(95, 104))
    # where windows hold nothing, rates decide
    text = text.replace("q [RANGE 1 SECOND]", "q [NOW]")
    by_rate = "streams with such a column have 11 of 16 rows per second, more than for any other"
    assert spread("[NOW]", "[NOW]", rates(5, 5, 6)) == (BY_B, by_rate)


def test_rows_wait_for_the_stream_with_the_largest_lateness() -> None:
    late = catalog()
    relations = {
        name: replace(each, lateness_us=9_000_000 if name == "q" else 0) for name, each in late.relations.items()
    }
    made = optimize(
        read_query(CHAIN.format(""), Catalog(relations, late.functions), {}), "spark", "auto", rates(1, 1, 900)
    )
    by = join_of(made).spread_by
    assert by is not None
    assert "9,010 of 9,020 rows in windows" in by.why


RATES = (1, 10, 1000)
BUCKETS = 8


@examples(200, long=5_000)
@given(drawn=graphs(), data=st.data())
def test_no_class_holds_fewer_rows(drawn: tuple[list[str], list[tuple[str, str, int]]], data: st.DataObject) -> None:
    """All classes are tried: a bucket holds its share of a spread stream, and all rows of a replicated one."""
    aliases, edges = drawn
    rate = {alias: data.draw(st.sampled_from(RATES)) for alias in aliases}
    window = {alias: data.draw(st.sampled_from([1, 60, 3600])) for alias in aliases}
    lateness = {alias: data.draw(st.sampled_from([0, 5, 100])) for alias in aliases}
    kept = {alias: data.draw(st.sampled_from([1.0, 0.05])) for alias in aliases}
    on = " AND ".join(f"{one}.k{c} = {other}.k{c}" for one, other, c in edges)
    seconds = {alias: f"{window[alias]} seconds" for alias in aliases}
    join = tw.join(
        on, seconds, dict.fromkeys(aliases, "ts"), {alias: f"{late} seconds" for alias, late in lateness.items()},
        statistics={alias: {"rows_per_second": rate[alias], "kept": kept[alias]} for alias in aliases},
    )  # fmt: skip
    sizes = rows_held(join._plan, join._statistics)
    assert sizes is not None
    by = Partitioning.of(join._plan.graph, sizes=sizes)

    def held(columns: set[str]) -> float:
        return sum(
            rate[alias] * kept[alias] * (window[alias] + max(lateness.values())) * (1 if alias in columns else BUCKETS)
            for alias in aliases
        )

    every = [set(dict(members)) for members in join._plan.graph.classes]
    best = min(map(held, every))
    assert by.held(sizes, BUCKETS) == pytest.approx(held(set(by.columns)))
    assert by.held(sizes, BUCKETS) <= 1.1 * best


def test_what_is_not_known_of_one_stream_leaves_the_choice_to_counts() -> None:
    plan = JoinPlan.of("a.k = b.k AND b.m = c.m", 10, "t", 5)
    assert rows_held(plan, declared(a={"rows_per_second": 3}, b={"rows_per_second": 4})) is None
    known = declared(**{alias: {"rows_per_second": 2} for alias in "abc"})
    assert rows_held(plan, known) == dict.fromkeys("abc", 30.0)
    assert rows_held(JoinPlan.of("a.k = b.k", 0, "t", 0), known) is None


def test_who_has_no_buckets_has_no_class() -> None:
    assert join_of(planned(CHAIN.format(""), engine="local")).spread_by is None
    assert not isinstance(planned("SELECT p.a FROM p, t WHERE p.a = t.a").join, WindowJoin)


def test_the_join_has_the_class_and_the_trees_of_the_plan() -> None:
    join = join_of(planned(CHAIN.format(""), rates(1, 1, 900)))
    made = window_join_plan(join)
    assert made.spread_by == BY_B
    assert join.probe_trees == (
        ("p", (("q", "p"), ("r", "q"))), ("q", (("p", "q"), ("r", "q"))), ("r", (("q", "r"), ("p", "q"))),
    )  # fmt: skip
    star = "SELECT p.a FROM p, q, r WHERE p.a = q.a AND q.a = r.a WINDOW 1 SECOND"
    join = join_of(planned(star))
    assert dict(join.probe_trees)["p"] == (("q", "p"), ("r", "p"))
    other = replace(join, probe_trees=(("p", (("q", "r"), ("r", "p"))), *join.probe_trees[1:]))
    assert window_join_plan(other).graph.tree("p").path("q") == ("r", "q")


@pytest.mark.parametrize(
    "parents", [(("q", "p"),), (("q", "r"), ("r", "q")), (("q", "p"), ("r", "p"))], ids=["parts", "circle", "no column"]
)
def test_a_tree_that_cannot_be_probed_is_refused(parents: tuple[tuple[str, str], ...]) -> None:
    join = join_of(planned(CHAIN.format("")))
    with pytest.raises((AssertionError, PlanError), match=r"reaches every|wait for each other|no column in common"):
        join_graph(replace(join, probe_trees=(("p", parents),)))


def test_a_given_class_is_kept_unless_its_streams_are_tables() -> None:
    graph = join_graph(join_of(planned(CHAIN.format(""))))
    for columns, replicated in ((BY_A, ("r",)), (BY_B, ("p",))):
        by = Partitioning.by(graph, columns)
        assert by is not None
        assert (tuple(by.columns.items()), by.replicated, by.broadcast) == (columns, replicated, ())
    by = Partitioning.by(graph, BY_A, tables=["p"])
    assert by is not None
    assert (by.columns, by.replicated, by.broadcast) == ({"q": "a"}, ("r",), ("p",))
    assert Partitioning.by(graph, BY_A, tables=["p", "q"]) is None
    assert Partitioning.by(graph, ()) is None


def told(text: str, known: Knowledge = NOTHING_KNOWN, *, is_finished: bool = False) -> list[str]:
    tree = explain_query(planned(text, known), QueryRun("Spark", is_finished)).physical
    return [line.lstrip("│ ") for line in as_text(tree).splitlines()]


def test_explain_says_what_was_decided_about_the_join_and_why() -> None:
    lines = told(CHAIN.format(""), rates(1, 1, 900))
    assert "by Thalweg, not by Spark's own join, because it joins several streams (rule choose_operators)" in lines
    assert "new rows of p probe q by a, then r by b (from q)" in lines
    assert "new rows of q probe p by a, then r by b" in lines
    assert (
        "rows are spread over buckets by q.b = r.b; p is replicated to every bucket: "
        "streams with such a column have 901 of 902 rows in windows, more than for any other"
    ) in lines
    finished = told(CHAIN.format(""), is_finished=True)
    assert (
        "when it runs, Spark's estimates of the sizes in bytes decide which equal columns spread rows over buckets; "
        "without estimates it is p.a = q.a"
    ) in finished
    alone = "SELECT p.a FROM p, q WHERE upper(p.s) = q.s WINDOW 1 SECOND"
    for lines in (told(alone), told(alone, is_finished=True)):
        assert "rows are spread over buckets by upper(p.s) = q.s: the only columns that must be equal" in lines
        assert "new rows of q probe p by upper(p.s)" in lines
    assert (
        "by Spark's own join, because it joins one stream with tables and needs no state (rule choose_operators)"
    ) in told("SELECT p.a FROM p, t WHERE p.a = t.a")
