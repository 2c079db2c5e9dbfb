"""A policy that changes between random meshes and orders, and profiles, according to a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import Observation, ProfilingRequest, Verdict
from thalweg.adapt.policy import NEVER, Trial
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CompiledTree, CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.plan import Pipeline

CLASSIFIERS = ("source", "size", "row")
SOURCES = ("web", "app", "bot", None)
SIZES = (1.0, 2.5, 10.0, float("nan"), None)


def classified(rows: int, seed: int) -> pa.RecordBatch:
    """Return rows with their numbers, and values by which they may be classified, with nulls."""
    rng = np.random.default_rng(seed)
    return pa.record_batch(
        {
            "row": pa.array(range(rows), pa.int64()),
            "source": pa.array([SOURCES[i] for i in rng.integers(len(SOURCES), size=rows)], pa.string()),
            "size": pa.array([SIZES[i] for i in rng.integers(len(SIZES), size=rows)], pa.float64()),
        }
    )


def random_node(rng: np.random.Generator, routes: int, depth: int, most_row: int) -> Node:
    """Return a random tree over the classifiers."""

    def below() -> Node:
        return random_node(rng, routes, depth - 1, most_row)

    kind = rng.integers(4) if depth else 3
    if kind == 0:
        values = rng.permutation([b"web", b"app", b"unseen"])[: rng.integers(1, 4)].tolist()
        return ValueNode("source", "text", tuple(((value,), below()) for value in values), below(), below())
    if kind == 1:
        return CutNode("size", "number", float(rng.choice([0.0, 1.0, 2.0, 7.5])), below(), below(), below(), below())
    if kind == 2:
        return CutNode("row", "number", float(rng.integers(max(most_row, 1))), below(), below(), below(), below())
    return Leaf(int(rng.integers(routes)), float(rng.random()))


@dataclass(frozen=True)
class CountedTree(RouteTree):
    """A tree that counts the rows that it classifies."""

    counted: list[int] = field(default_factory=list)

    def compiled(self) -> CompiledTree:
        made = super().compiled()
        classify = made.classify

        def counting(columns: Mapping[str, Any], rows: int) -> Any:
            self.counted.append(rows)
            return classify(columns, rows)

        made.classify = counting  # type: ignore[method-assign]
        return made


class ScriptedMeshes(Scripted):
    """At each update, with probability `restless`, another mesh, another order, or one order again."""

    classifies: ClassVar[bool] = True

    def __init__(
        self, pipeline: Pipeline, seed: int, p: float, restless: float, trials: float = 0.0, lasting: bool = False,
        rows: int = 40,
    ) -> None:  # fmt: skip
        self.mesh: Mesh | None = None
        self.version = 0
        self.counted: list[int] = []
        """The rows of each slice that was classified."""
        self.seen: list[Observation] = []
        self._most_row = rows
        super().__init__(pipeline, seed, p, restless, trials, lasting)

    def random_mesh(self) -> Mesh:
        routes = tuple(self._any_order() for _ in range(self.rng.integers(1, 5)))
        node = random_node(self.rng, len(routes), 3, self._most_row)
        self.version += 1
        default, least = int(self.rng.integers(len(routes))), int(self.rng.integers(1, 5))
        return Mesh(CountedTree(node, self.counted), routes, self.version, default, least)

    def _wish(self) -> None:
        n = len(self.pipeline)
        evaluate = self.rng.random((n, n)) < 0.6
        trial = None
        if self.trials and self.rng.random() < self.trials:
            trial = Trial(self._any_order(), int(self.rng.integers(1, 40)), int(self.rng.integers(n)), 10.0)
        self._wants = ProfilingRequest(
            self.p, evaluate & np.array(self.pipeline.profiled)[None, :], int(self.rng.choice([1, 5, 20])),
            int(self.rng.choice([1, 5, NEVER])), lasting=self.lasting, trial=trial,
        )  # fmt: skip

    def update(self, seen: Observation) -> Verdict | None:
        self.seen.append(seen)
        self._wish()
        if self.rng.random() >= self.restless:
            return None
        change = self.rng.integers(4)
        if change == 0:
            self.order = self._any_order()
        self.mesh = None if change == 1 else self.random_mesh()
        return Verdict(self.order, "the script says so")

    def begin(self, order: tuple[int, ...]) -> None:
        self.order, self.mesh = order, None

    def snapshot(self) -> dict[str, Any]:
        return {"order": list(self.order), "mesh": None if self.mesh is None else self.mesh.to_dict()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.order, stored = tuple(snapshot["order"]), snapshot["mesh"]
        self.mesh = None
        if stored is not None:
            mesh = Mesh.from_dict(stored)
            tree = CountedTree(mesh.tree.root, self.counted)
            self.mesh = Mesh(tree, mesh.routes, mesh.version, mesh.default, mesh.least_rows)

    def tuples(self) -> Iterator[tuple[int, list[bool], list[bool]]]:
        """Yield profile tuples: the row, what is known to drop it, and what was evaluated on it."""
        for seen in self.seen:
            if len(seen.profile):
                assert seen.values is not None
                assert seen.known is not None
                rows = seen.values["row"].to_pylist()
                yield from zip(rows, seen.profile.tolist(), seen.known.tolist(), strict=True)
