"""A policy whose rows take different routes from the first one on, by the values of one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tests.runtime.filters.scripted import Scripted
from thalweg.adapt.mesh import MeshSettings
from thalweg.optimizer.mesh.column_values import key_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import Leaf, RouteTree, ValueNode
from thalweg.plan import Pipeline


class MeshByColumn(Scripted):
    """Rows with the n-th value take route n, and all others the last route. Every second route is the reverse of the
    order as written. There is no mesh if there is nothing to classify rows by."""

    name: ClassVar[str] = "mesh"
    defaults: ClassVar[Any] = MeshSettings()
    classifies = True
    column: ClassVar[str]
    values: ClassVar[Sequence[str]]

    def __init__(self, pipeline: Pipeline, settings: Any, rng: Any) -> None:
        super().__init__(pipeline, seed=0, p=0.0, restless=0.0)
        self.order = pipeline.start
        last = Leaf(len(self.values))
        branches = tuple(((key_of(value),), Leaf(n)) for n, value in enumerate(self.values))
        tree = RouteTree(ValueNode(self.column, "text", branches, last, last))
        routes = tuple(self.order[:: -1 if n % 2 else 1] for n in range(len(self.values) + 1))
        self._mesh = Mesh(tree, routes, version=1)

    @property
    def mesh(self) -> Mesh | None:
        """The mesh; a loop without columns to classify by says that it does not classify."""
        return self._mesh if self.classifies else None


def mesh_by(name: str, *known: str) -> type[MeshByColumn]:
    """Return the policy of a column and its values."""

    class Made(MeshByColumn):
        column, values = name, known

    return Made
