"""The cost of filters if changes are rare: A-Greedy and Sweep (a-greedy, figure 21)."""

from __future__ import annotations

from thalweg.lab.a_greedy.changing import SETTING
from thalweg.lab.a_greedy.figure_20 import Results, every, figure, results, slower
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track

PERIOD = 1_000_000

CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "Sweep improves compared with A-Greedy as filters become more expensive",
        "section 9.4, figure 21: A-Greedy's percentage overhead increases",
        holds=lambda r: slower(r, max(r)) < slower(r, min(r)),
        measured=every,
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment with a change every million tuples."""
    found = results(PERIOD, quick, track)
    title = f"A change every {PERIOD:,} tuples: the more expensive the filters, the more Sweep gains"
    return Outcome(judged(CLAIMS, found), (figure("figure-21", title, found),))


EXPERIMENT = Experiment(
    "the cost of filters if changes are rare", "figure 21, section 9.4", measure,
    f"{SETTING} A change every {PERIOD:,} tuples.",
)  # fmt: skip
