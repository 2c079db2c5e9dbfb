"""LocalSwaps satisfies definition 7.1 between neighbors and compares nothing else."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import SLACK, matrix_view
from tests.adapt.seen import costs_of, profile_tuples, seen
from tests.plan.filters.pipelines import pipelines
from thalweg.adapt import ProfileSettings
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.sweep import ENOUGH
from thalweg.plan import Pipeline


def known_to_neighbors(bits: tuple[bool, ...], policy: LocalSwaps) -> tuple[bool, ...]:
    """Return what a loop would observe: the filter that dropped the row, and the one after it."""
    order = policy.order
    at = next(i for i, k in enumerate(order) if bits[k])
    return tuple(k == order[at] or (bool(bits[k]) and bool(policy.wants().evaluate[at, k])) for k in range(len(bits)))


@given(pipelines(hidden=False), st.data())
def test_neighbors_swap_exactly_where_the_invariant_is_violated(pipeline: Pipeline, data: st.DataObject) -> None:
    n = len(pipeline)
    settings = ProfileSettings(p=1.0, profile_window=data.draw(st.sampled_from([5, 40, 200])), alpha=0.9)
    policy, window = LocalSwaps(pipeline, settings), deque[tuple[bool, ...]](maxlen=settings.profile_window)
    for _ in range(data.draw(st.integers(1, 8))):
        order = policy.order
        rows = data.draw(profile_tuples(n)) * data.draw(st.sampled_from([1, 10]))
        batch = [known_to_neighbors(bits, policy) for bits in rows]
        costs = data.draw(costs_of(n))
        verdict = policy.update(seen(n, batch, costs))
        window.extend(batch)
        V, full = matrix_view(order, window), len(window) == settings.profile_window

        def wrong(
            i: int, slack: float, V: list[list[int]] = V, order: tuple[int, ...] = order, costs: list[float] = costs,
            full: bool = full,
        ) -> bool:  # fmt: skip
            here, there = V[i][i] / costs[order[i]], V[i][i + 1] / costs[order[i + 1]]
            enough = V[i][i] + V[i][i + 1] >= ENOUGH or full
            return enough and here < 0.9 * there * (1 - slack) and order[i] not in pipeline.guards[order[i + 1]]

        if not batch or not any(wrong(i, SLACK) for i in range(n - 1)):
            if verdict is not None:  # rounding decided
                assert any(wrong(i, -SLACK) for i in range(n - 1))
        else:
            assert verdict is not None
        if verdict is None:
            assert policy.order == order
            continue
        # from the front; a filter that was swapped is not swapped again in the same update
        expected, i = list(order), 0
        while i < n - 1:
            if wrong(i, 0.0):
                expected[i], expected[i + 1] = expected[i + 1], expected[i]
                i += 1
            i += 1
        assert policy.order == verdict.order == tuple(expected)
        assert len(policy.window) == 0
        window.clear()


@pytest.mark.parametrize(("tuples", "moves"), [(ENOUGH - 1, False), (ENOUGH, True)])
def test_too_few_drops_decide_nothing(tuples: int, moves: bool) -> None:
    policy = LocalSwaps(Pipeline(("a", "b")), ProfileSettings(p=1.0, profile_window=500))
    assert (policy.update(seen(2, [(False, True)] * tuples)) is not None) == moves


def test_separate_pairs_swap_in_one_update_each_with_a_reason() -> None:
    policy = LocalSwaps(Pipeline(("a", "b", "c", "d")), ProfileSettings(p=1.0, profile_window=500))
    verdict = policy.update(seen(4, [(False, True, False, False)] * 40 + [(False, False, False, True)] * 40))
    assert verdict is not None
    assert verdict.order == (1, 0, 3, 2)
    assert "position 1, b" in verdict.reason
    assert "position 3, d" in verdict.reason


def test_a_filter_does_not_pass_its_guard() -> None:
    policy = LocalSwaps(Pipeline(("a", "b"), guards=((), (0,))), ProfileSettings(p=1.0, profile_window=500))
    assert policy.update(seen(2, [(False, True)] * 100)) is None


def test_the_defaults_are_those_of_table_1() -> None:
    assert LocalSwaps(Pipeline(("a",))).settings == ProfileSettings(p=0.01, profile_window=1000, alpha=0.9)
