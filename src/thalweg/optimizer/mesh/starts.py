"""Start solutions of the searches: partitions from which they begin (query-mesh, section 4.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thalweg.optimizer.mesh.partitions import Partition, canonical, of_labels, random_partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.stats.training_set import TrainingSet

RANDOM_PICKS = 10
"""Random partitions of which `random_pick` takes the cheapest."""


def content_driven(meshes: PricedMeshes, rng: np.random.Generator) -> Partition:
    """Return the partition by similarity of values: ranges of numbers in two halves, groups of texts as they are."""
    training = meshes.training
    categories = training.cells.copy()
    for i, axis in enumerate(training.axes):
        if axis.ordered:
            known = categories[:, i] < axis.size
            categories[known, i] = categories[known, i] * 2 // axis.size
    _, content = np.unique(categories, axis=0, return_inverse=True)
    heaviest = np.argsort(training.cell_density, kind="stable")  # a tuple is where most of its rows are
    labels = dict(zip(training.tuple_of_cell[heaviest].tolist(), content.reshape(-1)[heaviest].tolist(), strict=True))
    return limited(meshes, of_labels(labels[t] for t in range(len(training))))


def route_driven(meshes: PricedMeshes, rng: np.random.Generator) -> Partition:
    """Return the partition into route-equivalent tuples: neither loses more than its error by the other's route.

    Identical best routes are rare, because two filters that drop nearly the same change places by chance.
    """
    training, costs = meshes.training, meshes.costs
    costs.prepare(1 << t for t in range(len(training)))
    leaders: list[int] = []
    subsets: list[int] = []
    for t in np.argsort(-training.density, kind="stable").tolist():
        for i, leader in enumerate(leaders):
            if _loses_little(meshes, t, leader) and _loses_little(meshes, leader, t):
                subsets[i] |= 1 << t
                break
        else:
            leaders.append(t)
            subsets.append(1 << t)
    return limited(meshes, canonical(subsets))


def _loses_little(meshes: PricedMeshes, one: int, other: int) -> bool:
    costs = meshes.costs
    mine, theirs = costs.best_route(1 << one), costs.best_route(1 << other)
    if mine == theirs:
        return True
    loss = costs.route_ns(theirs, 1 << one) - costs.best_ns(1 << one)
    return loss <= costs.error_ns(mine, theirs, 1 << one)


def random_pick(meshes: PricedMeshes, rng: np.random.Generator) -> Partition:
    """Return the cheapest of some random partitions."""
    picks = [random_partition(len(meshes.training), rng, meshes.most_routes) for _ in range(RANDOM_PICKS)]
    meshes.prepare(picks)
    return min(picks, key=meshes.of)


def extreme_1(meshes: PricedMeshes, rng: np.random.Generator) -> Partition:
    """Return the partition with one route for all rows."""
    return (meshes.costs.everything,)


def extreme_n(meshes: PricedMeshes, rng: np.random.Generator) -> Partition:
    """Return the partition with a route per training tuple, or with as many routes as allowed."""
    return limited(meshes, tuple(1 << t for t in range(len(meshes.training))))


STARTS: dict[str, Callable[[PricedMeshes, np.random.Generator], Partition]] = {
    "content-driven": content_driven,
    "route-driven": route_driven,
    "random-pick": random_pick,
    "extreme-1": extreme_1,
    "extreme-n": extreme_n,
}
"""Start solutions by the names of the paper."""


def sent_by(training: TrainingSet, routes: NDArray[np.integer], count: int) -> tuple[int, ...]:
    """Return the training tuples that a mesh sends along each of its routes: each goes where most of its rows go.

    Parameters
    ----------
    training
        The training tuples.
    routes
        The route of each sampled row, as the compiled tree of the mesh returns them.
    count
        The number of routes of the mesh.

    Returns
    -------
    tuple of int
        By number of route, a set of training tuples. `MeshCosts.mesh_ns` prices them.
    """
    votes = np.zeros((len(training), count))
    np.add.at(votes, (training.tuple_of_row, routes), training.weights)
    sent = [0] * count
    for t, route in enumerate(votes.argmax(axis=1).tolist()):
        sent[route] |= 1 << t
    return tuple(sent)


def current(training: TrainingSet, routes: NDArray[np.integer]) -> Partition:
    """Return the partition that the current mesh makes, as a start solution when training again.

    Parameters
    ----------
    training
        The training tuples.
    routes
        The route of each sampled row in the current mesh.

    Returns
    -------
    tuple of int
        The partition.
    """
    return canonical(sent_by(training, routes, int(routes.max(initial=0)) + 1))


def limited(meshes: PricedMeshes, partition: Partition) -> Partition:
    """Merge subsets, always the two whose merge costs least, until there are no more than routes are allowed."""
    costs = meshes.costs
    subsets = list(partition)
    while len(subsets) > meshes.most_routes:
        pairs = [(a, b) for i, a in enumerate(subsets) for b in subsets[:i]]
        costs.prepare([a | b for a, b in pairs] + subsets)
        a, b = min(pairs, key=lambda pair: costs.best_ns(pair[0] | pair[1]) - sum(map(costs.best_ns, pair)))
        subsets = [subset for subset in subsets if subset not in (a, b)] + [a | b]
    return canonical(subsets)
