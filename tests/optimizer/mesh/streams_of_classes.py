"""Streams whose rows belong to classes with different best orders, and random training sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.cost.mesh import MeshCosts
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.training import Sample
from thalweg.plan import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet, sums_by

PASS = np.array([0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
SHIFTED = np.array([np.roll(PASS, 2 * i) for i in range(4)])
"""What eight filters let pass, for each of four classes."""
SOURCES = np.array(["web", "app", "api", "bot"])
EIGHT = Pipeline(tuple("abcdefgh"))


@dataclass(frozen=True)
class Stream:
    """Rows with their outcomes and classes, and what each class lets pass."""

    values: dict[str, pa.Array]
    passes: NDArray[np.float64]
    classes: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def sample(self) -> Sample:
        return Sample(self.values, self.passes, np.ones(len(self.passes)))

    def evaluations(self, routes: Sequence[Sequence[int]], of_row: NDArray[np.integer]) -> float:
        """The filters evaluated per row, if each row takes its route."""
        total = 0.0
        for r, route in enumerate(routes):
            passes = self.passes[of_row == r][:, list(route)]
            total += float(np.cumprod(passes[:, :-1], axis=1).sum()) + len(passes)
        return total / len(self.passes)

    def clairvoyant(self) -> float:
        """The filters evaluated per row, if each class takes its best order."""
        return self.evaluations([np.argsort(shares).tolist() for shares in self.shares], self.classes)


def stream(name: str, rows: int, seed: int) -> Stream:
    """Draw rows of `classes`, `numbers`, `many` or `none`."""
    rng = np.random.default_rng(seed)
    shares = SHIFTED
    if name == "numbers":
        x, y = rng.random(rows), rng.random(rows)
        classes = ((x > 0.5) ^ (y > 0.5)).astype(np.int64)
        shares = np.array([PASS, PASS[::-1]])
        values = {"x": pa.array(x), "y": pa.array(y)}
    elif name == "many":
        frequent = np.arange(1, 201) ** -1.1
        source = rng.choice(200, rows, p=frequent / frequent.sum())
        classes = source % 4
        values = {"source": pa.array([f"source {s}" for s in source])}
    else:
        source = rng.integers(4, size=rows)
        classes = source if name == "classes" else np.zeros(rows, np.int64)
        values = {"source": pa.array(SOURCES[source])}
    return Stream(values, (rng.random((rows, 8)) < shares[classes]).astype(np.float64), classes, shares)


def drawn_training(seed: int, tuples: int = 8, filters: int = 8, rows: int = 1_000) -> TrainingSet:
    """Draw a training set: tuples of a text column, each of one of some classes."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, tuples + 1))
    shares = rng.uniform(0.05, 0.95, (classes, filters))[rng.integers(classes, size=tuples)]
    of_row = rng.choice(tuples, rows, p=rng.dirichlet(np.ones(tuples)))
    of_row[:tuples] = np.arange(tuples)
    axis = Axis("source", "text", groups=tuple((f"v{t}".encode(),) for t in range(tuples)))
    weights = np.ones(rows)
    return TrainingSet(
        (axis,), np.arange(tuples)[:, None], sums_by(of_row, weights, tuples), np.arange(tuples),
        (rng.random((rows, filters)) < shares[of_row]).astype(np.float64), weights, of_row,
    )  # fmt: skip


def drawn_meshes(seed: int, tuples: int = 8, filters: int = 8, rows: int = 1_000, most_routes: int = 8) -> PricedMeshes:
    """Draw a training set, and filters that cost from 200 ns to 5 µs."""
    training = drawn_training(seed, tuples, filters, rows)
    costs = np.exp(np.random.default_rng(seed + 10**6).uniform(np.log(200), np.log(5_000), filters))
    pipeline = Pipeline(tuple(f"f{k}" for k in range(filters)))
    return PricedMeshes(MeshCosts(training, pipeline, costs, np.full(filters, 10_000.0), 8_192), most_routes)
