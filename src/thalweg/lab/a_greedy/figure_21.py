"""The cost of filters when changes are rare: A-Greedy and Sweep (a-greedy, figure 21)."""

from __future__ import annotations

from thalweg.lab.a_greedy.changing import SETTING
from thalweg.lab.a_greedy.figure_20 import Results, every, figure, results, slower
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track

PERIOD = 1_000_000

CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "Sweep improves beside A-Greedy as filters become dearer",
        "section 9.4, figure 21: A-Greedy's percentage overhead increases",
        holds=lambda r: slower(r, max(r)) < slower(r, min(r)),
        measured=every,
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Changes every million tuples."""
    found = results(PERIOD, quick, track)
    return Outcome(
        judged(CLAIMS, found),
        (
            figure(
                "figure-21", f"A change every {PERIOD:,} tuples: the dearer the filters, the more Sweep gains", found
            ),
        ),
    )


EXPERIMENT = Experiment(
    "the cost of filters when changes are rare", "figure 21, section 9.4", measure,
    f"{SETTING} A change every {PERIOD:,} tuples.",
)  # fmt: skip
