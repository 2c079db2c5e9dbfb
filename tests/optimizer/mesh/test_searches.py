"""The searches, compared with brute force and with each other."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from tests.optimizer.mesh.streams_of_classes import EIGHT, drawn_meshes, drawn_training, stream
from thalweg.cost.mesh import RUSTER_NS, TEST_NS, MeshCosts
from thalweg.errors import PlanError
from thalweg.optimizer.mesh.ii_qm import ii_qm
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.opt_qm import opt_qm
from thalweg.optimizer.mesh.partitions import of_labels
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.sa_qm import sa_qm
from thalweg.optimizer.mesh.search import Search, Stop
from thalweg.optimizer.mesh.starts import STARTS
from thalweg.optimizer.mesh.training import condense
from thalweg.plan import Pipeline

BATCH = 4_096


def brute_force(seed: int, costs: np.ndarray) -> dict[tuple[int, ...], float]:
    """What the mesh of every partition of four tuples costs, from the rows: all orders of three filters, one test."""
    training = drawn_training(seed, tuples=4, filters=3, rows=8_000)
    rows = len(training.passes)
    priced = {}
    for labels in product(range(4), repeat=4):
        of_row = np.array(labels)[training.tuple_of_row]
        total = 0.0
        for label in set(labels):
            passes = training.passes[of_row == label]
            totals = []
            for order in permutations(range(3)):
                reach = np.cumprod(passes[:, order[:-1]], axis=1).sum(axis=0)
                totals.append(costs[order[0]] * len(passes) + costs[list(order[1:])] @ reach)
            total += min(totals) / rows
        several = len(set(labels)) if len(set(labels)) > 1 else 0
        priced[of_labels(labels)] = total + TEST_NS * bool(several) + several * RUSTER_NS / BATCH
    return priced


@pytest.mark.parametrize("seed", range(12))
def test_opt_qm_finds_what_brute_force_finds(seed: int) -> None:
    costs = np.array([1_000.0, 700.0, 1_500.0])
    priced = brute_force(seed, costs)
    assert len(priced) == 15
    training = drawn_training(seed, tuples=4, filters=3, rows=8_000)
    meshes = PricedMeshes(MeshCosts(training, Pipeline(tuple("abc")), costs, np.zeros(3), BATCH))
    for partition, ns in priced.items():
        assert meshes.of(partition) == pytest.approx(ns, rel=0.002)
    found = mesh_search(meshes, np.random.default_rng(0), "opt").run()
    assert (found.costed, found.why) == (15, "done")
    assert priced[found.partition] == pytest.approx(min(priced.values()), rel=0.002)


def test_opt_qm_prices_all_partitions_or_refuses() -> None:
    meshes = drawn_meshes(1, tuples=8, rows=300)
    assert mesh_search(meshes, np.random.default_rng(0), "opt").run().costed == 4_140
    with pytest.raises(PlanError, match="11 tuples have too many; condense to at most 10"):
        opt_qm(drawn_meshes(1, tuples=11, rows=300))


@pytest.mark.parametrize("search", ["ii", "sa"])
def test_random_searches_come_near_the_optimum(search: str) -> None:
    """A hundred random sets of eight training tuples: mean within 3 %, worst within 10 %, at most 2,000 meshes."""
    above, costed = [], []
    for seed in range(100):
        best = mesh_search(drawn_meshes(seed), np.random.default_rng(seed), "opt").run().cost
        found = mesh_search(drawn_meshes(seed), np.random.default_rng(seed), search).run()
        above.append(found.cost / best - 1.0)
        costed.append(found.costed)
    assert min(above) > -1e-9
    assert max(costed) <= 2_000
    assert float(np.mean(above)) <= 0.03
    assert max(above) <= 0.10


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("search", ["ii", "sa"])
def test_a_search_is_never_worse_than_its_start(search: str, start: str) -> None:
    for seed in range(8):
        for stop in (Stop(meshes=1), Stop(meshes=3), Stop(meshes=40), Stop()):
            meshes, rng = drawn_meshes(seed, tuples=12, filters=5, most_routes=4), np.random.default_rng(seed)
            first = STARTS[start](meshes, rng)
            priced = ii_qm(meshes, [first], rng) if search == "ii" else sa_qm(meshes, first, rng)
            found = Search(meshes, priced, stop).run()
            assert found.cost <= meshes.of(first)
            assert found.costed <= stop.meshes
            assert len(found.mesh.routes) == len(found.partition) <= 4
            assert found.cost == meshes.of(found.partition)


@pytest.mark.parametrize("search", ["ii", "sa"])
def test_a_search_in_steps_finds_the_same(search: str) -> None:
    whole = mesh_search(drawn_meshes(3), np.random.default_rng(1), search).run()
    steps = mesh_search(drawn_meshes(3), np.random.default_rng(1), search)
    taken = 0
    while not steps.step(most_meshes=7):
        taken += 1
        assert steps.costed == 7 * taken
    assert steps.found() == whole


def test_searches_stop_for_the_reason_they_name() -> None:
    def run(stop: Stop, tick_ns: int = 0) -> tuple[str, int]:
        clock = iter(range(0, 10**12, tick_ns or 1))
        search = mesh_search(drawn_meshes(5), np.random.default_rng(0), "sa", stop=stop, clock_ns=lambda: next(clock))
        found = search.run()
        return found.why, found.costed

    assert run(Stop(meshes=30)) == ("meshes", 30)
    assert run(Stop(meshes=10**6, plateau=50))[0] == "plateau"
    why, costed = run(Stop(time_ns=1_000), tick_ns=100)
    assert (why, costed) == ("time", 10)


def test_a_step_ends_when_its_time_is_up() -> None:
    clock = iter(range(0, 10**9, 100))
    search = mesh_search(drawn_meshes(5), np.random.default_rng(0), clock_ns=lambda: next(clock))
    assert not search.step(most_ns=500)
    assert search.costed == 5
    assert not search.step(most_ns=0)
    assert search.costed == 6


def test_before_the_first_step_there_is_one_route() -> None:
    found = mesh_search(drawn_meshes(2), np.random.default_rng(0)).found(version=7)
    assert (len(found.mesh.routes), found.mesh.tree.nodes, found.costed, found.mesh.version) == (1, 0, 0, 7)
    assert math.isfinite(found.cost)


def test_unknown_names_are_refused_with_the_nearest() -> None:
    meshes, rng = drawn_meshes(2, rows=50), np.random.default_rng(0)
    with pytest.raises(PlanError, match="search='iii' is unknown"):
        mesh_search(meshes, rng, "iii")
    with pytest.raises(PlanError, match="did you mean 'route-driven'"):
        mesh_search(meshes, rng, search_from="route_driven")


def test_the_order_of_a_route_respects_guards() -> None:
    training = condense(stream("classes", 1_000, 0).sample)
    pipeline = Pipeline(EIGHT.names, guards=((7,), (), (0, 3), (), (5,), (), (), (1,)))
    meshes = PricedMeshes(MeshCosts(training, pipeline, np.full(8, 900.0), np.zeros(8), BATCH))
    found = mesh_search(meshes, np.random.default_rng(0)).run()
    assert len(found.mesh.routes) > 1
    assert all(pipeline.respects(route) for route in found.mesh.routes)
