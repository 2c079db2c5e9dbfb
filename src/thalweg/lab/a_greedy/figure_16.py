"""Adaptivity of A-Greedy and Sweep (a-greedy, figure 16)."""

from __future__ import annotations

from thalweg.lab.a_greedy.timeline import SETTING, Results, converged_after, figure, said, timelines
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track

MUCH = 1.5
"""Much faster: the other takes at least so many times as many tuples."""

CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "A-Greedy converges to the new Greedy order much faster than Sweep",
        f"section 9.4, figure 16; read as: Sweep takes at least {MUCH} times as many tuples",
        holds=lambda r: converged_after(r, "sweep") >= MUCH * converged_after(r, "a-greedy"),
        measured=said,
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Both on the same streams."""
    results = timelines(("a-greedy", "sweep"), quick, track)
    return Outcome(
        judged(CLAIMS, results), (figure("figure-16", "A-Greedy has adapted while Sweep still looks around", results),)
    )


EXPERIMENT = Experiment("adaptivity of A-Greedy and Sweep", "figure 16, section 9.4", measure, SETTING)
