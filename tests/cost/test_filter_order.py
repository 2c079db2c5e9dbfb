"""The expected cost of an order, and the cheapest order, compared with brute force on the table of rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.filters.pipelines import pipelines, valid_orders
from thalweg.cost.filter_order import CostModel
from thalweg.cost.pipeline import best_order, order_cost
from thalweg.plan import Pipeline

ROWS = 4_000
"""So many rows that the prior of two rows at every position hardly counts."""


def table(rng: np.random.Generator, n: int, rows: int = ROWS) -> np.ndarray:
    """Draw rows of correlated filters: a few patterns with random shares. At least one filter drops each row."""
    patterns = rng.random((6, n)) < rng.uniform(0.2, 0.8, n)
    patterns[~patterns.any(axis=1), int(rng.integers(n))] = True
    dropped = patterns[rng.choice(6, rows, p=rng.dirichlet(np.ones(6)))]
    flipped = dropped ^ (rng.random((rows, n)) < 0.1)
    return np.where(flipped.any(axis=1, keepdims=True), flipped, dropped)


def cost_model(
    dropped: np.ndarray, costs: np.ndarray, pipeline: Pipeline, *, kept: float = 0.0, fixed: np.ndarray | None = None,
    slice_rows: float = 1024.0,
) -> CostModel:  # fmt: skip
    none = np.zeros(dropped.shape[1])
    weights = np.ones(len(dropped))
    return CostModel(~dropped * 1.0, weights, kept, costs, none if fixed is None else fixed, slice_rows, pipeline)


def draw(seed: int, pipeline: Pipeline) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = len(pipeline)
    return table(rng, n), np.exp(rng.uniform(np.log(60), np.log(60_000), n))


def plain(n: int) -> Pipeline:
    return Pipeline(tuple(f"f{k}" for k in range(n)))


@settings(max_examples=25)
@given(st.integers(0, 2**32), pipelines(least=2), st.data(), st.sampled_from([0.0, 0.3, 0.9]))
def test_the_cost_of_an_order_is_that_of_the_table(
    seed: int, pipeline: Pipeline, data: st.DataObject, kept: float
) -> None:
    dropped, costs = draw(seed, pipeline)
    order = data.draw(valid_orders(pipeline))
    walk = cost_model(dropped, costs, pipeline, kept=kept).walk(order)
    alive = [float((~dropped[:, list(order[:i])].any(axis=1)).mean()) for i in range(len(order))]
    assert walk.reach == pytest.approx([kept + (1 - kept) * share for share in alive], abs=0.002)
    # a row that passes everything costs as much as all filters together
    expected = kept * costs.sum() + (1 - kept) * order_cost(order, dropped, costs.tolist())
    assert walk.total_ns == pytest.approx(expected, rel=0.02)
    rest = [float(walk.ns[i:].sum() / walk.reach[i]) for i in range(len(order))]
    assert walk.rest_ns() == pytest.approx(rest)


@settings(max_examples=25)
@given(st.integers(0, 2**32), pipelines(least=2), st.data(), st.booleans())
def test_a_gain_is_the_difference_between_two_orders(
    seed: int, pipeline: Pipeline, data: st.DataObject, with_fixed: bool
) -> None:
    dropped, costs = draw(seed, pipeline)
    n = len(pipeline)
    fixed = np.linspace(0, 300_000, n) if with_fixed else np.zeros(n)
    model = cost_model(dropped, costs, pipeline, fixed=fixed)
    walk = model.walk(data.draw(valid_orders(pipeline)))
    for to in range(n):
        for of in range(n):
            allowed = to < of and pipeline.respects(walk.moved(to, of))
            assert np.isfinite(walk.gains[to, of]) == allowed
            if allowed:
                other = model.walk(walk.moved(to, of))
                difference = walk.total_ns - other.total_ns
                assert walk.gains[to, of] == pytest.approx(difference, abs=0.02 * walk.total_ns)


@settings(max_examples=40)
@given(st.integers(0, 2**32), pipelines(least=2), st.data(), st.booleans(), st.booleans())
def test_the_cheapest_order_respects_guards_and_is_never_worse(
    seed: int, pipeline: Pipeline, data: st.DataObject, with_fixed: bool, thorough: bool
) -> None:
    dropped, costs = draw(seed, pipeline)
    few = dropped[: data.draw(st.sampled_from([0, 1, 7, 300]))]
    fixed = np.linspace(0, 300_000, len(pipeline)) if with_fixed else None
    model = cost_model(few, costs, pipeline, kept=0.1, fixed=fixed)
    walk = model.walk(data.draw(valid_orders(pipeline)))
    found = model.cheapest(walk, thorough=thorough)
    assert pipeline.respects(found.order)
    assert found.total_ns <= walk.total_ns
    assert found.total_ns == pytest.approx(model.walk(found.order).total_ns)


def test_the_cheapest_order_is_nearly_always_the_best() -> None:
    """Compared with exhaustive search; theorem 4.1 of a-greedy says at most four times."""
    ratios = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        dropped, costs = draw(seed, plain(n))
        model = cost_model(dropped, costs, plain(n))
        found = model.cheapest(model.walk(tuple(rng.permutation(n).tolist()))).order
        ratios.append(order_cost(found, dropped, costs.tolist()) / best_order(dropped, costs.tolist())[1])
    assert max(ratios) <= 4.0
    assert sum(ratio > 1.05 for ratio in ratios) <= 6  # one in twenty
    assert float(np.mean(ratios)) <= 1.01


def test_with_fixed_costs_too_it_is_nearly_always_the_best() -> None:
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        dropped, costs = draw(seed, plain(n))
        model = cost_model(dropped[:500], costs, plain(n), fixed=rng.choice([0, 3e4, 1e6], n), slice_rows=256)
        best = min(model.walk(order).total_ns for order in permutations(range(n)))
        start = tuple(rng.permutation(n).tolist())
        ratios.append(model.cheapest(model.walk(start)).total_ns / best)
    assert min(ratios) > 0.999
    assert sum(ratio > 1.05 for ratio in ratios) <= 2
    assert max(ratios) <= 1.5


@pytest.mark.parametrize("seed", range(5))
def test_calls_are_those_that_slices_of_independent_rows_make(seed: int) -> None:
    """Rows are alive at random: a filter is called on a slice if one of its rows gets there."""
    rng = np.random.default_rng(seed)
    model = cost_model(np.ones((4, 2), bool), np.ones(2), plain(2), slice_rows=64)
    for share in (0.001, 0.01, 0.05, 0.5):
        alive = rng.random((20_000, 64)) < share
        per_row = alive.any(axis=1).mean() / 64
        assert float(model.calls(np.array(share))) == pytest.approx(per_row, rel=0.1, abs=1e-4)


def test_a_large_fixed_cost_is_placed_where_it_is_not_paid() -> None:
    """Both drop everything: the one with an expensive call comes second, although its rows are cheaper."""
    dropped = np.ones((ROWS, 2), bool)
    model = cost_model(dropped, np.array([100.0, 1_000.0]), plain(2), fixed=np.array([1e6, 0.0]), slice_rows=256)
    assert model.cheapest(model.walk((0, 1))).order == (1, 0)


def test_one_row_does_not_outweigh_what_filters_drop_of_all_rows() -> None:
    """The first filter drops all rows but one. What the others do with that row says little about rows that get there,
    so they are ordered by what they drop of all rows."""
    dropped = np.zeros((40, 3), bool)
    dropped[1:, 0] = dropped[::10, 1] = dropped[1:37, 2] = True
    assert dropped[0].tolist() == [False, True, False]
    model = cost_model(dropped, np.array([1.0, 100.0, 100.0]), plain(3))
    assert model.cheapest(model.walk((0, 1, 2))).order == (0, 2, 1)
