"""The parts of the rate-based experiments: queries, crossings, and who is right; and that claims can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thalweg.cost.rate import Arriving
from thalweg.lab.rate_based import section_5_2, section_5_3, section_5_4
from thalweg.lab.rate_based.join_query import JoinQuery, times_of
from thalweg.lab.rate_based.section_5_2 import FIRST, LATER
from thalweg.lab.rate_based.tables_4_5 import five_streams, three_streams
from thalweg.plan.joins.shape import streams_of, to_text

SMALL = JoinQuery(
    {"a": Arriving(20.0, 60), "b": Arriving(10.0, 50), "c": Arriving(5.0, 40)},
    {("a", "b"): 0.1, ("a", "c"): 0.2},
    hash_cost=0.01,
    handling={("a", "c"): 0.05},
)


def test_the_results_of_a_simulation_are_those_of_the_keys() -> None:
    """All combinations compared in plain Python."""
    a, b, c = (SMALL.rows(alias, 3, int(stream.rows)).to_pylist() for alias, stream in SMALL.streams.items())
    expected = sum(x["ab"] == y["ab"] and x["ac"] == z["ac"] for x in a for y in b for z in c)
    assert expected > 0
    for tree in SMALL.trees:
        assert SMALL.simulated(tree, 3).count() == expected


def test_a_seed_has_the_same_rows_for_all_trees_and_times() -> None:
    """More rows begin with the same ones, the streams differ, and a longer simulation begins with the same results."""
    few, many = (SMALL.rows("a", 0, count) for count in (10, 50))
    assert many.slice(0, 10).equals(few)
    assert not few.equals(SMALL.rows("a", 1, 10))
    assert few["ab"] != SMALL.rows("b", 0, 10)["ab"]
    short, long = (SMALL.simulated(FIRST, 0, until) for until in (2.0, 4.0))
    assert short.count() > 0
    assert [long.count(t) for t in (0.5, 1.0, 2.0)] == [short.count(t) for t in (0.5, 1.0, 2.0)]


def test_the_expensive_join_is_where_its_streams_meet() -> None:
    assert SMALL.arrival_cost(("a", "b")) == 0.01
    assert SMALL.arrival_cost(("a", "c")) == pytest.approx(0.06)
    assert SMALL.arrival_cost((("a", "b"), "c")) == pytest.approx(0.06)
    assert SMALL.arrival_cost((("a", "c"), "b")) == 0.01


def test_a_scaled_query_has_as_many_times_fewer_results() -> None:
    full = five_streams(0.003)
    for tree in full.trees[::5]:
        by = full.predicted(tree, [20.0, 60.0])
        assert full.scaled(25).predicted(tree, [20.0, 60.0]) * 25 == pytest.approx(by)


def test_fourteen_trees_and_the_three_of_the_paper_among_them() -> None:
    trees = five_streams(0.0).trees
    assert len(trees) == 14
    read = [*section_5_3.NAMES, *section_5_3.ALL_LEFT_DEEP, *section_5_3.ALL_FAST_LEAVES]
    assert [to_text(tree) for tree in read if tree not in trees] == []
    assert all(tree[1] == "e" for tree in section_5_3.ALL_LEFT_DEEP)


def test_times_of_results() -> None:
    trace = SMALL.simulated(FIRST, 0)
    when = trace.results["time"].to_numpy()
    found = times_of(trace, [1, trace.count()])
    assert found is not None
    assert list(found) == [when[0], when[-1]]
    assert times_of(trace, [trace.count() + 1]) is None


def test_the_cost_of_a_hash_join_makes_the_model_cross_at_2000() -> None:
    cost = section_5_2.hash_cost()
    assert cost == pytest.approx(0.00375, rel=0.02)
    query = three_streams(cost)
    first, later = (query.predicted_times(plan, [1_500, 2_000, 2_500]) for plan in (FIRST, LATER))
    assert first[0] < later[0]
    assert first[1] == pytest.approx(later[1], rel=1e-3)
    assert first[2] > later[2]


def crossing_at(count: int) -> section_5_2.Results:
    """Results of which the first plan is ahead up to so many, in each of ten seeds."""
    counts = list(range(100, 6_001, 100))
    times = np.arange(1.0, 61.0)
    ahead = np.where(np.array(counts) <= count, 0.01, -0.01)
    measured = [{FIRST: times, LATER: times + ahead}] * 10
    straight = {FIRST: times, LATER: times}
    return section_5_2.Results(counts, straight, measured, counts, straight, straight)


def test_crossings_that_the_claim_accepts_and_refuses() -> None:
    near = next(claim for claim in section_5_2.CLAIMS if claim.about.startswith("the predicted crossing"))
    assert crossing_at(2_300).crossing == 2_300
    verdicts = {count: near.judge(crossing_at(count)).holds for count in (1_300, 1_400, 2_600, 2_700)}
    assert verdicts == {1_300: False, 1_400: True, 2_600: True, 2_700: False}


def test_every_claim_about_the_two_plans_can_fail() -> None:
    wrong = replace(crossing_at(5_500), long_measured={FIRST: np.arange(2.0, 62.0), LATER: np.arange(1.0, 61.0)})
    failed = [claim.about for claim in section_5_2.CLAIMS if not claim.judge(wrong).holds]
    right = [claim.about for claim in section_5_2.CLAIMS if claim.judge(crossing_at(2_000)).holds]
    assert len(failed) >= 4
    assert section_5_2.CLAIMS[1].about in right


def test_every_claim_about_all_trees_can_fail() -> None:
    predicted = {tree: np.array([i, i + 1, i + 2.0]) for i, tree in enumerate(five_streams(0.0).trees, 5)}
    backwards = {tree: 25.0 - times for tree, times in predicted.items()}
    last = dict.fromkeys(section_5_3.NAMES, 1.0)
    worst = max(backwards, key=lambda tree: float(backwards[tree][-1]))
    r = section_5_3.Results((1, 2, 3), predicted, backwards, last, worst, worst, 0.5, 0.1)
    assert r.same_order(0)[0] == 0
    verdicts = {claim.about: claim.judge(r).holds for claim in section_5_3.CLAIMS}
    assert not any(
        verdicts[about]
        for about in (
            "the trees are measured in the predicted order", "Left Deep is the slowest in the end",
            "local time minimization chooses a good tree", "local rate maximization chooses a good tree",
        )
    )  # fmt: skip
    same = replace(r, measured=predicted)
    assert same.same_order(0)[0] == same.same_order(0)[1] > 0


def test_the_traditional_cost_is_rows_times_cost() -> None:
    """((a c) b): 60 + 40 rows of 60 ms, then 60 * 40 / 5 pairs and 50 rows of 10 ms."""
    assert section_5_4.work(SMALL, LATER) == pytest.approx(100 * 0.06 + (480 + 50) * 0.01)
    assert section_5_4.work(SMALL, FIRST) == pytest.approx(110 * 0.01 + (300 + 40) * 0.06)
    assert set(streams_of(LATER)) == set(SMALL.streams)


def test_who_is_right_where_the_models_disagree() -> None:
    sides, opposite = section_5_4.Sides(), section_5_4.Sides()
    trees = ["p", "q", "r"]
    found = dict(zip(trees, [(1.0, 9.0, 8.0), (2.0, 5.0, 4.0), (2.05, 5.1, 9.0)], strict=True))
    section_5_4.count(found, sides, opposite=opposite)  # type: ignore[arg-type]
    # p and q: opposite, measured as the rate model says; p and r: opposite, measured as the traditional model says;
    # q and r: the models agree that they are equal
    assert (sides.rate, sides.traditional, sides.neither) == (1, 1, 0)
    assert (opposite.rate, opposite.traditional) == (1, 1)


def test_claims_about_the_models_need_pairs_and_can_fail() -> None:
    nothing = section_5_4.Results()
    assert [claim.about for claim in section_5_4.CLAIMS if claim.judge(nothing).holds] == []
    sure = section_5_4.Sides(rate=9, traditional=1)
    right = section_5_4.Results(sure, sure, sure, sure, [(True, True)])
    assert all(claim.judge(right).holds for claim in section_5_4.CLAIMS)
    doubtful = section_5_4.Sides(rate=8, traditional=2)
    wrong = section_5_4.Results(doubtful, doubtful, doubtful, doubtful, [(True, False), (False, True)])
    assert not any(claim.judge(wrong).holds for claim in section_5_4.CLAIMS)
