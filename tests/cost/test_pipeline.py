"""Equation 1, the greedy order and the best order, compared with explicit sums and all permutations."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.filters.pipelines import pipelines
from thalweg.cost import best_order, expected_cost, greedy_order, order_cost
from thalweg.cost.pipeline import calls_after
from thalweg.plan import Pipeline

Case = tuple[Pipeline, np.ndarray, list[int], list[int]]


@st.composite
def cases(draw: st.DrawFn, most: int = 5) -> Case:
    """A table of outcomes with correlated columns, whole costs and weights, and a pipeline."""
    pipeline = draw(pipelines(most=most, hidden=False))
    n = len(pipeline)
    patterns = draw(st.lists(st.integers(0, 2**n - 1), min_size=1, max_size=20))
    dropped = np.array([[p >> k & 1 for k in range(n)] for p in patterns], dtype=bool)
    times = draw(st.lists(st.sampled_from([1, 2, 3, 10, 100]), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(patterns), max_size=len(patterns)))
    return pipeline, dropped, times, weights


def plain_cost(order: tuple[int, ...], dropped: np.ndarray, times: list[int], weights: list[int]) -> Fraction:
    """Run every tuple until a filter drops it."""
    cost = 0
    for row, weight in zip(dropped, weights, strict=True):
        for k in order:
            cost += weight * times[k]
            if row[k]:
                break
    return Fraction(cost, sum(weights))


def valid(pipeline: Pipeline) -> list[tuple[int, ...]]:
    n = len(pipeline)
    return [
        order
        for order in itertools.permutations(range(n))
        if all(order.index(g) < order.index(k) for k in range(n) for g in pipeline.guards[k])
    ]


@given(cases())
def test_the_cost_of_an_order_is_that_of_running_every_tuple(case: Case) -> None:
    pipeline, dropped, times, weights = case
    for order in valid(pipeline)[:10]:
        expected = float(plain_cost(order, dropped, times, weights))
        assert order_cost(order, dropped, times, np.array(weights, float)) == pytest.approx(expected)
        unweighted = float(plain_cost(order, dropped, times, [1] * len(weights)))
        assert order_cost(order, dropped, times) == pytest.approx(unweighted)


@given(cases())
def test_equation_1_is_the_cost_over_the_table(case: Case) -> None:
    pipeline, dropped, times, weights = case
    order = pipeline.start
    drops, alive = [], list(zip(dropped.tolist(), weights, strict=True))
    for k in order:  # d(i|i-1): the share that the filter at i drops of the tuples that pass the filters before it
        reach = sum(weight for _, weight in alive)
        drops.append(sum(weight for row, weight in alive if row[k]) / reach if reach else 0.0)
        alive = [(row, weight) for row, weight in alive if not row[k]]
    expected = float(plain_cost(order, dropped, times, weights))
    assert expected_cost([times[k] for k in order], drops) == pytest.approx(expected)


@given(cases())
def test_the_best_order_is_the_best_of_all_permutations(case: Case) -> None:
    pipeline, dropped, times, weights = case
    order, cost = best_order(dropped, times, np.array(weights, float), pipeline)
    assert order in valid(pipeline)
    best = min(plain_cost(o, dropped, times, weights) for o in valid(pipeline))
    assert cost == pytest.approx(float(best))
    assert plain_cost(order, dropped, times, weights) == best


@given(cases())
def test_without_a_pipeline_every_order_is_allowed(case: Case) -> None:
    _, dropped, times, _ = case
    n = dropped.shape[1]
    ones = [1] * len(dropped)
    _, cost = best_order(dropped, times)
    assert cost == pytest.approx(
        float(min(plain_cost(o, dropped, times, ones) for o in itertools.permutations(range(n))))
    )


@given(cases(), st.data())
def test_the_best_order_with_fixed_costs_is_the_best_of_all(case: Case, data: st.DataObject) -> None:
    pipeline, dropped, times, _ = case
    n, rows = dropped.shape[1], len(dropped)
    fixed = data.draw(st.lists(st.sampled_from([0, 5, 50]), min_size=n, max_size=n))
    starts = sorted({0, *data.draw(st.lists(st.integers(0, rows - 1), max_size=4))})

    def by_slices(order: tuple[int, ...]) -> Fraction:
        cost = 0
        for start, end in itertools.pairwise([*starts, rows]):
            alive = dropped[start:end].tolist()
            for k in order:
                cost += fixed[k] * bool(alive) + times[k] * len(alive)
                alive = [row for row in alive if not row[k]]
        return Fraction(cost, rows)

    order, cost = best_order(dropped, times, None, pipeline, fixed, np.array(starts))
    best = min(map(by_slices, valid(pipeline)))
    assert order in valid(pipeline)
    assert by_slices(order) == best
    assert cost == pytest.approx(float(best))


def test_more_slices_than_are_processed_together() -> None:
    rng = np.random.default_rng(5)
    dropped = rng.random((1000, 3)) < [0.3, 0.6, 0.9]
    starts = np.unique(np.append(0, rng.integers(0, 1000, 300)))
    calls = calls_after(dropped @ (1 << np.arange(3)), 3, starts)
    for done in range(8):
        alive = ~(dropped & [done & 1 > 0, done & 2 > 0, done & 4 > 0]).any(axis=1)
        assert calls[done] == sum(part.any() for part in np.split(alive, starts[1:]))


@given(cases())
def test_the_greedy_order_puts_guards_first(case: Case) -> None:
    pipeline, dropped, times, weights = case
    assert greedy_order(dropped, times, np.array(weights, float), pipeline) in valid(pipeline)


def test_a_guard_is_worth_what_it_guards() -> None:
    dropped = np.array([[0, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 0]], bool)
    assert greedy_order(dropped, [10.0, 1.0, 1.0], pipeline=Pipeline(("a", "b", "c"), ((), (), (1,)))) == (1, 2, 0)


@given(cases())
def test_the_greedy_order_satisfies_the_greedy_invariant(case: Case) -> None:
    pipeline, dropped, times, weights = case
    pipeline = Pipeline(pipeline.names)  # the paper's invariant is for filters without guards
    order = greedy_order(dropped, times, np.array(weights, float), pipeline)
    for i, current in enumerate(order):
        reach = [(row, w) for row, w in zip(dropped, weights, strict=True) if not any(row[k] for k in order[:i])]

        def rate(k: int, reach: list[tuple[np.ndarray, int]] = reach) -> Fraction:
            return Fraction(sum(w for row, w in reach if row[k]), times[k])

        for other in order[i + 1 :]:
            if set(pipeline.guards[other]) <= set(order[:i]):
                assert rate(current) >= rate(other)


@given(cases(most=6))
def test_the_greedy_order_is_within_four_times_the_best(case: Case) -> None:
    # theorem 4.1 is for filters without guards
    _, dropped, times, weights = case
    order = greedy_order(dropped, times, np.array(weights, float))
    _, best = best_order(dropped, times, np.array(weights, float))
    assert order_cost(order, dropped, times, np.array(weights, float)) <= 4 * best * (1 + 1e-9)


def test_greedy_is_not_always_best() -> None:
    # so the bound above is not trivial: the first drops 7 of 12 and is taken first, the others together drop all 12
    dropped = np.array([[1, 1, 0]] * 3 + [[0, 1, 0]] * 3 + [[1, 0, 1]] * 4 + [[0, 0, 1]] * 2, bool)
    assert greedy_order(dropped, [1, 1, 1]) == (0, 1, 2)
    assert order_cost((0, 1, 2), dropped, [1, 1, 1]) == pytest.approx(19 / 12)
    assert best_order(dropped, [1, 1, 1])[1] == pytest.approx(18 / 12)


def test_a_table_without_tuples_costs_nothing() -> None:
    nothing = np.zeros((0, 3), dtype=bool)
    assert order_cost((0, 1, 2), nothing, [1, 1, 1]) == 0.0
    assert best_order(nothing, [1, 1, 1])[1] == 0.0
    assert sorted(greedy_order(nothing, [1, 1, 1])) == [0, 1, 2]
