"""Estimates by question: what users declare, what is added, and which of two answers is kept."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from thalweg.plan.estimate import ORIGINS, Estimate
from thalweg.plan.query.relation import UserFunction
from thalweg.stats import CostUs, DistinctValues, Knowledge, Partners, Rows, RowsPerSecond, ShareKept
from thalweg.stats.knowledge import Question

A_TO_B, B_TO_A = Partners(("a", "k"), ("b", "k")), Partners(("b", "k"), ("a", "k"))
QUESTIONS: list[Question] = [
    RowsPerSecond("a"), Rows("a"), DistinctValues("a", "k"), A_TO_B, B_TO_A, ShareKept("a"), CostUs("a"),
]  # fmt: skip


def test_without_an_estimate_nothing_is_known() -> None:
    assert [Knowledge().about(question) for question in QUESTIONS] == [None] * len(QUESTIONS)


def test_every_question_has_an_answer_of_its_own() -> None:
    """Questions of different types are different even if their names are the same."""
    known = Knowledge()
    for number, question in enumerate(QUESTIONS):
        known = known.with_estimate(question, Estimate(number, "counted"))
    assert [known.about(question) for question in QUESTIONS] == [Estimate(n, "counted") for n in range(len(QUESTIONS))]


def test_what_users_declare_is_known() -> None:
    assert Knowledge.declared("a", rows_per_second=20, distinct={"k": 5}).facts == {
        RowsPerSecond("a"): Estimate(20, "declared", None, low=0),
        DistinctValues("a", "k"): Estimate(5, "declared", None, low=1),
    }
    assert Knowledge.declared("t", rows=7).facts == {Rows("t"): Estimate(7, "declared", None, low=0)}
    functions = [UserFunction("f", bool, pa.bool_(), cost_us=3), UserFunction("g", bool, pa.bool_())]
    assert Knowledge.declared_costs(functions).facts == {CostUs("f"): Estimate(3, "declared", None, low=0)}


def test_whatever_a_session_takes_becomes_an_estimate() -> None:
    """The smallest numbers it takes are within the bounds."""
    s = tw.session()
    data = pa.table({"ts": pa.array([0], pa.timestamp("us")), "K": [1]})
    s.stream("A", data, time="ts", statistics={"rows_per_second": 1e-300, "distinct": {"k": 1}})
    s.table("t", data, statistics={"rows": 1e-300, "distinct": {"K": 1}})
    s.function("Free", lambda k: True, "boolean", cost=0)
    estimates = s.query("SELECT a.k FROM a, t WHERE a.k = t.k AND free(a.k)").plan.estimates
    assert estimates.sources["A"].rows_per_second == Estimate(1e-300, "declared", low=0)
    assert estimates.sources["t"].rows == Estimate(1e-300, "declared", low=0)
    assert estimates.sources["t"].partners[0].values == Estimate(1, "declared", low=1)
    assert estimates.costs_us == {"Free": Estimate(0, "declared", low=0)}


def test_the_largest_numbers_a_session_takes_leave_a_plan() -> None:
    s = tw.session()
    data = pa.table({"ts": pa.array([0], pa.timestamp("us")), "k": [1]})
    for name in "ab":
        s.stream(name, data, time="ts", statistics={"rows_per_second": 1e15, "distinct": {"k": 1}})
    query = s.query("SELECT a.k FROM a [RANGE 1 DAY], b [RANGE 2 DAYS] WHERE a.k = b.k")
    assert query.plan.join is not None
    assert query.plan.join.order == ("a", "b")
    assert query.dataframe().num_rows == 1
    assert len(query.explain().estimates) == 2


def test_what_is_registered_again_loses_what_was_declared() -> None:
    s = tw.session()
    data = pa.table({"ts": pa.array([0], pa.timestamp("us")), "k": [1]})
    s.stream("a", data, time="ts", statistics={"rows_per_second": 5})
    before = s.query("SELECT k FROM a")
    s.stream("A", data, time="ts")
    assert s.query("SELECT k FROM a").plan.estimates.sources["A"].rows_per_second is None
    assert before.plan.estimates.sources["a"].rows_per_second == Estimate(5, "declared", low=0)


def test_knowledge_does_not_change() -> None:
    facts: dict[Question, Estimate] = {Rows("a"): Estimate(1, "counted")}
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
def test_the_stronger_and_then_the_newer_answer_is_kept(kept: Estimate, other: Estimate) -> None:
    one, two = Knowledge({Rows("a"): kept}), Knowledge({Rows("a"): other})
    assert one.merged(two) == two.merged(one) == one


@pytest.mark.parametrize("as_of", [None, 3.0])
def test_of_equally_good_answers_the_later_one_is_kept(as_of: float | None) -> None:
    one, two = (Knowledge({Rows("a"): Estimate(value, "counted", as_of=as_of)}) for value in (1, 2))
    assert one.merged(two) == two
    assert two.merged(one) == one


estimates = st.builds(Estimate, st.integers(0, 9), st.sampled_from(ORIGINS), as_of=st.none() | st.integers(0, 3))
knowledge = st.builds(Knowledge, st.dictionaries(st.sampled_from(QUESTIONS), estimates))


@given(knowledge, knowledge, knowledge)
def test_merging_may_be_done_in_any_groups(a: Knowledge, b: Knowledge, c: Knowledge) -> None:
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(a) == a == a.merged(Knowledge()) == Knowledge().merged(a)


def test_pooling_updating_and_fading_ask_every_question() -> None:
    old = Knowledge(
        {RowsPerSecond("a"): Estimate(10, "counted", 1, low=0, as_of=0), Rows("a"): Estimate(3, "declared")}
    )
    fresh = Knowledge(
        {RowsPerSecond("a"): Estimate(20, "declared", 1, low=0, as_of=60), A_TO_B: Estimate(7, "sampled")}
    )
    assert old.pooled(fresh).facts == {
        RowsPerSecond("a"): Estimate(15, "declared", 0.5, low=0, as_of=0), Rows("a"): Estimate(3, "declared"),
        A_TO_B: Estimate(7, "sampled"),
    }  # fmt: skip
    assert old.updated(fresh).facts == {**old.facts, **fresh.facts}
    assert old.faded(60, lifetime=600).facts == {
        RowsPerSecond("a"): Estimate(10, "counted", 1 + 101 * 0.1, low=0, as_of=60), Rows("a"): Estimate(3, "declared"),
    }  # fmt: skip
