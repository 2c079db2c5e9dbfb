"""What is known by question: what users declare, what is added, and which of two answers is kept."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from thalweg.plan.estimate import ORIGINS, Estimate
from thalweg.plan.relation import Relation, Statistics, UserFunction
from thalweg.stats import CostUs, DistinctValues, Knowledge, Partners, Rows, RowsPerSecond, ShareKept

SCHEMA = pa.schema({"ts": pa.timestamp("us"), "k": pa.int64()})
A_TO_B, B_TO_A = Partners(("a", "k"), ("b", "k")), Partners(("b", "k"), ("a", "k"))
QUESTIONS = [RowsPerSecond("a"), Rows("a"), DistinctValues("a", "k"), A_TO_B, B_TO_A, ShareKept("a"), CostUs("a")]


def test_nothing_is_known_of_what_nobody_said():
    assert [Knowledge().about(question) for question in QUESTIONS] == [None] * len(QUESTIONS)


def test_every_question_has_an_answer_of_its_own():
    """Also where the names in them are the same."""
    known = Knowledge()
    for number, question in enumerate(QUESTIONS):
        known = known.with_estimate(question, Estimate(number, "counted"))
    assert [known.about(question) for question in QUESTIONS] == [Estimate(n, "counted") for n in range(len(QUESTIONS))]


def test_what_users_declare_is_known():
    relations = [
        Relation("a", SCHEMA, "ts", statistics=Statistics(rows_per_second=20, distinct={"k": 5})),
        Relation("t", SCHEMA, statistics=Statistics(rows=7)),
        Relation("u", SCHEMA),
    ]
    functions = [UserFunction("f", bool, pa.bool_(), cost_us=3), UserFunction("g", bool, pa.bool_())]
    assert Knowledge.declared(relations, functions).facts == {
        RowsPerSecond("a"): Estimate(20, "declared", None, low=0),
        DistinctValues("a", "k"): Estimate(5, "declared", None, low=1),
        Rows("t"): Estimate(7, "declared", None, low=0),
        CostUs("f"): Estimate(3, "declared", None, low=0),
    }


def test_whatever_a_session_takes_becomes_an_estimate():
    """The smallest numbers it takes are within the bounds."""
    s = tw.session()
    data = pa.table({"ts": pa.array([0], pa.timestamp("us")), "k": [1]})
    s.stream("a", data, time="ts", statistics={"rows_per_second": 1e-300, "distinct": {"k": 1}})
    s.table("t", data, statistics={"rows": 1e-300, "distinct": {"k": 1}})
    s.function("free", lambda k: True, "boolean", cost=0)
    query = s.query("SELECT a.k FROM a, t WHERE a.k = t.k").plan.query
    known = Knowledge.declared([source.relation for source in query.sources], s._functions.values())
    assert known.about(RowsPerSecond("a")) == Estimate(1e-300, "declared", low=0)
    assert known.about(Rows("t")) == Estimate(1e-300, "declared", low=0)
    assert known.about(DistinctValues("t", "k")) == Estimate(1, "declared", low=1)
    assert known.about(CostUs("free")) == Estimate(0, "declared", low=0)


def test_knowledge_does_not_change():
    facts = {Rows("a"): Estimate(1, "counted")}
    first = Knowledge(facts)
    facts[Rows("b")] = Estimate(2, "counted")
    second = first.with_estimate(Rows("a"), Estimate(3, "assumed"))  # weaker, and asked for
    third = first.merged(Knowledge({Rows("b"): Estimate(4, "counted")}))
    assert first.facts == {Rows("a"): Estimate(1, "counted")}
    assert second.facts == {Rows("a"): Estimate(3, "assumed")}
    assert third.facts == {Rows("a"): Estimate(1, "counted"), Rows("b"): Estimate(4, "counted")}


@pytest.mark.parametrize(
    ("kept", "other"),
    [
        *((Estimate(1, one, as_of=1), Estimate(2, other, as_of=9)) for one, other in itertools.pairwise(ORIGINS)),
        (Estimate(1, "counted", as_of=9), Estimate(2, "counted", as_of=8)),
        (Estimate(1, "counted", as_of=-5), Estimate(2, "counted")),
    ],
)
def test_the_stronger_and_then_the_newer_answer_is_kept(kept: Estimate, other: Estimate):
    one, two = Knowledge({Rows("a"): kept}), Knowledge({Rows("a"): other})
    assert one.merged(two) == two.merged(one) == one


@pytest.mark.parametrize("as_of", [None, 3.0])
def test_of_equally_good_answers_the_later_one_is_kept(as_of: float | None):
    one, two = (Knowledge({Rows("a"): Estimate(value, "counted", as_of=as_of)}) for value in (1, 2))
    assert one.merged(two) == two
    assert two.merged(one) == one


estimates = st.builds(Estimate, st.integers(0, 9), st.sampled_from(ORIGINS), as_of=st.none() | st.integers(0, 3))
knowledge = st.builds(Knowledge, st.dictionaries(st.sampled_from(QUESTIONS), estimates))


@given(knowledge, knowledge, knowledge)
def test_merging_may_be_done_in_any_groups(a: Knowledge, b: Knowledge, c: Knowledge):
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(a) == a == a.merged(Knowledge()) == Knowledge().merged(a)
