"""The mesh of one worker, and what was counted with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.events import Observed
from thalweg.report.mesh_view import MeshView


@dataclass(frozen=True, slots=True)
class MeshCounts:
    """A mesh as it is recorded, and sums over the records of its worker since it was adopted, by route."""

    mesh: Mapping[str, Any]
    rows: tuple[int, ...]
    evaluated: tuple[int, ...]
    ns: tuple[int, ...]
    predicted_saving_ns: int | None = None
    realized_saving_ns: int | None = None
    why: str = ""
    """Why there is one route, if there is."""

    @classmethod
    def of(cls, text: str) -> MeshCounts:
        """Make it from the text of a verdict."""
        mesh = json.loads(text)
        none = (0,) * len(mesh["routes"])
        return cls(mesh, none, none, none)

    def then(self, seen: Observed) -> MeshCounts:
        """Return the sums with a later record of the same worker; records of other versions are left out."""
        if seen.mesh_version != self.mesh["version"] or len(seen.route_rows) != len(self.rows):
            return replace(self, why=seen.standing) if seen.mesh_version is None else self
        return replace(
            self, rows=_sums(self.rows, seen.route_rows), evaluated=_sums(self.evaluated, seen.route_evaluated),
            ns=_sums(self.ns, seen.route_ns), predicted_saving_ns=seen.predicted_saving_ns,
            realized_saving_ns=seen.realized_saving_ns,
        )  # fmt: skip

    def plus(self, later: MeshCounts) -> MeshCounts:
        """Return the sums with those of a later part of the same run."""
        if later.mesh != self.mesh:
            return later
        return replace(
            later, rows=_sums(self.rows, later.rows), evaluated=_sums(self.evaluated, later.evaluated),
            ns=_sums(self.ns, later.ns),
        )  # fmt: skip

    def view(self, names: Sequence[str], routing_ns: int, processing_ns: int) -> MeshView:
        """Return what the report shows."""
        return MeshView.of(
            self.mesh, names, rows=self.rows, evaluated=self.evaluated, ns=self.ns,
            predicted_saving_ns=self.predicted_saving_ns, realized_saving_ns=self.realized_saving_ns,
            routing_share=routing_ns / processing_ns if processing_ns else None, why=self.why,
        )  # fmt: skip


def _sums(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))
