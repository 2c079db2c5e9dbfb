"""Adaptivity of A-Greedy and Independent (a-greedy, figure 18)."""

from __future__ import annotations

import statistics

from thalweg.lab.a_greedy.timeline import BIN, NEAR, SETTING, Results, Timeline, figure, timelines
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track

QUICKLY = 2.0
"""Independent profiles half as many tuples, so its window is replaced half as fast."""


def settled_after(timeline: Timeline) -> int:
    """Return the tuples after the change until the order costs what it costs at the end (Independent does not end with
    Greedy's order)."""
    bins = timeline.excess[timeline.change // BIN :]
    end = timeline.after()
    return BIN * next((i + 1 for i, excess in enumerate(bins) if excess <= end + NEAR), len(bins))


def settles(r: Results, algorithm: str) -> float:
    """Return the median of `settled_after` over the streams."""
    return statistics.median(map(settled_after, r[algorithm]))


def excess(r: Results, algorithm: str) -> tuple[float, float]:
    """Return the cost above Greedy's, before the change and at the end, as means over the streams."""
    return (
        statistics.fmean(t.before() for t in r[algorithm]),
        statistics.fmean(t.after() for t in r[algorithm]),
    )


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "Independent also adapts quickly",
        f"section 9.4, figure 18; read as at most {QUICKLY:.0f} times A-Greedy's tuples",
        holds=lambda r: settles(r, "independent") <= QUICKLY * settles(r, "a-greedy"),
        measured=lambda r: (
            f"median tuples until the order is the final one, by cost: Independent {settles(r, 'independent'):,.0f}, "
            f"A-Greedy {settles(r, 'a-greedy'):,.0f}"
        ),
        why="both discard old statistics with their window of 1000 tuples, and Independent fills it half as fast.",
    ),
    Statement(
        "Independent's order is worse than A-Greedy's before and after the change",
        "section 9.4, figure 18",
        holds=lambda r: all(i > a for i, a in zip(excess(r, "independent"), excess(r, "a-greedy"), strict=True)),
        measured=lambda r: (
            "above Greedy's cost before and after: Independent {:.1%} and {:.1%}, A-Greedy {:.1%} and {:.1%}".format(
                *excess(r, "independent"), *excess(r, "a-greedy")
            )
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run both algorithms on the same streams."""
    results = timelines(("a-greedy", "independent"), quick, track)
    return Outcome(
        judged(CLAIMS, results),
        (figure("figure-18", "Independent adapts too, to an order that is worse before and after", results),),
    )


EXPERIMENT = Experiment("adaptivity of A-Greedy and Independent", "figure 18, section 9.4", measure, SETTING)
