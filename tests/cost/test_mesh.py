"""Costs of routes and meshes, compared with brute force on the table of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.plan.filters.pipelines import pipelines, valid_orders
from thalweg.cost.filter_order import CostModel
from thalweg.cost.mesh import MeshCosts, saving
from thalweg.plan import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet, sums_by

ROWS = 4_000
"""So many rows that the prior of two rows hardly counts."""
BATCH = 2_048.0


def training_of(seed: int, filters: int, tuples: int = 3, rows: int = ROWS, weighted: bool = True) -> TrainingSet:
    """Correlated filters: rows of a tuple have one of three patterns, with noise."""
    rng = np.random.default_rng(seed)
    of_row = np.sort(rng.integers(tuples, size=rows))
    patterns = rng.random((tuples, 3, filters)) < rng.uniform(0.2, 0.8, filters)
    passes = patterns[of_row, rng.integers(3, size=rows)] ^ (rng.random((rows, filters)) < 0.1)
    weights = rng.uniform(0.5, 1.5, rows) if weighted else np.ones(rows)
    axis = Axis("source", "text", groups=tuple((f"v{t}".encode(),) for t in range(tuples)))
    density = sums_by(of_row, weights, tuples)
    outcomes = passes.astype(np.float64)
    return TrainingSet((axis,), np.arange(tuples)[:, None], density, np.arange(tuples), outcomes, weights, of_row)


def brute_ns(training: TrainingSet, order: Sequence[int], tuples: int, costs: np.ndarray, fixed: np.ndarray) -> float:
    """What the rows of some tuples cost per row of the stream: filter by filter on the rows themselves."""
    here = (tuples >> training.tuple_of_row & 1).astype(bool)
    total, alive = 0.0, here * training.weights
    for k in order:
        share = float(alive.sum() / training.weights.sum())
        total += float(costs[k]) * share + float(fixed[k]) * (1.0 - np.exp(-share * BATCH)) / BATCH
        alive = alive * training.passes[:, k]
    return total


def random_costs(seed: int, n: int, with_fixed: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(100.0, 5_000.0, n), rng.uniform(0.0, 100_000.0, n) if with_fixed else np.zeros(n)


@examples(30, long=500)
@given(st.integers(0, 10**6), pipelines(least=1, most=5), st.data(), st.booleans(), st.integers(1, 7))
def test_the_best_route_is_the_cheapest_order_of_all(
    seed: int, pipeline: Pipeline, data: st.DataObject, with_fixed: bool, tuples: int
) -> None:
    n = len(pipeline)
    training = training_of(seed, n)
    costs, fixed = random_costs(seed, n, with_fixed)
    made = MeshCosts(training, pipeline, costs, fixed, BATCH)
    orders = [order for order in permutations(range(n)) if pipeline.respects(order)]
    best = min(brute_ns(training, order, tuples, costs, fixed) for order in orders)
    route = made.best_route(tuples)
    assert pipeline.respects(route)
    assert brute_ns(training, route, tuples, costs, fixed) == pytest.approx(best, rel=0.01)
    assert made.best_ns(tuples) == pytest.approx(best, rel=0.01)
    assert made.best_ns(tuples) == pytest.approx(made.route_ns(route, tuples))
    other = data.draw(valid_orders(pipeline))
    assert made.route_ns(other, tuples) == pytest.approx(brute_ns(training, other, tuples, costs, fixed), rel=0.01)


@pytest.mark.parametrize("filters", [4, 12])
def test_sets_computed_together_or_alone_have_the_same_costs(filters: int) -> None:
    training = training_of(1, filters, tuples=4, rows=300)
    costs, fixed = random_costs(1, filters, with_fixed=True)
    pipeline = Pipeline(tuple(f"f{k}" for k in range(filters)))
    together = MeshCosts(training, pipeline, costs, fixed, BATCH)
    together.prepare(range(1, 16))
    alone = MeshCosts(training, pipeline, costs, fixed, BATCH)
    for tuples in range(1, 16):
        assert together.best_ns(tuples) == pytest.approx(alone.best_ns(tuples))
        assert alone.route_ns(alone.best_route(tuples), tuples) == pytest.approx(alone.best_ns(tuples))


@pytest.mark.parametrize("seed", range(5))
def test_many_filters_get_nearly_the_best_route_and_guards_hold(seed: int) -> None:
    """Twelve filters are beyond the table: the greedy order, whose cost is that of the rows.

    There are so many rows that the prior hardly counts after many filters either.
    """
    n = 12
    guards = tuple((k + 1,) if k % 4 == 0 else () for k in range(n))
    pipeline = Pipeline(tuple(f"f{k}" for k in range(n)), guards)
    training = training_of(seed, n, rows=10 * ROWS)
    costs, fixed = random_costs(seed, n, with_fixed=True)
    made = MeshCosts(training, pipeline, costs, fixed, BATCH)
    for tuples in (0b001, 0b011, 0b111):
        route = made.best_route(tuples)
        assert pipeline.respects(route)
        spent = brute_ns(training, route, tuples, costs, fixed)
        assert made.best_ns(tuples) == pytest.approx(spent, rel=0.02)
        rng = np.random.default_rng(seed)
        drawn = [order for order in (rng.permutation(n).tolist() for _ in range(100)) if pipeline.respects(order)]
        assert spent <= min(brute_ns(training, order, tuples, costs, fixed) for order in drawn)


def test_a_mesh_costs_its_routes_its_tests_and_its_overhead() -> None:
    """Equation 2, on rows that the classifier sends along the wrong route too."""
    training = training_of(3, 4)
    costs, fixed = random_costs(3, 4, with_fixed=True)
    pipeline = Pipeline(tuple("abcd"))
    made = MeshCosts(training, pipeline, costs, fixed, BATCH, test_ns=20.0, ruster_ns=8_192.0)
    routes = [made.best_route(0b001), made.best_route(0b110)]
    wrong = [0b011, 0b100]
    expected = sum(brute_ns(training, route, sent, costs, fixed) for route, sent in zip(routes, wrong, strict=True))
    assert made.mesh_ns(wrong, 1.5, routes) == pytest.approx(expected + 20.0 * 1.5 + 2 * 8_192.0 / BATCH, rel=0.005)
    one = made.mesh_ns([0b111], 0.0)
    assert one == pytest.approx(made.best_ns(0b111))


def test_the_same_route_twice_costs_more_than_once_by_its_calls() -> None:
    """Two routes make up to twice as many calls, which is what a mesh must earn."""
    training = training_of(4, 3, tuples=2)
    pipeline = Pipeline(tuple("abc"))
    fixed = np.full(3, 50_000.0)
    made = MeshCosts(training, pipeline, np.full(3, 100.0), fixed, BATCH, test_ns=0.0, ruster_ns=0.0)
    order = made.best_route(0b11)
    apart = made.mesh_ns([0b01, 0b10], 0.0, [order, order])
    # every batch reaches all three filters on both routes: three more calls
    assert apart - made.mesh_ns([0b11], 0.0) == pytest.approx(3 * 50_000.0 / BATCH, rel=0.05)


def test_an_unknown_outcome_is_priced_as_its_probability() -> None:
    """A filter that must not be profiled lets rows pass with a probability: the mean over both outcomes."""
    training = training_of(5, 3, tuples=1, weighted=False)
    passes = training.passes.copy()
    passes[:, 1] = 0.3
    unknown = TrainingSet(
        training.axes, training.cells, training.cell_density, training.tuple_of_cell, passes, training.weights,
        training.tuple_of_row,
    )  # fmt: skip
    pipeline = Pipeline(tuple("abc"), profiled=(True, False, True))
    costs = np.array([100.0, 200.0, 300.0])
    made = MeshCosts(unknown, pipeline, costs, np.zeros(3), BATCH)
    for order in permutations(range(3)):
        both = []
        for outcome in (0.0, 1.0):
            passes = training.passes.copy()
            passes[:, 1] = outcome
            alive, total = np.ones(ROWS), 0.0
            for k in order:
                total += costs[k] * float(alive.mean())
                alive = alive * passes[:, k]
            both.append(total)
        assert made.route_ns(order, 1) == pytest.approx(0.7 * both[0] + 0.3 * both[1], rel=0.005)


def test_costs_agree_with_those_of_a_single_order() -> None:
    """One route for all rows costs what the cost model of the other policies says."""
    training = training_of(6, 6, weighted=False)
    costs, fixed = random_costs(6, 6, with_fixed=True)
    pipeline = Pipeline(tuple("abcdef"))
    made = MeshCosts(training, pipeline, costs, fixed, BATCH)
    model = CostModel(training.passes, training.weights, 0.0, costs, fixed, BATCH, pipeline)
    for order in ((0, 1, 2, 3, 4, 5), (5, 3, 1, 0, 2, 4)):
        assert made.route_ns(order, 0b111) == pytest.approx(model.walk(order).total_ns, rel=0.01)
    assert made.best_ns(0b111) <= model.cheapest(model.walk(pipeline.start)).total_ns * 1.01


def test_the_error_of_a_difference_is_what_repeated_samples_show() -> None:
    rng = np.random.default_rng(7)
    shares = np.array([0.3, 0.5, 0.7])
    costs = np.array([1_000.0, 800.0, 600.0])
    axis = Axis("source", "text", groups=((b"a",),))
    found, errors = [], []
    for _ in range(300):
        passes = (rng.random((200, 3)) < shares).astype(np.float64)
        rows = np.zeros(200, np.int64)
        training = TrainingSet((axis,), np.array([[0]]), np.array([200.0]), rows[:1], passes, np.ones(200), rows)
        made = MeshCosts(training, Pipeline(tuple("abc")), costs, np.zeros(3), BATCH)
        found.append(made.route_ns((0, 1, 2), 1) - made.route_ns((2, 1, 0), 1))
        errors.append(made.error_ns((0, 1, 2), (2, 1, 0), 1))
    assert float(np.mean(errors)) == pytest.approx(float(np.std(found)), rel=0.15)


def test_a_saving_and_its_error_are_those_of_the_rows() -> None:
    """Row by row, in plain Python; the error is what repeated samples show."""
    costs = np.array([1_000.0, 600.0, 300.0])
    routes, order = [(0, 1, 2), (2, 1, 0)], (1, 0, 2)
    shares = np.array([[0.2, 0.5, 0.9], [0.9, 0.5, 0.2]])

    def spent(row: np.ndarray, route: Sequence[int]) -> float:
        total = 0.0
        for k in route:
            total += float(costs[k])
            if not row[k]:
                break
        return total

    found, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        of_row = rng.integers(2, size=150)
        passes = (rng.random((150, 3)) < shares[of_row]).astype(np.float64)
        mean, error = saving(passes, np.ones(150), of_row, routes, order, costs)
        if seed < 5:
            expected = [spent(row, order) - spent(row, routes[r]) for row, r in zip(passes, of_row, strict=True)]
            assert mean == pytest.approx(float(np.mean(expected)))
        found.append(mean)
        errors.append(error)
    assert float(np.mean(errors)) == pytest.approx(float(np.std(found)), rel=0.15)
