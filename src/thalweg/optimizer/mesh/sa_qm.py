"""SA-QM: simulated annealing.

How: move to a random neighbor if it is cheaper, else with probability exp(-difference / temperature). The temperature
begins at `tau` times the cost of the start solution and is multiplied by `rho` after every mesh.
Guarantee: never worse than its start solution.
Differs from the paper: figure 7 goes on at step 2, not at step 1, which would return to the start; and the result is
the best mesh seen, not the last one. The temperature is relative, because costs depend on the filters.

Reference: Nehme et al. 2013, section 4.7, figure 7.
"""

from __future__ import annotations

import math

import numpy as np

from thalweg.optimizer.mesh.partitions import Partition, random_neighbor
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.search import Priced

TAU = 0.05
"""The first temperature, as a share of the cost of the start solution."""
RHO = 0.99
"""What remains of the temperature after each mesh."""
TOGETHER = 4
"""Neighbors whose routes are computed together."""


def sa_qm(
    meshes: PricedMeshes, start: Partition, rng: np.random.Generator, tau: float = TAU, rho: float = RHO
) -> Priced:
    """Price a start solution and random neighbors, without end.

    Parameters
    ----------
    meshes
        The meshes to search.
    start
        The start solution.
    rng
        The source of random neighbors and of the decisions whether to move.
    tau
        The first temperature, as a share of the cost of the start solution.
    rho
        What remains of the temperature after each mesh.

    Returns
    -------
    Iterator
        Partitions and their costs.
    """
    at, cost = start, meshes.of(start)
    yield at, cost
    temperature = tau * cost
    while True:
        drawn = (random_neighbor(at, rng, meshes.most_routes) for _ in range(TOGETHER))
        others = [other for other in drawn if other is not None]
        if not others:
            return
        meshes.prepare(others)
        for other in others:
            # exp(-difference / temperature) > u, solved for the cost
            most = cost - temperature * math.log(1.0 - rng.random())
            found = meshes.of(other, below=most)
            yield other, found
            temperature *= rho
            if found < most:
                at, cost = other, found
                break
