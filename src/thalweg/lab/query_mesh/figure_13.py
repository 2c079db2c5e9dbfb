"""How good meshes are that are found from different start solutions (query-mesh, section 6.2, figure 13)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Bars, Series
from thalweg.lab.query_mesh.contenders import run_mesh
from thalweg.lab.query_mesh.layouts import FACTOR, LAYOUTS, SAMPLE
from thalweg.lab.query_mesh.training import ITERATIONS, TABLE_1, TABLE_3, mesh_of, sampled

PAPER = {"extreme-n": 0.06, "content-driven": 0.10, "random-pick": 0.12, "extreme-1": 0.19}
"""By how much the output rate from the route-driven start is above that from another."""
STARTS = ("route-driven", *PAPER)
READINGS = {
    "table 1": replace(TABLE_1, tested=False),
    "table 1, k = 3 neighbors": replace(TABLE_1, tested=False, moves=ITERATIONS),
    "table 3": replace(TABLE_3, tested=False),
}
MAIN = "table 1"
TUPLES, QUICK_TUPLES = 10_000, 2_000
STREAMS, QUICK_STREAMS = 6, 1
LEAST_LEAD = min(PAPER.values()) / FACTOR
SAME_MINIMA = (
    "three descents reach the same or equally good meshes from every start, so a start hardly matters with our search. "
    "It does matter if k = 3 means that only three neighbors of the start are tried. SA-QM (table 3) leaves its start "
    "while it is hot; with one stream per layout, its differences may be chance."
)
CLOSE = 0.12
"""Meshes are close in quality if their output rates differ by at most this share: the paper's own largest one."""


@dataclass(frozen=True)
class Results:
    """By reading, start and case the output rate."""

    rates: dict[str, dict[str, list[float]]]

    def gain(self, reading: str, other: str) -> float:
        """Return by how much the route-driven start is ahead of another, in the mean of all cases."""
        mine, theirs = np.array(self.rates[reading]["route-driven"]), np.array(self.rates[reading][other])
        return float((mine / theirs).mean()) - 1.0


def shown(r: Results, other: str) -> str:
    """Return the gains over a start with all readings."""
    return "; ".join(f"{reading}: {r.gain(reading, other):+.1%}" for reading in READINGS)


def better(other: str, paper: float, why: str) -> Statement[Results]:
    """Return the claim that the route-driven start is better than another."""
    return Statement(
        f"the route-driven start is {paper:.0%} better than {other}",
        f"section 6.2, figure 13; read as {paper / FACTOR:.0%} to {paper * FACTOR:.0%}, with the settings of {MAIN}",
        holds=lambda r: paper / FACTOR <= r.gain(MAIN, other) <= paper * FACTOR,
        measured=lambda r: shown(r, other),
        why=why,
    )


CLAIMS: tuple[Statement[Results], ...] = (
    *(better(other, paper, SAME_MINIMA) for other, paper in PAPER.items()),
    Statement(
        "the route-driven start is the best",
        f"section 6.2, figure 13; read as {LEAST_LEAD:.0%} ahead of every other, with the settings of {MAIN}",
        holds=lambda r: min(r.gain(MAIN, other) for other in PAPER) >= LEAST_LEAD,
        why=SAME_MINIMA,
        measured=lambda r: "; ".join(
            f"{reading}: least lead {min(r.gain(reading, other) for other in PAPER):+.2%}" for reading in READINGS
        ),
    ),
    Statement(
        "all meshes are close in quality, except that of extreme-1",
        f"section 6.2; read as at most {CLOSE:.0%} and more than {CLOSE:.0%} below the route-driven one, if k = 3 are "
        "three neighbors",
        holds=lambda r: all(
            (r.gain("table 1, k = 3 neighbors", other) > CLOSE) == (other == "extreme-1") for other in PAPER
        ),
        measured=lambda r: ", ".join(f"{other} {r.gain('table 1, k = 3 neighbors', other):+.1%}" for other in PAPER),
        why="with ten routes, as from extreme-n, most rusters are smaller than the minimum of 100 tuples and take the "
        "default route, and three moves do not change that. From one route, three random splits often find a good one.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Search from all starts, and run the meshes on new tuples."""
    results = Results({reading: {start: [] for start in STARTS} for reading in READINGS})
    tuples, streams = (QUICK_TUPLES, QUICK_STREAMS) if quick else (TUPLES, STREAMS)
    for name, seed in track([(name, seed) for name in LAYOUTS for seed in range(streams)]):
        layout, rng = LAYOUTS[name], np.random.default_rng(2000 + seed)
        sample, stream = sampled(layout.stream("poisson", SAMPLE, rng)), layout.stream("poisson", tuples, rng)
        costs = layout.costs_ns()
        for reading, settings in READINGS.items():
            if seed and settings.tuples > TABLE_1.tuples:
                continue  # with 100 training tuples, a search takes seconds
            most = TABLE_1.tuples if quick else settings.tuples
            for start in STARTS:
                asked = replace(settings, start=start, tuples=most)
                found = mesh_of(sample, costs, asked, np.random.default_rng(seed)).mesh
                results.rates[reading][start].append(run_mesh(stream, found).rate(costs))
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Bars:
    """Return the figure with the output rates over that of the route-driven start."""
    heights = [
        float(np.mean(np.array(r.rates[reading][start]) / np.array(r.rates[reading]["route-driven"])))
        for reading in READINGS
        for start in STARTS
    ]
    series = Series("mean of three layouts", range(len(heights)), heights, "blue")
    return Bars("figure-13", "Output rates of meshes by start solution", "", "route-driven = 1", (series,),
                bars=STARTS * len(READINGS), groups=tuple(READINGS))  # fmt: skip


EXPERIMENT = Experiment(
    title="quality of meshes by start solution",
    reference="section 6.2, figure 13",
    measure=measure,
    setting="Poisson data, six streams per layout (one with 100 training tuples). Meshes are found in a sample of "
    "1,000 tuples and run on 10,000 others. Training sets have exactly 10 (table 1) or 100 tuples (table 3), and a "
    "route for each is allowed. The stop condition k = 3 is read as three descents of II-QM, and beside it as three "
    "neighbors of the start. SA-QM ends after 1,000 meshes.",
)
