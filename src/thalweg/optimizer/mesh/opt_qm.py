"""Opt-QM: price every partition of the training tuples.

Guarantee: the cheapest mesh of all.
Cost: B(n) meshes for n training tuples, so at most `MOST_TUPLES` tuples are accepted: B(10) = 115,975.

Reference: Nehme et al. 2013, section 4.6, figure 5.
"""

from __future__ import annotations

import math

from thalweg.errors import PlanError
from thalweg.optimizer.mesh.partitions import partitions
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.search import Priced

MOST_TUPLES = 10


def opt_qm(meshes: PricedMeshes) -> Priced:
    """Price all partitions.

    Parameters
    ----------
    meshes
        The meshes of at most ten training tuples.

    Returns
    -------
    Iterator
        Partitions and their costs. Run it with a `Stop` that allows B(n) meshes.

    Raises
    ------
    PlanError
        If there are more training tuples.
    """
    n = len(meshes.training)
    if n > MOST_TUPLES:
        raise PlanError(
            f"Opt-QM prices every partition of the training tuples, and {n} tuples have too many; "
            f"condense to at most {MOST_TUPLES} tuples, or use search='ii'"
        )
    return _all(meshes, n)


def _all(meshes: PricedMeshes, n: int) -> Priced:
    meshes.costs.prepare(range(1, 1 << n))
    best = math.inf
    for partition in partitions(n):
        cost = meshes.of(partition, below=best)
        best = min(best, cost)
        yield partition, cost
