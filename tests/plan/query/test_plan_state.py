"""The state of a plan: its parts, what is not part of it, and that it is the same in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.optimizer.planned import catalog, declared
from thalweg.errors import CheckpointError
from thalweg.optimizer import optimize
from thalweg.plan.query.plan_state import PlanState
from thalweg.plan.query.query import Query
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import Catalog
from thalweg.plan.sql.analysis import read_query
from thalweg.stats import NOTHING_KNOWN, Knowledge

TEXT = (
    "SELECT p.a, r.s FROM p [RANGE 5 SECONDS], q [RANGE 1 MINUTE], r [RANGE 9 SECONDS], t "
    "WHERE upper(p.s) = upper(q.s) AND q.b = r.b AND t.a = r.a AND p.x < r.x AND calm(q.a) AND p.b IN (3, 1, 2)"
)
OTHERWISE = declared(
    p={"rows_per_second": 1, "distinct": {"s": 3}}, q={"rows_per_second": 5, "distinct": {"s": 70, "b": 9}},
    r={"rows_per_second": 800, "distinct": {"b": 2, "a": 9}}, t={"rows": 5, "distinct": {"a": 5}},
)  # fmt: skip
"""Statistics with which rows are spread by another class, and another source is probed first."""


def asked(text: str = TEXT, of: Catalog | None = None) -> Query:
    return read_query(text, of or catalog(), {})


def planned(
    text: str = TEXT, known: Knowledge = NOTHING_KNOWN, policy: str = "auto", engine: str = "spark"
) -> QueryPlan:
    return optimize(asked(text), engine, policy, known)


def test_the_parts_of_the_state() -> None:
    assert PlanState.of(planned(), 4).parts == {
        "graph": ("upper(p.s) = upper(q.s)", "q.b = r.b", "t.a = r.a"),
        "windows": (("p", "[RANGE 5 SECONDS]"), ("q", "[RANGE 1 MINUTE]"), ("r", "[RANGE 9 SECONDS]")),
        "stored": (("p", ("a int32", "x double")), ("q", ()), ("r", ("x double", "s string"))),
        "conditions": (("p", ("p.b IN (3, 1, 2)",)), ("q", ("calm(q.a)",)), ("r", ())),
        "spread_by": (("p", "computed 0"), ("q", "computed 0")),
        "buckets": 4,
    }


def test_orders_costs_and_policies_are_not_part_of_the_state() -> None:
    one, other = planned(), planned(known=OTHERWISE)
    assert one.join is not None
    assert other.join is not None
    assert one.join.order != other.join.order
    assert one.state.spread_by != other.state.spread_by
    assert list(one.state.differences(other.state)) == [], "a restart takes the class from the checkpoint"
    assert replace(other.state, spread_by=one.state.spread_by) == one.state
    assert planned(policy="static").state == one.state
    other_values = planned(known=declared(q={"rows_per_second": 5, "distinct": {"s": 70}}))
    assert other_values.state == one.state


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ({"graph": ("q.b = r.b",)},
         "it joined by upper(p.s) = upper(q.s), q.b = r.b, t.a = r.a; the plan now joins by q.b = r.b"),
        ({"windows": (("p", "[NOW]"),)}, "they are now p [NOW]"),
        ({"stored": (("p", ("a int32",)), ("q", ()), ("r", ("x double", "s string")))},
         "its windows stored a int32, x double of p; the plan now stores a int32"),
        ({"conditions": (("p", ()), ("q", ("calm(q.a)",)), ("r", ("r.a > 1",)))},
         "it stored only rows of p with p.b IN (3, 1, 2); the plan now stores all rows of p; "
         "it stored all rows of r; the plan now stores only rows of r with r.a > 1"),
        ({"buckets": 9, "spread_by": (("q", "b"), ("r", "b"))}, ""),
    ],
)  # fmt: skip
def test_a_difference_is_named(change: dict[str, object], sentences: str) -> None:
    state = planned().state
    found = "; ".join(state.differences(replace(state, **change)))  # type: ignore[arg-type]
    assert found.endswith(sentences)
    assert bool(found) == bool(sentences)


def test_missing_parts_have_defaults_and_unknown_are_refused() -> None:
    parts = json.loads(json.dumps(planned().state.parts))
    assert PlanState.read(parts) == planned().state
    del parts["buckets"]
    assert PlanState.read(parts).buckets is None
    with pytest.raises(CheckpointError, match=r"parts that this version does not know \(errors, later\)"):
        PlanState.read(parts | {"later": 1, "errors": 2})


def test_only_a_window_join_stores_rows() -> None:
    for text in ("SELECT a FROM p WHERE b > 1", "SELECT p.a, t.word FROM p, t WHERE p.a = t.a AND p.b > 1"):
        assert planned(text).state == PlanState()
    assert planned(engine="local").state.spread_by == (), "in this process there are no buckets"


def test_question_and_state_are_the_same_in_every_process() -> None:
    code = (
        "import json; from tests.plan.query.test_plan_state import asked, planned, OTHERWISE\n"
        "print(json.dumps([asked().question, planned().state.parts, planned(known=OTHERWISE).state.parts]))"
    )
    here = json.loads(json.dumps([asked().question, planned().state.parts, planned(known=OTHERWISE).state.parts]))
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
        assert json.loads(there.stdout) == here


def test_the_hash_of_a_question_ignores_its_spelling() -> None:
    assert asked(TEXT.lower().replace(" and ", "\n AND ")).question == asked().question
    others = [
        TEXT.replace("5 SECONDS", "6 SECONDS"), TEXT.replace("q.b = r.b", "q.a = r.a"), TEXT.replace("(3, 1", "(3, 4"),
        TEXT.replace("SELECT p.a", "SELECT p.b"), TEXT.replace("calm", "risky"), TEXT + " AND r.a > 1",
    ]  # fmt: skip
    assert len({asked(text).question for text in (TEXT, *others)}) == 7
