"""Sweep: stages over the positions with one profiled filter each, and convergence to the greedy invariant."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import SLACK, matrix_view, violations
from tests.adapt.seen import costs_of, profile_tuples, seen
from tests.plan.filters.pipelines import pipelines
from thalweg.adapt import ProfileSettings
from thalweg.adapt.sweep import ENOUGH, Sweep
from thalweg.plan import Pipeline


def known_to_sweep(bits: tuple[bool, ...], policy: Sweep) -> tuple[bool, ...]:
    """Return what a loop would observe of a row with these outcomes: the filter that dropped it, and the profiled
    one."""
    order = policy.order
    at = next(i for i, k in enumerate(order) if bits[k])
    return tuple(k == order[at] or (bool(bits[k]) and bool(policy.wants().evaluate[at, k])) for k in range(len(bits)))


@given(pipelines(least=2, hidden=False), st.data())
def test_a_stage_ends_with_its_tuples_or_with_a_violation(pipeline: Pipeline, data: st.DataObject) -> None:
    n = len(pipeline)
    policy = Sweep(pipeline, ProfileSettings(p=1.0, profile_window=data.draw(st.integers(1, 60)), alpha=0.9))
    stage: list[tuple[bool, ...]] = []
    for _ in range(data.draw(st.integers(1, 10))):
        j, order = policy.j, policy.order
        rows = data.draw(profile_tuples(n)) * data.draw(st.sampled_from([1, 10]))
        batch = [known_to_sweep(bits, policy) for bits in rows]
        costs = data.draw(costs_of(n))
        verdict = policy.update(seen(n, batch, costs))
        stage += batch
        V = matrix_view(order, stage)
        wrong = [
            (i, jj)
            for i, jj in violations(order, stage, costs, 0.9, pipeline.guards)
            if jj == j and (V[i][i] + V[i][j] >= ENOUGH or len(stage) >= policy.settings.profile_window)
        ]
        if not batch:
            assert verdict is None
        elif verdict is not None:
            i = wrong[0][0]
            # moved to the violation; the filters in between shift back
            assert policy.order == verdict.order == (*order[:i], order[j], *order[i:j], *order[j + 1 :])
        else:
            clear = violations(order, stage, costs, 0.9, pipeline.guards, SLACK)
            assert not [pair for pair in wrong if pair in clear]
        if verdict is not None or (batch and len(stage) >= policy.settings.profile_window):
            stage = []
            assert policy.j == (1 if j == n - 1 else j + 1)
        else:
            assert policy.j == j


def test_positions_2_to_n_take_turns() -> None:
    policy = Sweep(Pipeline(("a", "b", "c", "d")), ProfileSettings(p=1.0, profile_window=2))
    turns = []
    for _ in range(7):
        turns.append(policy.j + 1)
        policy.update(seen(4, [(True, False, False, False)] * 2))
    assert turns == [2, 3, 4, 2, 3, 4, 2]


@pytest.mark.parametrize(("tuples", "moves"), [(ENOUGH - 1, False), (ENOUGH, True)])
def test_too_few_drops_decide_nothing(tuples: int, moves: bool) -> None:
    policy = Sweep(Pipeline(("a", "b")), ProfileSettings(p=1.0, profile_window=500))
    verdict = policy.update(seen(2, [(False, True)] * tuples))
    assert (verdict is not None) == moves


@given(pipelines(least=2, most=6, guarded=False, hidden=False), st.data())
def test_on_a_stable_stream_it_converges_to_the_greedy_invariant(pipeline: Pipeline, data: st.DataObject) -> None:
    n = len(pipeline)
    alpha = data.draw(st.sampled_from([0.5, 0.9]))
    patterns = data.draw(st.lists(st.tuples(*[st.booleans()] * n).filter(any), min_size=1, max_size=12))
    costs = data.draw(costs_of(n))
    # every stage sees the same rows, so often that every pair that matters has its dozens of drops
    stage = patterns * ENOUGH
    policy = Sweep(pipeline, ProfileSettings(p=1.0, profile_window=len(stage), alpha=alpha))
    orders = [policy.order]
    calm = 0
    while calm < n and len(orders) < 500:
        verdict = policy.update(seen(n, [known_to_sweep(bits, policy) for bits in stage], costs))
        calm = 0 if verdict is not None else calm + 1
        orders.append(policy.order)
    assert calm == n, "it still moves"
    assert violations(policy.order, patterns, costs, alpha, pipeline.guards, SLACK) == []
    assert all(sorted(a) == sorted(b) for a, b in pairwise(orders))


def test_the_defaults_are_those_of_table_1() -> None:
    assert Sweep(Pipeline(("a",))).settings == ProfileSettings(p=0.01, profile_window=500, alpha=0.9)


def test_the_rear_of_a_chain_is_corrected_too() -> None:
    """Few rows get there: a stage sees about eight drops of its pair. An expensive filter must not stay because there
    are no more."""
    policy, rng = Sweep(Pipeline(tuple("abcdefgh"))), np.random.default_rng(5)
    costs = [100.0] * 6 + [50_000.0, 1_000.0]
    for _ in range(200):
        drops = rng.random((500, 8)) < 0.5
        batch = [known_to_sweep(tuple(bits), policy) for bits in drops if bits.any()]
        policy.update(seen(8, batch, costs))
    assert policy.order[-1] == 6
