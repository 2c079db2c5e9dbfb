"""II-QM and SA-QM against Opt-QM: 100 random sets of eight training tuples, each with eight filters of 1 us.

A set has one to eight classes of tuples. The shares that filters pass are drawn for each class. Every tuple has the
outcomes of some sampled rows, so tuples of one class differ by chance, as those of a running query do.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from bench.mesh.drawn import US, Seed, generator
from thalweg.cost.mesh import Axis, MeshCosts, TrainingSet
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.plan.filters.pipeline import Pipeline

SETS, TUPLES, FILTERS, ROWS = 100, 8, 8, 1_000
CALL_NS, BATCH_ROWS = 10_000.0, 10_000.0
SEARCHES = ("ii", "sa")

Line = dict[str, Any]


def random_training(seed: Seed) -> TrainingSet:
    """Return eight training tuples: the values of a column, with random weights, classes and outcomes."""
    rng = generator(seed)
    kinds = int(rng.integers(1, TUPLES + 1))
    kind = rng.integers(0, kinds, TUPLES)
    shares = rng.random((kinds, FILTERS))[kind]
    tuple_of_row = np.sort(np.concatenate([np.arange(TUPLES), rng.choice(TUPLES, ROWS - TUPLES, p=_weights(rng))]))
    passes = (rng.random((ROWS, FILTERS)) < shares[tuple_of_row]).astype(np.float64)
    axis = Axis("source", "text", groups=tuple((f"s{n}".encode(),) for n in range(TUPLES)))
    density = np.bincount(tuple_of_row, minlength=TUPLES).astype(np.float64)
    cells = np.arange(TUPLES)
    return TrainingSet((axis,), cells[:, None], density, cells, passes, np.ones(ROWS), tuple_of_row)


def _weights(rng: np.random.Generator) -> Any:
    drawn = rng.exponential(size=TUPLES)
    return drawn / drawn.sum()


def priced(training: TrainingSet) -> PricedMeshes:
    """Return the meshes of a training set; each search gets its own, so that it prices them itself."""
    n = training.passes.shape[1]
    names = tuple(f"p{k}" for k in range(n))
    return PricedMeshes(MeshCosts(training, Pipeline(names), np.full(n, US), np.full(n, CALL_NS), BATCH_ROWS))


def above_optimum(seed: int, sets: int = SETS) -> Line:
    """Return by search how far its meshes are above the cheapest ones, and how many meshes it priced."""
    above: dict[str, list[float]] = {name: [] for name in SEARCHES}
    costed: dict[str, list[int]] = {name: [] for name in SEARCHES}
    routes = []
    for number in range(sets):
        training = random_training((seed, number))
        best = mesh_search(priced(training), generator(seed), "opt").run()
        routes.append(len(best.partition))
        for name in SEARCHES:
            found = mesh_search(priced(training), generator((seed, number, 1)), name).run()
            above[name].append(found.cost / best.cost - 1.0)
            costed[name].append(found.costed)
    return {
        "sets": sets, "median_routes": statistics.median(routes),
        **{
            name: {
                "mean": round(statistics.fmean(above[name]), 5), "worst": round(max(above[name]), 5),
                "most_costed": max(costed[name]),
            }
            for name in SEARCHES
        },
    }  # fmt: skip
