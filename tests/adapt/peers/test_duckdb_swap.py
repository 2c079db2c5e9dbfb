"""DuckDB's policy: warm-up, a reference, a trial, and a verdict by the measured time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.adapt.seen import seen
from thalweg.adapt.peers.duckdb_swap import CERTAIN, EXECUTE, OBSERVE, WARM_UP, DuckdbSwap
from thalweg.plan import Pipeline


class Draws:
    """A generator whose draws are given: the pair times 100, plus the luck a pair's likelihood must exceed."""

    def __init__(self, *draws: int) -> None:
        self.draws = list(draws)
        self.asked: list[int] = []

    def integers(self, high: int) -> int:
        self.asked.append(high)
        return self.draws.pop(0)


def slices(policy: DuckdbSwap, count: int, ns: int) -> list[tuple[int, ...]]:
    """Return the orders of the verdicts during `count` slices of `ns` each."""
    n = len(policy.pipeline)
    verdicts = [policy.update(seen(n, busy_ns=[ns] + [0] * (n - 1))) for _ in range(count)]
    return [verdict.order for verdict in verdicts if verdict is not None]


def fresh(*draws: int, names: str = "abc", guards: tuple[tuple[int, ...], ...] = ()) -> DuckdbSwap:
    return DuckdbSwap(Pipeline(tuple(names), guards), None, Draws(*draws))  # type: ignore[arg-type]


def test_the_first_trial_comes_after_warm_up_and_reference() -> None:
    policy = fresh(100)
    draws: Any = policy.rng
    assert slices(policy, WARM_UP + EXECUTE - 1, 10) == []
    assert slices(policy, 1, 10) == [(0, 2, 1)]
    assert draws.asked == [2 * CERTAIN]


def test_a_swap_that_made_it_faster_stays() -> None:
    policy = fresh(0, 199)
    slices(policy, WARM_UP + EXECUTE, 10)
    assert policy.order == (1, 0, 2)
    assert slices(policy, OBSERVE, 9) == []
    assert policy.order == (1, 0, 2)
    assert policy.likelihood == [CERTAIN, CERTAIN]


@pytest.mark.parametrize("ns", [10, 11])
def test_a_swap_that_did_not_help_is_undone_and_less_likely(ns: int) -> None:
    policy = fresh(0)
    slices(policy, WARM_UP + EXECUTE, 10)
    assert slices(policy, OBSERVE - 1, ns) == []
    assert slices(policy, 1, ns) == [(0, 1, 2)]
    assert policy.likelihood == [CERTAIN // 2, CERTAIN]


def test_a_pair_that_does_not_help_is_never_given_up() -> None:
    policy = fresh(*[0] * 8)  # the luckiest draw each time
    slices(policy, WARM_UP, 10)
    likelihoods = []
    for _ in range(8):
        slices(policy, EXECUTE + OBSERVE, 10)
        likelihoods.append(policy.likelihood[0])
    assert likelihoods == [50, 25, 12, 6, 3, 1, 1, 1]


def test_a_pair_that_helps_again_is_certain_again() -> None:
    policy = fresh(0, 0)
    slices(policy, WARM_UP + EXECUTE + OBSERVE, 10)
    assert policy.likelihood[0] == 50
    slices(policy, EXECUTE, 10)
    slices(policy, OBSERVE, 5)
    assert policy.likelihood[0] == CERTAIN
    assert policy.order == (1, 0, 2)


def test_without_a_trial_the_reference_is_measured_again() -> None:
    policy = fresh(0, 50, 0)
    slices(policy, WARM_UP + EXECUTE + OBSERVE, 10)  # likelihood of the first pair is now 50, so luck 50 is not enough
    assert slices(policy, EXECUTE, 10) == []
    slices(policy, EXECUTE, 4)
    assert policy.order == (1, 0, 2)
    slices(policy, OBSERVE, 5)  # faster than at first, not faster than the new reference
    assert policy.order == (0, 1, 2)


def test_warm_up_does_not_count() -> None:
    policy = fresh(0)
    slices(policy, WARM_UP, 1_000_000)
    slices(policy, EXECUTE, 10)
    slices(policy, OBSERVE, 11)
    assert policy.order == (0, 1, 2)


def test_a_filter_does_not_pass_its_guard() -> None:
    policy = fresh(0, 0, guards=((), (0,), ()))
    slices(policy, WARM_UP + 2 * EXECUTE, 10)
    assert policy.order == (0, 1, 2)


def test_all_of_a_slice_counts_not_one_filter() -> None:
    policy = fresh(0)
    slices(policy, WARM_UP, 10)
    for _ in range(EXECUTE):
        policy.update(seen(3, busy_ns=[1, 1, 8]))
    for _ in range(OBSERVE):
        policy.update(seen(3, busy_ns=[9, 0, 0]))
    assert policy.order == (1, 0, 2)


def test_the_reasons_say_what_was_tried_and_why_it_was_undone() -> None:
    policy = fresh(0)
    verdicts = [policy.update(seen(3, busy_ns=[ns, 0, 0])) for ns in [10] * 25 + [12] * 10]
    first, second = (verdict for verdict in verdicts if verdict is not None)
    assert first.reason == "b before a, tried at random"
    assert second.reason == "a before b, swapped back: 12 ns per slice was not below 10 ns"


def test_one_filter_is_left_alone() -> None:
    policy = DuckdbSwap(Pipeline(("a",)), None, np.random.default_rng(1))
    assert slices(policy, 200, 10) == []


def test_a_restore_during_a_trial_undoes_no_other_swap() -> None:
    pipeline = Pipeline(("a", "b", "c"), guards=((), (), (1,)))
    policy = DuckdbSwap(pipeline, None, Draws(0))  # type: ignore[arg-type]
    slices(policy, WARM_UP + EXECUTE, 10)
    assert policy.phase == "observe"
    policy.restore({"policy": "duckdb-swap", "order": [1, 2, 0]})
    slices(policy, OBSERVE, 20)
    assert policy.order == (1, 2, 0)
