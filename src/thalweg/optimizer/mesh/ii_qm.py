"""II-QM: iterative improvement from several start solutions.

How: from a start solution, move to a random neighbor whenever it is cheaper, until a local minimum is reached. Then
begin again from the next start solution, and after the last one from random partitions.
Guarantee: never worse than its first start solution.
Differs from the paper: a local minimum is a mesh of which so many random neighbors are not cheaper; 30 training tuples
have up to 2^29 neighbors.

Reference: Nehme et al. 2013, section 4.7, figure 6.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thalweg.optimizer.mesh.partitions import Partition, random_neighbor, random_partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.search import Priced

PATIENCE = 50
"""Random neighbors without gain that make a local minimum."""
TOGETHER = 16
"""Neighbors whose routes are computed together, because arrays are faster than single numbers."""
RESTARTS = 2
"""Random start solutions after those given."""


def ii_qm(
    meshes: PricedMeshes, starts: Iterable[Partition], rng: np.random.Generator, patience: int = PATIENCE,
    restarts: int = RESTARTS,
) -> Priced:  # fmt: skip
    """Price start solutions and random neighbors, downhill.

    Parameters
    ----------
    meshes
        The meshes to search.
    starts
        Start solutions.
    rng
        The source of random neighbors.
    patience
        How many random neighbors without gain make a local minimum.
    restarts
        How many random start solutions follow those given.

    Returns
    -------
    Iterator
        Partitions and their costs.
    """
    for start in starts:
        yield from _descend(meshes, start, rng, patience)
    for _ in range(restarts):
        start = random_partition(len(meshes.training), rng, meshes.most_routes)
        yield from _descend(meshes, start, rng, patience)


def _descend(meshes: PricedMeshes, at: Partition, rng: np.random.Generator, patience: int) -> Priced:
    cost = meshes.of(at)
    yield at, cost
    without_gain = 0
    while without_gain < patience:
        drawn = (random_neighbor(at, rng, meshes.most_routes) for _ in range(min(TOGETHER, patience - without_gain)))
        others = [other for other in drawn if other is not None]
        if not others:
            return
        meshes.prepare(others)
        for other in others:
            found = meshes.of(other, below=cost)
            yield other, found
            without_gain += 1
            if found < cost:
                at, cost, without_gain = other, found, 0
                break
