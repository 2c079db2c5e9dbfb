"""spread_rows and the probe trees of choose_order: what the rules decide, and what explain says about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.optimizer.planned import catalog, declared
from thalweg.errors import PlanError
from thalweg.optimizer import optimize
from thalweg.plan.join_plan import join_graph, window_join_plan
from thalweg.plan.nodes import WindowJoin
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.sql.analysis import read_query
from thalweg.report.plan_tree import as_text
from thalweg.session.adaptive_parts import AdaptiveParts
from thalweg.session.explanation import explanation
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
    tree = explanation(planned(text, known), "Spark", AdaptiveParts().report(), is_finished=is_finished).physical
    return [line.lstrip("│ ") for line in as_text(tree).splitlines()]


def test_explain_says_what_was_decided_about_the_join_and_why() -> None:
    lines = told(CHAIN.format(""), rates(1, 1, 900))
    assert "by Thalweg, not by Spark's own join, because it joins several streams (rule choose_operators)" in lines
    assert "new rows of p probe q by a, then r by b (from q)" in lines
    assert "new rows of q probe p by a, then r by b" in lines
    assert (
        "rows are spread over buckets by q.b = r.b; p is replicated to every bucket: "
        "streams with such a column have 901 of 902 rows per second, more than for any other"
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
