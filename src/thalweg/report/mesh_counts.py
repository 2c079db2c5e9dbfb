"""The meshes of the workers of a run, and what was counted with each.

A report is folded in parts, such as micro-batches. A part may have counts of a mesh that an earlier part has.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.events import JoinObserved, Observed
from thalweg.events.parts import RouteCounts
from thalweg.report.mesh_tree import OF_FILTERS, MeshWords
from thalweg.report.mesh_view import MeshView

MOST_MESHES = 1000
"""The maximum number of workers whose meshes are kept."""


@dataclass(frozen=True, slots=True)
class MeshCounts:
    """A mesh as it is recorded, and the sums over the records of its worker since it was adopted."""

    mesh: Mapping[str, Any] | None
    """None if an earlier part of the run has it."""
    counts: RouteCounts | None
    """None if all rows take one route."""
    routing_ns: int = 0
    """Time of classifying rows and of moving them between predicates."""
    why: str = ""
    """Why there is one route, if there is."""

    @classmethod
    def of(cls, text: str) -> MeshCounts:
        """Make it from the text of a record."""
        mesh = json.loads(text)
        return cls(mesh, RouteCounts(mesh["version"]))

    @classmethod
    def seen(cls, seen: Observed | JoinObserved) -> MeshCounts:
        """Make it from a record of a worker."""
        routes = seen.routes
        if routes is None:
            return cls(None, None, why=_why_one(seen.in_force.standing))
        return cls(json.loads(routes.mesh) if routes.mesh else None, routes, seen.times.routing_ns)

    def then(self, later: MeshCounts) -> MeshCounts:
        """Return the sums with what was counted later. Counts of other meshes are left out."""
        if later.mesh is not None and later.mesh != self.mesh:
            return later
        mine, theirs = self.counts, later.counts
        if theirs is None:  # all rows take one route
            return later if self._routes > 1 else replace(self, why=later.why)
        if mine is None or theirs.version != mine.version or (mine.rows and len(theirs.rows) != len(mine.rows)):
            return self
        counts = RouteCounts()
        counts.add(mine)
        counts.add(theirs)
        return MeshCounts(self.mesh, counts, self.routing_ns + later.routing_ns, later.why or self.why)

    @property
    def _routes(self) -> int:
        return 0 if self.mesh is None else len(self.mesh["routes"])

    def is_of(self, names: Sequence[str]) -> bool:
        """Whether it is known, and a mesh of these predicates; a file may have been changed."""
        return self.mesh is not None and all(len(route) == len(names) for route in self.mesh["routes"])

    def view(self, names: Sequence[str], words: MeshWords = OF_FILTERS) -> MeshView:
        """Return what the report shows."""
        assert self.mesh is not None, "only meshes that are known are shown"
        counts, routing = self.counts or RouteCounts(), None
        if len(counts.rows) != self._routes:
            counts = replace(counts, rows=[], evaluated=[], ns=[])
        elif taken_ns := self.routing_ns + sum(counts.ns):  # since the mesh was adopted
            routing = self.routing_ns / taken_ns
        return MeshView.of(
            self.mesh, names, rows=counts.rows, evaluated=counts.evaluated, ns=counts.ns,
            predicted_saving_ns=counts.predicted_saving_ns, realized_saving_ns=counts.realized_saving_ns,
            routing_share=routing, why=self.why, words=words,
        )  # fmt: skip


@dataclass(slots=True)
class WorkerMeshes:
    """The latest mesh of each worker that has had one. In a join each stream of a worker has a mesh of its own."""

    by_worker: dict[str, MeshCounts] = field(default_factory=dict)
    """The worker that reported last is the last one."""

    def adopt(self, worker: str, text: str) -> None:
        """Add a mesh from a verdict."""
        self._keep(worker, MeshCounts.of(text))

    def observe(self, seen: Observed | JoinObserved) -> None:
        """Add what a worker has counted, or why all of its rows take one route."""
        of_stream = f" {seen.alias}" if isinstance(seen, JoinObserved) else ""
        self._add(seen.origin.worker + of_stream, MeshCounts.seen(seen))

    def take_in(self, later: WorkerMeshes) -> None:
        """Add what a later part of the same run holds. Counts of meshes that no part has are left out."""
        for worker, mesh in later.by_worker.items():
            if mesh.mesh is not None or worker in self.by_worker:
                self._add(worker, mesh)

    def of(self, names: Sequence[str], among: Container[str] | None = None) -> list[tuple[str, MeshCounts]]:
        """Return the known meshes of these predicates by worker, of all workers or of some. The worker that reported
        last is the first one."""
        workers = (worker for worker in reversed(self.by_worker) if among is None or worker in among)
        return [(worker, mesh) for worker in workers if (mesh := self.by_worker[worker]).is_of(names)]

    def _add(self, worker: str, mesh: MeshCounts) -> None:
        before = self.by_worker.get(worker)
        self._keep(worker, mesh if before is None else before.then(mesh))

    def _keep(self, worker: str, mesh: MeshCounts) -> None:
        self.by_worker.pop(worker, None)
        self.by_worker[worker] = mesh
        while len(self.by_worker) > MOST_MESHES:
            del self.by_worker[next(iter(self.by_worker))]


def _why_one(standing: str) -> str:
    """Return why there is one route, without why its order is kept.

    >>> _why_one("no other order is better; one route: the values say nothing")
    'the values say nothing'
    """
    return standing.rpartition("one route: ")[2]
