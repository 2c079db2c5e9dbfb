"""Contenders find the same results, and their counts are those of tuples that are followed one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from thalweg.lab.query_mesh.contender_run import ContenderRun
from thalweg.lab.query_mesh.contenders import CBR, CBR_BATCHED, EDDY, QM, SP, run_all, run_mesh, single_plan
from thalweg.lab.query_mesh.eddy import Eddy, gain_ratios, same_plan
from thalweg.lab.query_mesh.layouts import LAYOUTS, RUSTER, SAMPLE, Stream
from thalweg.lab.query_mesh.prices import PRICES, Prices
from thalweg.lab.query_mesh.training import TABLE_1, fixed_size, mesh_of, sampled

LAYOUT = LAYOUTS["shifted"]
TUPLES = 2_500


def streams(tuples: int = TUPLES) -> tuple[Stream, Stream]:
    rng = np.random.default_rng(5)
    return LAYOUT.stream("poisson", SAMPLE, rng), LAYOUT.stream("poisson", tuples, rng)


def probed(passes: np.ndarray, order: Sequence[int]) -> list[int]:
    """The probes of one tuple in this order, until one finds nothing."""
    visited = []
    for k in order:
        visited.append(k)
        if not passes[k]:
            break
    return visited


def test_all_contenders_find_the_same_results() -> None:
    runs = run_all(LAYOUT, "poisson", TUPLES, 0, untested=True)
    rng = np.random.default_rng(0)
    LAYOUT.stream("poisson", SAMPLE, rng)
    expected = int(LAYOUT.stream("poisson", TUPLES, rng).passes.all(axis=1).sum())
    assert {int(run.outputs.sum()) for run in runs.values()} == {expected}
    assert {SP, QM, CBR, CBR_BATCHED, EDDY} < set(runs)


def test_one_route_evaluates_what_its_order_reaches() -> None:
    sample, stream = streams()
    mesh = single_plan(sample, LAYOUT.costs_ns())
    run = run_mesh(stream, mesh)
    expected = Counter(k for row in stream.passes for k in probed(row, mesh.routes[0]))
    assert run.evaluated.sum(axis=0).tolist() == [expected[k] for k in range(10)]
    assert run.routing_ns.sum() == 0.0


def test_the_single_plan_is_the_best_order_of_few_probes() -> None:
    """With four probes, all 24 orders can be tried on the sample."""
    sample, _ = streams()
    four, costs = Stream(sample.values, sample.passes[:, :4]), np.array([3.0, 1.0, 2.0, 5.0])

    def cost(order: Sequence[int]) -> float:
        return sum(float(costs[k]) for row in four.passes for k in probed(row, order))

    best = min(permutations(range(4)), key=cost)
    assert cost(single_plan(four, costs).routes[0]) == pytest.approx(cost(best), rel=1e-3)


def test_a_mesh_routes_each_tuple_by_its_values() -> None:
    sample, stream = streams(2_000)
    mesh = mesh_of(sampled(sample), LAYOUT.costs_ns(), TABLE_1, np.random.default_rng(0)).mesh
    run = run_mesh(stream, mesh)
    assert len(mesh.routes) == 3
    expected: Counter[int] = Counter()
    for values, passes in zip(stream.values.tolist(), stream.passes, strict=True):
        route = mesh.tree.route_of({f"a{i + 1}": value for i, value in enumerate(values)})
        expected.update(probed(passes, mesh.routes[route]))
    assert run.evaluated.sum(axis=0).tolist() == [expected[k] for k in range(10)]
    each = PRICES.test_ns * mesh.tree.tests * 1_000 + 3 * PRICES.ruster_ns
    assert run.routing_ns.tolist() == pytest.approx([each, each])


@pytest.mark.parametrize(("batch", "content"), [(1, True), (RUSTER, True), (1, False), (RUSTER, False)])
def test_each_decision_of_an_eddy_is_counted_and_priced(batch: int, content: bool) -> None:
    sample, stream = streams()
    eddy = Eddy(LAYOUT.costs_ns(), sample, np.random.default_rng(0), batch, content=content)
    run = eddy.process(stream, Prices(0.0, 0.0, 1.0, 1_000.0, 0.0))
    assert run.routing_ns.sum() == run.decisions * (1.0 if batch == 1 else 1_000.0)
    if batch == 1:
        assert run.decisions == run.evaluated.sum()
    else:
        assert TUPLES / batch <= run.decisions <= 10 * TUPLES / batch
    assert int(run.outputs.sum()) == int(stream.passes.all(axis=1).sum())
    assert (eddy.learned > 0) == content


def test_learning_is_priced_by_visits() -> None:
    sample, stream = streams()
    eddy = Eddy(LAYOUT.costs_ns(), sample, np.random.default_rng(0))
    run = eddy.process(stream, Prices(0.0, 0.0, 0.0, 0.0, 1.0))
    assert run.routing_ns.sum() == eddy.learned
    assert eddy.learned == pytest.approx(run.decisions / 20, rel=0.2)


def test_cbr_finds_the_attribute_of_the_partitions() -> None:
    sample, stream = streams()
    content = Eddy(LAYOUT.costs_ns(), sample, np.random.default_rng(0))
    assert content.attribute[:5] == [0] * 5
    plain = Eddy(LAYOUT.costs_ns(), sample, np.random.default_rng(0), content=False)
    assert content.process(stream).evaluated.sum() < 0.8 * plain.process(stream).evaluated.sum()


def test_gain_ratio_as_computed_by_hand() -> None:
    """8 tuples, values x and y: 3 of 4 and 1 of 4 are dropped. H(1/2) - H(1/4) = 0.1887 bits, the split has 1 bit."""
    assert gain_ratios(np.array([[3.0, 1.0], [1.0, 3.0]])) == pytest.approx(0.188722, abs=1e-6)
    assert gain_ratios(np.array([[3.0, 1.0], [0.0, 0.0]])) == 0.0


def test_the_share_of_the_most_frequent_plan() -> None:
    assert same_plan(Counter({(0, 1): 5, (0, 2, 1): 3, (2,): 2})) == 0.5
    assert same_plan(Counter({(0,): 4, (0, 1, 2): 6})) == 1.0


def test_rates_and_overheads_of_a_run() -> None:
    run = ContenderRun(np.array([[10, 0], [0, 5]]), np.array([2, 4]), 10, np.array([5.0, 15.0]))
    costs = np.array([1.0, 4.0])
    assert run.spent_ns(costs).tolist() == [15.0, 35.0]
    assert run.rate(costs) == pytest.approx(6 / 50e-9)
    assert run.overhead(costs) == pytest.approx(20 / 50)
    assert run.per_tuple_ns(costs) == 5.0


@pytest.mark.parametrize("tuples", [4, 8, 10, 32, 100])
def test_training_sets_have_the_size_that_is_asked_for(tuples: int) -> None:
    sample, _ = streams()
    training = fixed_size(sampled(sample), tuples)
    assert len(training) == tuples
    assert training.density.sum() == SAMPLE
    assert training.means.T @ training.density == pytest.approx(sample.passes.sum(axis=0))
