"""How the search time grows with the size of the training set (query-mesh, section 6.2, figure 12)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from time import thread_time_ns

import numpy as np

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.query_mesh.layouts import LAYOUTS, SAMPLE
from thalweg.lab.query_mesh.training import TABLE_1, TABLE_3, Settings, fixed_size, found_in, priced_meshes, sampled

SIZES = (8, 16, 32, 64, 100)
QUICK_SIZES = (8, 16)
SEARCHES = {"II-QM": TABLE_1.search, "SA-QM": TABLE_3.search}


@dataclass(frozen=True)
class Point:
    """A search with a training set of some size, the mean of the layouts."""

    ms: float
    meshes: float
    """How many meshes were priced."""
    cost: float
    """The cost of the mesh found, over that of one route."""


Results = dict[str, dict[int, Point]]


def grows(points: dict[int, Point]) -> bool:
    """Whether the time grows from each size to the next."""
    return all(one.ms < other.ms for one, other in pairwise(points.values()))


def shown(points: dict[int, Point]) -> str:
    """Return the points for a sentence."""
    return ", ".join(
        f"{size}: {point.ms:.0f} ms, {point.meshes:,.0f} meshes, cost {point.cost:.3f}"
        for size, point in points.items()
    )


CLAIMS: tuple[Statement[Results], ...] = tuple(
    Statement(
        f"the search time of {name} grows with the training set, from 8 to 100 tuples",
        "section 6.2, figure 12; read as longer for each size than for the one before",
        holds=lambda r, name=name: grows(r[name]),  # type: ignore[misc]
        measured=lambda r, name=name: shown(r[name]),  # type: ignore[misc]
    )
    for name in SEARCHES
)


def measure(quick: bool, track: Track) -> Outcome:
    """Search with training sets of several sizes."""
    sizes = QUICK_SIZES if quick else SIZES
    results: Results = {name: {} for name in SEARCHES}
    for name, size in track([(name, size) for name in SEARCHES for size in sizes]):
        results[name][size] = _point(SEARCHES[name], size)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def _point(search: str, size: int) -> Point:
    found = []
    for layout in LAYOUTS.values():
        training = fixed_size(sampled(layout.stream("poisson", SAMPLE, np.random.default_rng(0))), size)
        meshes = priced_meshes(training, layout.costs_ns())
        begun = thread_time_ns()
        best = found_in(meshes, Settings("", size, search, "route-driven"), np.random.default_rng(0))
        ms = (thread_time_ns() - begun) / 1e6
        found.append((ms, best.costed, best.cost / meshes.of((meshes.costs.everything,))))
    return Point(*(float(numbers) for numbers in np.mean(found, axis=0)))


def figure(r: Results) -> Figure:
    """Return the figure with the search times."""
    lines = tuple(
        Series(name, list(points), [point.ms for point in points.values()], color)
        for (name, points), color in zip(r.items(), ("blue", "orange"), strict=True)
    )
    return Figure("figure-12", "Search time by size of the training set", "training tuples", "ms of CPU time", lines,
                  from_zero=True)  # fmt: skip


EXPERIMENT = Experiment(
    title="search time by size of the training set",
    reference="section 6.2, figure 12",
    measure=measure,
    setting="Poisson data, a sample of 1,000 tuples per layout, divided into exactly so many training tuples. "
    "Route-driven start. II-QM makes three descents, SA-QM ends after 1,000 meshes. Times are CPU "
    "times; *cost* is that of the mesh found over that of one route, both on the training set.",
)
