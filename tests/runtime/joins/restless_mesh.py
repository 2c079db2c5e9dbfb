"""A policy that changes between random meshes, over the columns by which rows of a join may be classified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import Observation, Verdict
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.optimizer.mesh.column_values import key_of, kind_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.multiway_node import MultiwayNode
from thalweg.runtime.joins.tree_loop import TreeLoop

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

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the mesh."""
        return {
            "policy": "mesh", "order": list(self.order), "mesh": None if self.mesh is None else self.mesh.to_dict()
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue with the order and the mesh of another one."""
        self.order, mesh = tuple(snapshot["order"]), snapshot.get("mesh")
        self.mesh = None if mesh is None else Mesh.from_dict(mesh)
        self.meshes = max(self.meshes, self.mesh.version if self.mesh is not None else 0)

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


def with_probing(loop: WindowedJoin, make: Callable[[ProbeChain, str], FilterLoop[ProbeRows]]) -> WindowedJoin:
    """Return a join in which all probes are run by other loops, made of the chain and the name of its rows."""
    if isinstance(loop, TreeLoop):
        for node in loop.nodes:
            if isinstance(node, MultiwayNode):
                for side, chain in node._chains.items():
                    node._loops[side] = make(chain, side)
    else:
        assert isinstance(loop, JoinLoop)
        for alias, chain in loop.chains.items():
            loop.loops[alias] = make(chain, alias)
    return loop
