"""A-Greedy holds its invariant after every update; the statistics are recomputed from the paper's definition."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import SLACK, matrix_view, violations
from tests.adapt.seen import costs_of, profile_tuples, seen
from tests.plan.filters.pipelines import pipelines
from thalweg.adapt import ProfileSettings
from thalweg.adapt.a_greedy import AGreedy
from thalweg.plan import Pipeline

Run = tuple[Pipeline, ProfileSettings, list[tuple[list[tuple[bool, ...]], list[float]]]]
"""A pipeline, settings, and updates: profile tuples with the costs of filters."""


@st.composite
def runs(draw: st.DrawFn) -> Run:
    pipeline = draw(pipelines(most=6))
    n = len(pipeline)
    settings = ProfileSettings(
        p=1.0, profile_window=draw(st.sampled_from([1, 5, 20, 100])), alpha=draw(st.sampled_from([0.3, 0.5, 0.9, 1.0]))
    )
    updates = draw(st.lists(st.tuples(profile_tuples(n), costs_of(n)), min_size=1, max_size=8))
    return pipeline, settings, updates


@given(runs())
def test_the_relaxed_invariant_holds_after_every_update(run: Run) -> None:
    pipeline, settings, updates = run
    policy, window = AGreedy(pipeline, settings), deque[tuple[bool, ...]](maxlen=settings.profile_window)
    for tuples, costs in updates:
        before = policy.order
        window.extend(tuples)
        verdict = policy.update(seen(len(pipeline), tuples, costs))
        assert pipeline.respects(policy.order)
        assert [tuple(row) for row in policy.window.tuples.tolist()] == list(window)
        assert policy.view.V.tolist() == matrix_view(policy.order, window)
        assert violations(policy.order, window, costs, settings.alpha, pipeline.guards, SLACK) == []
        # and it moves only if it must: thrashing avoidance works
        held = violations(before, window, costs, settings.alpha, pipeline.guards, -SLACK) == []
        if verdict is None:
            assert policy.order == before
            assert violations(before, window, costs, settings.alpha, pipeline.guards, SLACK) == []
        else:
            assert verdict.order == policy.order != before
            assert not held


@given(runs())
def test_filters_before_the_first_violation_stay(run: Run) -> None:
    pipeline, settings, updates = run
    policy, window = AGreedy(pipeline, settings), deque[tuple[bool, ...]](maxlen=settings.profile_window)
    for tuples, costs in updates:
        before = policy.order
        window.extend(tuples)
        policy.update(seen(len(pipeline), tuples, costs))
        found = violations(before, window, costs, settings.alpha, pipeline.guards, -SLACK)
        first = min((i for i, _ in found), default=len(before))
        assert policy.order[:first] == before[:first]


def test_a_cost_alone_can_move_a_filter() -> None:
    policy = AGreedy(Pipeline(("expensive", "cheap")), ProfileSettings(p=1.0, profile_window=10))
    assert policy.update(seen(2, [(True, True)] * 5, [1.0, 1.0])) is None
    verdict = policy.update(seen(2, [], [10.0, 1.0]))
    assert verdict is not None
    assert verdict.order == (1, 0)


@pytest.mark.parametrize(("first", "second", "moves"), [(9, 10, False), (90, 100, False), (89, 100, True)])
def test_alpha_is_the_share_below_which_a_filter_gives_way(first: int, second: int, moves: bool) -> None:
    tuples = [(True, False)] * first + [(False, True)] * second
    policy = AGreedy(Pipeline(("a", "b")), ProfileSettings(p=1.0, profile_window=1000, alpha=0.9))
    assert (policy.update(seen(2, tuples)) is not None) == moves


def test_correlation_is_taken_into_account() -> None:
    # b drops more than c, but nothing that a does not drop already
    tuples = [(True, True, False)] * 60 + [(False, False, True)] * 40
    policy = AGreedy(Pipeline(("a", "b", "c")), ProfileSettings(p=1.0, profile_window=100))
    verdict = policy.update(seen(3, tuples))
    assert verdict is not None
    assert verdict.order == (0, 2, 1)


def test_an_unprofiled_filter_moves_by_its_observed_drops() -> None:
    pipeline = Pipeline(("a", "b"), profiled=(True, False))
    policy = AGreedy(pipeline, ProfileSettings(p=1.0, profile_window=100))
    # rows that a dropped: b was not evaluated on them, so its bit is not set
    assert policy.update(seen(2, [(True, False)] * 10 + [(False, True)] * 10)) is None
    # ordinary work shows that b drops more of the few rows that reach it than a drops of all
    verdict = policy.update(seen(2, [(True, False)] * 10 + [(False, True)] * 30))
    assert verdict is not None
    assert verdict.order == (1, 0)


def test_the_reason_names_both_filters_and_their_ratio() -> None:
    policy = AGreedy(Pipeline(("a", "regex")), ProfileSettings(p=1.0, profile_window=100))
    verdict = policy.update(seen(2, [(True, True)] * 10 + [(False, True)] * 10, [1000.0, 250.0]))
    assert verdict is not None
    expected = (
        "at position 1, regex (250 ns per row) drops 8.0 times as many rows per unit of time as a (1.0 µs per row)"
    )
    assert verdict.reason == expected


def test_the_reason_says_that_a_filter_drops_nothing() -> None:
    policy = AGreedy(Pipeline(("a", "b")), ProfileSettings(p=1.0, profile_window=100))
    verdict = policy.update(seen(2, [(False, True)] * 3))
    assert verdict is not None
    assert verdict.reason.endswith("b (1 ns per row) drops 3 of the sampled rows, a (1 ns per row) drops none")


def test_the_defaults_are_those_of_table_1() -> None:
    assert AGreedy(Pipeline(("a",))).settings == ProfileSettings(p=0.01, profile_window=1000, alpha=0.9)
