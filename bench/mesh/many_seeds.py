"""How often a mesh is adopted where there is nothing to gain: `none`, drawn 100 times. Nothing is timed."""

from __future__ import annotations

from typing import Any

from bench.mesh.contenders import MESH
from bench.mesh.drawn import AGENDA, none
from bench.mesh.measured import batches_of, run_contender
from bench.rounds import demand, progress
from bench.scenario import BATCH_ROWS

SEEDS = 100
TOLD_EVERY = 10

Line = dict[str, Any]


def draws(seed: int, steps: float, rows: int | None = None, seeds: int = SEEDS) -> Line:
    """Return in how many of the draws a mesh with more than one route was adopted, even if it was given up later, and
    in how many there was one at the end of the run."""
    adopted, at_end = 0, []
    for number in range(seeds):
        classed = none(rows or AGENDA["none"].rows, steps, (seed, number))
        trial = run_contender(classed, MESH, batches_of(classed, BATCH_ROWS), number)
        demand(f"none, draw {number}", trial.result, classed.scenario.expected)
        at_end.append(trial.counts["routes"])
        adopted += bool(trial.counts["adopted"])
        if (number + 1) % TOLD_EVERY == 0:
            progress(f"many-seeds: {number + 1} of {seeds}")
    return {
        "seeds": seeds, "with_routes": adopted, "with_routes_at_end": sum(count > 1 for count in at_end),
        "most_routes_at_end": max(at_end),
    }  # fmt: skip
