"""The meshes of a training set by partition: the tree that is induced for it, its routes, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterable

from thalweg.cost.mesh import MeshCosts
from thalweg.optimizer.mesh.induction import Induction
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.partitions import Partition

MOST_ROUTES = 8
"""The default for the number of routes that a mesh may have."""


class PricedMeshes:
    """Prices partitions. Each is priced once."""

    def __init__(self, costs: MeshCosts, most_routes: int = MOST_ROUTES) -> None:
        """Take the costs of routes and the number of routes that a mesh may have."""
        self.costs = costs
        self.training = costs.training
        self.most_routes = most_routes
        self.induction = Induction(costs.training)
        self._known: dict[Partition, float] = {}

    def prepare(self, partitions: Iterable[Partition]) -> None:
        """Compute the best routes for the subsets of many partitions together, which is faster than one by one."""
        self.costs.prepare([subset for partition in partitions for subset in partition])

    def of(self, partition: Partition, below: float = math.inf) -> float:
        """Return what the mesh of a partition costs in ns per row of the stream.

        Each route is the best one for its subset and is priced on the rows that the tree sends there.

        Parameters
        ----------
        partition
            The subsets of training tuples.
        below
            Return infinity, without inducing a tree, if the mesh cannot cost less than this.

        Returns
        -------
        float
            The cost. It is infinite if there are more routes than allowed.
        """
        known = self._known.get(partition)
        if known is not None:
            return known
        if len(partition) > self.most_routes:
            return math.inf
        if self.induction.separates:
            work = self.costs.mesh_ns(partition, float(len(partition) > 1))
            if work >= below:
                return math.inf  # at least one test
            found = work + self.costs.test_ns * (self.induction.tests(partition) - float(len(partition) > 1))
        else:
            routes = [self.costs.best_route(subset) for subset in partition]
            sent, tests = self.induction.sent(partition), self.induction.tests(partition)
            found = self.costs.mesh_ns(sent, tests, routes)
        self._known[partition] = found
        return found

    def mesh(self, partition: Partition, version: int = 0) -> Mesh:
        """Return the mesh of a partition."""
        return Mesh(self.induction.tree(partition), tuple(map(self.costs.best_route, partition)), version)
