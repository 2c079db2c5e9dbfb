"""Adaptivity of A-Greedy and Sweep (a-greedy, figure 16)."""

from __future__ import annotations

from thalweg.lab.a_greedy.timeline import SETTING, Results, converged_after, convergence_times, figure, timelines
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track

MUCH = 1.5
"""Much faster means that the other algorithm takes at least this many times as many tuples."""

CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "A-Greedy converges to the new Greedy order much faster than Sweep",
        f"section 9.4, figure 16; read as: Sweep takes at least {MUCH} times as many tuples",
        holds=lambda r: converged_after(r, "sweep") >= MUCH * converged_after(r, "a-greedy"),
        measured=convergence_times,
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run both algorithms on the same streams."""
    results = timelines(("a-greedy", "sweep"), quick, track)
    return Outcome(
        judged(CLAIMS, results), (figure("figure-16", "A-Greedy has adapted while Sweep is still searching", results),)
    )


EXPERIMENT = Experiment("adaptivity of A-Greedy and Sweep", "figure 16, section 9.4", measure, SETTING)
