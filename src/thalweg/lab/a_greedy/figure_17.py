"""Adaptivity of A-Greedy and LocalSwaps (a-greedy, figure 17)."""

from __future__ import annotations

import statistics

from thalweg.lab.a_greedy.figure_16 import MUCH
from thalweg.lab.a_greedy.timeline import SETTING, Results, converged_after, convergence_times, figure, timelines
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track


def step(r: Results, algorithm: str) -> float:
    """Return the largest step of an order's cost, as the mean over the streams."""
    return statistics.fmean(t.largest_step for t in r[algorithm])


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "A-Greedy converges to the new Greedy order much faster than LocalSwaps",
        f"section 9.4, figure 17; read as: LocalSwaps takes at least {MUCH} times as many tuples",
        holds=lambda r: converged_after(r, "local-swaps") >= MUCH * converged_after(r, "a-greedy"),
        measured=convergence_times,
    ),
    Statement(
        "the cost of LocalSwaps' order changes more smoothly than that of Sweep's",
        "section 9.4; read as a smaller largest step after the change",
        holds=lambda r: step(r, "local-swaps") < step(r, "sweep"),
        measured=lambda r: (
            f"largest step, as a share of Greedy's cost: LocalSwaps {step(r, 'local-swaps'):.1%}, "
            f"Sweep {step(r, 'sweep'):.1%} (means)"
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run all algorithms on the same streams."""
    results = timelines(("a-greedy", "local-swaps", "sweep"), quick, track)
    shown = {a: results[a] for a in ("a-greedy", "local-swaps")}
    return Outcome(
        judged(CLAIMS, results), (figure("figure-17", "LocalSwaps gets close, but takes long for the rest", shown),)
    )


EXPERIMENT = Experiment("adaptivity of A-Greedy and LocalSwaps", "figure 17, section 9.4", measure, SETTING)
