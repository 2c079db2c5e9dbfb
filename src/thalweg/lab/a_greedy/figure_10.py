"""Selectivity under convergence: where A-Greedy gains most over Independent (a-greedy, figure 10)."""

from __future__ import annotations

from thalweg.lab.a_greedy.algorithms import OPTIMAL, line
from thalweg.lab.a_greedy.convergence import FULL, QUICK, Settled, even, settled
from thalweg.lab.a_greedy.figure_9 import gain
from thalweg.lab.a_greedy.filter_groups import FilterGroups
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure

N = 8
SELECTIVITIES = (0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85)
"""Below 0.12 and above 0.88 independent filters agree on more than 80 %: see `filter_groups`."""
LEAST = 0.005
"""A smaller gain does not count as a gain."""

Results = dict[float, dict[str, Settled]]


def at(r: Results, s: float) -> str:
    """Return the gain at a selectivity, for a sentence."""
    return f"{gain(r[s]):.3f} at {s:.0%}"


def best(r: Results) -> float:
    """Return the selectivity with the largest gain."""
    return max(r, key=lambda s: gain(r[s]))


def half(r: Results) -> float:
    """Return the ratio of rates that corresponds to half of the largest gain."""
    return 1 + (gain(r[best(r)]) - 1) / 2


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the gain over Independent is largest for intermediate selectivities",
        "section 9.2, figure 10",
        holds=lambda r: best(r) not in (min(r), max(r)) and gain(r[best(r)]) > 1 + LEAST,
        measured=lambda r: "ratio of rates " + ", ".join(at(r, s) for s in r),
    ),
    Statement(
        "for low selectivities the gain is small",
        "section 9.2: the first filter drops most tuples; read as less than half of the largest gain",
        holds=lambda r: gain(r[min(r)]) < half(r),
        measured=lambda r: f"{at(r, min(r))}, largest {at(r, best(r))}",
    ),
    Statement(
        "for high selectivities the gain is small",
        "section 9.2: few tuples are dropped in any order; read as less than half of the largest gain",
        holds=lambda r: gain(r[max(r)]) < half(r),
        measured=lambda r: f"{at(r, max(r))}, largest {at(r, best(r))}",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment for all selectivities."""
    results: Results = {}
    size = QUICK if quick else FULL
    for s in track((0.15, 0.5, 0.85) if quick else SELECTIVITIES):
        groups = FilterGroups.of(N, 2, s)
        results[s] = settled(groups, even(N, size), ("a-greedy", "independent", OPTIMAL), size)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: rates over selectivities."""
    lines = tuple(
        line(algorithm, [100 * s for s in r], [r[s][algorithm].rate for s in r])
        for algorithm in (OPTIMAL, "a-greedy", "independent")
    )
    return Figure(
        "figure-10", "A-Greedy gains most if filters pass about half of the tuples", "selectivity of every filter, %",
        "tuples per unit of virtual time", lines, from_zero=True,
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="selectivity under convergence",
    reference="figure 10, section 9.2",
    measure=measure,
    setting="Eight filters in groups of two, every filter one unit, written group by group. Virtual time.",
)
