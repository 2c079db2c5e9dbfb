"""The frame of all searches for a query mesh: run one in steps, keep the best mesh, stop.

An algorithm (`opt_qm`, `ii_qm`, `sa_qm`) is a generator of the meshes that it prices. `Search` drives it, counts
meshes, remembers the cheapest one, and stops it. Therefore the result is never more expensive than the start, and a
search can be interrupted and continued at every mesh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.partitions import Partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes

Priced = Iterator[tuple[Partition, float]]
"""Partitions and their costs; infinite if a mesh is not worth pricing exactly."""


@dataclass(frozen=True, slots=True)
class Stop:
    """When a search stops (query-mesh, section 4.7)."""

    meshes: int = 2_000
    """After so many meshes."""
    plateau: int = 600
    """After so many meshes without a cheaper one."""
    time_ns: float = math.inf
    """After so much time, if a clock is given."""


@dataclass(frozen=True)
class MeshFound:
    """The cheapest mesh that a search has priced."""

    mesh: Mesh
    cost: float
    """In ns per row of the stream."""
    costed: int
    """How many meshes were priced."""
    why: str
    """Why the search stopped."""
    partition: Partition


class Search:
    """A search that runs in steps."""

    def __init__(
        self, meshes: PricedMeshes, priced: Priced, stop: Stop | None = None, clock_ns: Callable[[], int] | None = None
    ) -> None:
        """Take the generator of an algorithm.

        Parameters
        ----------
        meshes
            The meshes that are searched.
        priced
            The algorithm: `ii_qm(meshes, ...)`, for example.
        stop
            When to stop.
        clock_ns
            The clock for `stop.time_ns` and for the time of a step.
        """
        self.meshes = meshes
        self.stop = stop or Stop()
        self.costed = 0
        self.why = ""
        self._priced = priced
        self._clock_ns = clock_ns
        self._spent_ns = 0
        self._improved_at = 0
        self._best: tuple[Partition, float] | None = None

    def step(self, most_meshes: float = math.inf, most_ns: float = math.inf) -> bool:
        """Price some meshes.

        Parameters
        ----------
        most_meshes
            The number of meshes to price in this step.
        most_ns
            The time of this step. It counts only if the search has a clock. A step prices at least one mesh.

        Returns
        -------
        bool
            Whether the search is done.
        """
        began = self._clock_ns() if self._clock_ns else 0
        spent, priced = 0, 0
        while not self.why and priced < most_meshes and (spent < most_ns or not priced):
            found = next(self._priced, None)
            if found is None:
                self.why = "done"
                break
            self.costed += 1
            priced += 1
            if self._best is None or found[1] < self._best[1]:
                self._best, self._improved_at = found, self.costed
            spent = self._clock_ns() - began if self._clock_ns else 0
            if self.costed >= self.stop.meshes:
                self.why = "meshes"
            elif self.costed - self._improved_at >= self.stop.plateau:
                self.why = "plateau"
            elif self._spent_ns + spent >= self.stop.time_ns:
                self.why = "time"
        self._spent_ns += spent
        return bool(self.why)

    def run(self) -> MeshFound:
        """Run until the search stops, and return what it found."""
        while not self.step():
            pass
        return self.found()

    def found(self, version: int = 0) -> MeshFound:
        """Return the cheapest mesh so far; before the first step, that is one route for all rows."""
        partition, cost = self._best or ((self.meshes.costs.everything,), math.inf)
        if math.isinf(cost):
            partition = (self.meshes.costs.everything,)
            cost = self.meshes.of(partition)
        return MeshFound(self.meshes.mesh(partition, version), cost, self.costed, self.why, partition)
