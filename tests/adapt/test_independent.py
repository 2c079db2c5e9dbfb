"""Independent satisfies definition 6.1 after every update."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import SLACK, may_stand
from tests.adapt.seen import costs_of, profile_tuples, seen
from tests.plan.filters.pipelines import pipelines
from thalweg.adapt import ProfileSettings
from thalweg.adapt.independent import Independent
from thalweg.plan import Pipeline

Run = tuple[Pipeline, ProfileSettings, list[tuple[list[tuple[bool, ...]], list[float]]]]
"""A pipeline, settings, and updates: profile tuples with the costs of filters."""


@st.composite
def runs(draw: st.DrawFn) -> Run:
    pipeline = draw(pipelines(most=6))
    n = len(pipeline)
    settings = ProfileSettings(
        p=1.0, profile_window=draw(st.sampled_from([1, 5, 20, 100])), alpha=draw(st.sampled_from([0.3, 0.9, 1.0]))
    )
    return pipeline, settings, draw(st.lists(st.tuples(profile_tuples(n), costs_of(n)), min_size=1, max_size=8))


def wrong_pairs(
    order: Sequence[int], window: Sequence[tuple[bool, ...]], costs: Sequence[float], alpha: float,
    guards: Sequence[Sequence[int]], slack: float = 0.0,
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the positions that should be reordered by their unconditional drops per unit of time."""
    rate = [sum(bits[k] for bits in window) / costs[k] for k in range(len(order))]
    return [
        (i, j)
        for i in range(len(order))
        for j in range(i + 1, len(order))
        if may_stand(order[j], i, order, guards) and rate[order[i]] < alpha * rate[order[j]] * (1 - slack)
    ]


@given(runs())
def test_the_relaxed_invariant_holds_after_every_update(run: Run) -> None:
    pipeline, settings, updates = run
    policy, window = Independent(pipeline, settings), deque[tuple[bool, ...]](maxlen=settings.profile_window)
    for tuples, costs in updates:
        before = policy.order
        window.extend(tuples)
        verdict = policy.update(seen(len(pipeline), tuples, costs))
        assert policy.drops.tolist() == [sum(bits[k] for bits in window) for k in range(len(pipeline))]
        assert wrong_pairs(policy.order, window, costs, settings.alpha, pipeline.guards, SLACK) == []
        if verdict is None:
            assert policy.order == before
        else:
            assert verdict.order == policy.order != before
            assert wrong_pairs(before, window, costs, settings.alpha, pipeline.guards, -SLACK) != []


def test_it_does_not_see_correlation() -> None:
    # the case of A-Greedy's test: b drops nothing that a does not drop already, and still comes before c
    tuples = [(True, True, False)] * 60 + [(False, False, True)] * 40
    policy = Independent(Pipeline(("c", "a", "b")), ProfileSettings(p=1.0, profile_window=100))
    verdict = policy.update(seen(3, [(c, a, b) for a, b, c in tuples]))
    assert verdict is not None
    assert verdict.order == (1, 2, 0)
    assert verdict.reason.startswith("at position 1, a (1 ns per row) drops 1.5 times as many rows")


def tuples_that_drop(*counts: int) -> list[tuple[bool, ...]]:
    """Return a hundred profile tuples, of which each filter drops a given number."""
    return [tuple(n < count for count in counts) for n in range(100)]


def test_a_violation_moves_only_what_figure_5_reaches() -> None:
    # the third and fourth are within alpha of each other, and the violation at position 1 does not reach them
    policy = Independent(Pipeline(tuple("abcd")), ProfileSettings(p=1.0, profile_window=100, alpha=0.9))
    verdict = policy.update(seen(4, tuples_that_drop(50, 90, 40, 41)))
    assert verdict is not None
    assert verdict.order == (1, 0, 2, 3)


def test_a_violation_moves_nothing_before_it() -> None:
    policy = Independent(Pipeline(tuple("abcd")), ProfileSettings(p=1.0, profile_window=100, alpha=0.9))
    verdict = policy.update(seen(4, tuples_that_drop(90, 91, 10, 40)))
    assert verdict is not None
    assert verdict.order == (0, 1, 3, 2)


def test_equal_filters_keep_the_current_order() -> None:
    policy = Independent(Pipeline(tuple("abcd")), ProfileSettings(p=1.0, profile_window=100, alpha=0.9))
    verdict = policy.update(seen(4, tuples_that_drop(20, 50, 30, 40)))
    assert verdict is not None
    assert verdict.order == (1, 3, 2, 0)
    # now a and c drop the same: c stays before a when d goes to the front
    verdict = policy.update(seen(4, tuples_that_drop(20, 50, 20, 90)))
    assert verdict is not None
    assert verdict.order == (3, 1, 2, 0)


def test_the_defaults_are_those_of_table_1() -> None:
    assert Independent(Pipeline(("a",))).settings == ProfileSettings(p=0.005, profile_window=1000, alpha=0.9)
