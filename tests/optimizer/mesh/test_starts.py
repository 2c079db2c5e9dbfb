"""Start solutions: what they put together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.optimizer.mesh.streams_of_classes import EIGHT, drawn_meshes, stream
from thalweg.cost.mesh import MeshCosts
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.partitions import Partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.starts import STARTS, current, sent_by
from thalweg.optimizer.mesh.training import condense
from thalweg.plan import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet


def priced(name: str, rows: int = 4_000, seed: int = 0) -> PricedMeshes:
    costs = np.full(8, 1_000.0)
    return PricedMeshes(MeshCosts(condense(stream(name, rows, seed).sample), EIGHT, costs, np.zeros(8), 8_192))


def started(start: str, meshes: PricedMeshes) -> Partition:
    return STARTS[start](meshes, np.random.default_rng(0))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_start_divides_all_tuples_and_has_no_more_routes(start: str, most: int) -> None:
    meshes = drawn_meshes(3, tuples=11, filters=4, most_routes=most)
    partition = started(start, meshes)
    assert sum(partition) == 2**11 - 1
    assert sum(subset.bit_count() for subset in partition) == 11
    assert 1 <= len(partition) <= most


def test_the_extremes_are_one_route_and_one_per_tuple() -> None:
    meshes = drawn_meshes(3, tuples=6)
    assert started("extreme-1", meshes) == (0b111111,)
    assert started("extreme-n", meshes) == (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize("seed", range(4))
def test_route_driven_puts_tuples_of_a_class_together(seed: int) -> None:
    """Fifteen groups of sources, of four classes: best orders differ by chance, so identical ones are rare."""
    made = stream("many", 4_000, seed)
    meshes = priced("many", seed=seed)
    partition = started("route-driven", meshes)
    routes = {meshes.costs.best_route(1 << t) for t in range(len(meshes.training))}
    assert len(partition) < len(routes)
    right = 0
    for subset in partition:
        rows = (subset >> meshes.training.tuple_of_row & 1).astype(bool)
        right += max(int((made.classes[rows] == c).sum()) for c in range(4))
    assert right / 4_000 > 0.9


def test_route_driven_keeps_classes_apart() -> None:
    assert len(started("route-driven", priced("classes"))) == 4


def test_sources_that_mean_nothing_are_route_equivalent() -> None:
    sizes = [len(started("route-driven", priced("none", rows=1_000, seed=seed))) for seed in range(10)]
    assert np.mean(sizes) < 2.5  # of four


def test_content_driven_puts_neighboring_ranges_together() -> None:
    """Four ranges of two columns are sixteen cells, and halves of both are four groups."""
    axes = tuple(Axis(name, "number", cuts=(1.0, 2.0, 3.0)) for name in "xy")
    cells, tuples = np.array([(i, j) for i in range(4) for j in range(4)]), np.arange(16)
    training = TrainingSet(axes, cells, np.ones(16), tuples, np.ones((16, 2)), np.ones(16), tuples)
    meshes = PricedMeshes(MeshCosts(training, Pipeline(("a", "b")), np.ones(2), np.zeros(2), 1_024))
    partition = started("content-driven", meshes)
    assert sorted(subset.bit_count() for subset in partition) == [4, 4, 4, 4]
    for subset in partition:
        cells = meshes.training.cells[[t for t in range(16) if subset >> t & 1]]
        assert np.ptp(cells, axis=0).tolist() == [1, 1]


def test_random_pick_is_the_cheapest_of_several() -> None:
    costs = [meshes.of(started("random-pick", meshes)) for meshes in map(drawn_meshes, range(20))]
    ones = [meshes.of(started("extreme-n", meshes)) for meshes in map(drawn_meshes, range(20))]
    assert np.mean(costs) < 1.5 * np.mean(ones)
    meshes = drawn_meshes(0)
    again = [STARTS["random-pick"](meshes, np.random.default_rng(seed)) for seed in range(5)]
    assert len(set(again)) > 1


def test_current_is_the_partition_that_a_mesh_makes() -> None:
    meshes = priced("classes")
    found = mesh_search(meshes, np.random.default_rng(0)).run()
    values = stream("classes", 4_000, 0).values
    routes = found.mesh.tree.compiled().classify(values, 4_000)
    assert current(meshes.training, routes) == found.partition
    sent = sent_by(meshes.training, routes, len(found.mesh.routes))
    assert meshes.costs.mesh_ns(sent, found.mesh.tree.tests, found.mesh.routes) == pytest.approx(found.cost)
    assert sent_by(meshes.training, np.full(4_000, 2), 4) == (0, 0, meshes.costs.everything, 0)
    assert current(meshes.training, np.zeros(4_000, np.int16)) == (meshes.costs.everything,)
