"""A policy that changes between random meshes, over the columns by which rows of a join may be classified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import Observation, Verdict
from thalweg.optimizer.mesh.column_values import key_of, kind_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.plan import Pipeline

MOST_ROUTES = 4


@dataclass(frozen=True)
class Classifier:
    """A column, and values of it that a tree may test."""

    name: str
    type: pa.DataType
    values: Sequence[Any]


class RestlessMesh(Scripted):
    """At each update, with probability `restless`, another mesh, or one order for all rows."""

    classifies = True

    def __init__(
        self, pipeline: Pipeline, classifiers: Sequence[Classifier], seed: int, p: float, restless: float
    ) -> None:
        super().__init__(pipeline, seed, p, restless)
        self.classifiers = classifiers
        self.mesh: Mesh | None = None
        self.meshes = 0
        """The number of meshes so far."""
        self.routes_seen: set[int] = set()

    def update(self, seen: Observation) -> Verdict | None:
        """Take another order and mesh."""
        if seen.routes is not None:
            self.routes_seen |= set(seen.routes.rows.nonzero()[0].tolist())
        if self.rng.random() >= self.restless:
            return None
        self.order = self._any_order()
        self._wish()
        self.mesh = self._any_mesh() if self.classifiers and self.rng.random() < 0.8 else None
        return Verdict(self.order, "the script says so")

    def begin(self, order: tuple[int, ...]) -> None:
        """Begin without a mesh."""
        self.order, self.mesh = order, None

    def _any_mesh(self) -> Mesh:
        self.meshes += 1
        routes = tuple(self._any_order() for _ in range(self.rng.integers(1, MOST_ROUTES + 1)))
        tree = RouteTree(self._any_node(len(routes), depth=2))
        return Mesh(tree, routes, self.meshes, int(self.rng.integers(len(routes))), int(self.rng.integers(1, 3)))

    def _any_node(self, routes: int, depth: int) -> Node:
        if not depth or self.rng.random() < 0.2:
            return Leaf(int(self.rng.integers(routes)), 1.0)
        below = [self._any_node(routes, depth - 1) for _ in range(4)]
        chosen = self.classifiers[int(self.rng.integers(len(self.classifiers)))]
        kind = kind_of(chosen.type)
        assert kind is not None
        if kind in ("number", "time"):
            return CutNode(chosen.name, kind, float(self.rng.normal(0.0, 2.0)), *below)
        known = [key_of(value) for value in chosen.values if value is not None]
        tested = [value for value in dict.fromkeys(known) if self.rng.random() < 0.7]
        one, other = tested[::2], tested[1::2]
        branches = tuple((tuple(values), node) for values, node in ((one, below[0]), (other, below[1])) if values)
        return ValueNode(chosen.name, kind, branches, below[2], below[3])
