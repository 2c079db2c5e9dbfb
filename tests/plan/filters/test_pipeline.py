from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.filters.pipelines import pipelines
from thalweg import PlanError
from thalweg.plan import Pipeline


@given(pipelines(most=5))
def test_the_start_is_the_first_valid_order_by_the_written_order(pipeline: Pipeline) -> None:
    # lexicographically smallest of all permutations that put guards first: brute force
    n = len(pipeline)
    valid = [
        order
        for order in itertools.permutations(range(n))
        if all(order.index(g) < order.index(k) for k in range(n) for g in pipeline.guards[k])
    ]
    assert pipeline.start == min(valid)


@given(pipelines(most=5), st.randoms(use_true_random=False))
def test_an_order_is_respected_if_every_guard_comes_first(pipeline: Pipeline, random: Random) -> None:
    n = len(pipeline)
    order = list(range(n))
    random.shuffle(order)
    before = [set(order[:i]) for i in range(n)]
    expected = all(set(pipeline.guards[k]) <= before[i] for i, k in enumerate(order))
    assert pipeline.respects(order) == expected


@pytest.mark.parametrize("order", [(), (0,), (0, 0), (0, 1, 2), (1, 2)])
def test_an_order_that_is_not_a_permutation_is_not_respected(order: tuple[int, ...]) -> None:
    assert not Pipeline(("a", "b")).respects(order)


def test_a_cycle_is_refused() -> None:
    with pytest.raises(PlanError, match="a, b"):
        _ = Pipeline(("a", "b"), guards=((1,), (0,))).start


def test_label_returns_names_in_the_given_order() -> None:
    assert Pipeline(("a", "b", "c")).label((2, 0, 1)) == ["c", "a", "b"]
