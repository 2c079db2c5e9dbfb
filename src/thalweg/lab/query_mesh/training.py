"""How meshes are found in these experiments: the settings of tables 1 and 3, and training sets of a given size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.cost.mesh import MeshCosts
from thalweg.lab.query_mesh.layouts import WINDOW, Numbers, Stream
from thalweg.lab.query_mesh.prices import PRICES
from thalweg.lab.query_mesh.windows import names
from thalweg.optimizer.mesh.categories import Column, categories
from thalweg.optimizer.mesh.clustering import ward
from thalweg.optimizer.mesh.ii_qm import ii_qm
from thalweg.optimizer.mesh.partitions import Partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.sa_qm import sa_qm
from thalweg.optimizer.mesh.search import MeshFound, Search, Stop
from thalweg.optimizer.mesh.starts import STARTS
from thalweg.optimizer.mesh.training import Sample, condense
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.training_set import TrainingSet, sums_by

ITERATIONS = 3
"""The paper's k, read as descents of II-QM."""
ANNEALING = Stop(meshes=1_000, plateau=1_000)
"""When SA-QM ends: its temperature is then 0.00004 of what it was."""
PARTS = 4
"""The ranges of an attribute in a training set of a given size."""


@dataclass(frozen=True)
class Settings:
    """How a mesh is found."""

    name: str
    tuples: int
    search: str
    start: str
    moves: int | None = None
    """If given, a search ends after so many neighbors of its start, instead of at a local minimum or a plateau."""
    tested: bool = True
    """Whether training tuples differ only in attributes that explain more than noise does."""


TABLE_1 = Settings("table 1", 10, "ii", "route-driven")
TABLE_3 = Settings("table 3", 100, "sa", "content-driven")


def sampled(stream: Stream) -> Sample:
    """Return the sample as the optimizer reads it."""
    values = {name: pa.array(stream.values[:, i]) for i, name in enumerate(names(stream.values.shape[1]))}
    return Sample(values, stream.passes.astype(np.float64), np.ones(len(stream)))


def fixed_size(sample: Sample, tuples: int) -> TrainingSet:
    """Return a training set of exactly so many tuples, whether or not the attributes say anything about outcomes.

    Attributes are divided into `PARTS` ranges each, the first ones first, until there are enough cells; the last one
    into as few ranges as suffice. The cells with the most similar outcomes become one tuple.
    """
    rows = len(sample.weights)
    chosen = []
    combined, cells = np.zeros(rows, np.int64), 1
    for name, values in sample.values.items():
        if cells >= tuples:
            break
        column, divided = _divided(name, values, sample, combined, tuples)
        chosen.append(column)
        combined, cells = divided, len(np.unique(divided))
    _, first, cell_of_row = np.unique(combined, return_index=True, return_inverse=True)
    cell_of_row = cell_of_row.reshape(-1)
    density = sums_by(cell_of_row, sample.weights, cells)
    passed = [sums_by(cell_of_row, sample.weights * outcomes, cells) for outcomes in sample.passes.T]
    of_cell = ward(np.stack(passed, axis=1) / density[:, None], density, min(tuples, cells))
    return TrainingSet(
        tuple(column.axis for column in chosen), np.stack([column.codes[first] for column in chosen], axis=1), density,
        of_cell, sample.passes, sample.weights, of_cell[cell_of_row],
    )  # fmt: skip


def _divided(
    name: str, values: pa.Array, sample: Sample, combined: NDArray[np.int64], tuples: int
) -> tuple[Column, NDArray[np.int64]]:
    """Divide an attribute into as few ranges as make enough cells, at most `PARTS`; return it and the cells."""
    for parts in range(2, PARTS + 1):
        column = categories(name, values, sample.passes, sample.weights, parts, parts)
        assert column is not None, "attributes are numbers"
        found = column
        divided = combined * (column.axis.size + 2) + column.codes
        if len(np.unique(divided)) >= tuples:
            break
    return found, divided


def priced_meshes(training: TrainingSet, costs_ns: Numbers) -> PricedMeshes:
    """Return the meshes of a training set, with as many routes as there are tuples."""
    pipeline = Pipeline(tuple(f"S{k + 1}" for k in range(len(costs_ns))))
    costs = MeshCosts(
        training, pipeline, costs_ns, np.zeros(len(costs_ns)), WINDOW, PRICES.test_ns, PRICES.ruster_ns
    )  # fmt: skip
    return PricedMeshes(costs, most_routes=max(len(training), 1))


def mesh_of(sample: Sample, costs_ns: Numbers, settings: Settings, rng: np.random.Generator) -> MeshFound:
    """Find a mesh.

    Parameters
    ----------
    sample
        The sampled tuples with the outcomes of all probes.
    costs_ns
        What each probe costs.
    settings
        How the mesh is found.
    rng
        The source of random numbers.

    Returns
    -------
    MeshFound
        The mesh.
    """
    training = condense(sample, settings.tuples) if settings.tested else fixed_size(sample, settings.tuples)
    return found_in(priced_meshes(training, costs_ns), settings, rng)


def found_in(meshes: PricedMeshes, settings: Settings, rng: np.random.Generator) -> MeshFound:
    """Search these meshes from one start solution."""
    start = STARTS[settings.start](meshes, rng)
    return Search(meshes, _priced(meshes, start, settings, rng), _stop(settings)).run()


def _priced(
    meshes: PricedMeshes, start: Partition, settings: Settings, rng: np.random.Generator
) -> Iterator[tuple[Partition, float]]:
    if settings.search == "sa":
        return sa_qm(meshes, start, rng)
    return ii_qm(meshes, [start], rng, restarts=0 if settings.moves is not None else ITERATIONS - 1)


def _stop(settings: Settings) -> Stop:
    if settings.moves is not None:
        return Stop(meshes=1 + settings.moves)
    return Stop(plateau=10**9) if settings.search == "ii" else ANNEALING
