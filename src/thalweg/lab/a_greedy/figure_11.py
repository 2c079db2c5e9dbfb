"""Correlation under convergence: the gain over Independent as groups grow (a-greedy, figure 11)."""

from __future__ import annotations

from thalweg.lab.a_greedy.algorithms import OPTIMAL, line
from thalweg.lab.a_greedy.convergence import FULL, QUICK, Settled, even, settled
from thalweg.lab.a_greedy.figure_9 import gain
from thalweg.lab.a_greedy.filter_groups import FilterGroups
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure

N = 8
GAMMAS = tuple(range(1, N + 1))

Results = dict[int, dict[str, Settled]]


def best(r: Results) -> int:
    """Return the correlation factor with the largest gain."""
    return max(r, key=lambda gamma: gain(r[gamma]))


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the gain over Independent first grows with the correlation",
        "section 9.2, figure 11",
        holds=lambda r: best(r) > min(r) and gain(r[2]) > gain(r[1]),
        measured=lambda r: "ratio of rates " + ", ".join(f"{gain(r[g]):.3f} at Γ = {g}" for g in r),
    ),
    Statement(
        "when Γ is close to n the gain is less significant",
        f"section 9.2: then all filters are similar; read as at most half of the largest gain from Γ = {N - 1} on",
        holds=lambda r: all(gain(r[g]) - 1 < (gain(r[best(r)]) - 1) / 2 for g in r if g >= N - 1),
        measured=lambda r: (
            ", ".join(f"{gain(r[g]):.3f} at Γ = {g}" for g in r if g >= N - 1)
            + f", largest {gain(r[best(r)]):.3f} at Γ = {best(r)}"
        ),
        why="it holds if all filters are in one group. With one filter less in that group, the last filter is a group "
        "by itself and should be second; A-Greedy detects that, Independent does not.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment for all correlation factors."""
    results: Results = {}
    size = QUICK if quick else FULL
    for gamma in track((1, 2, 4, 8) if quick else GAMMAS):
        groups = FilterGroups.of(N, gamma)
        results[gamma] = settled(groups, even(N, size), ("a-greedy", "independent", OPTIMAL), size)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: rates over the correlation factor."""
    lines = tuple(
        line(algorithm, list(r), [r[g][algorithm].rate for g in r])
        for algorithm in (OPTIMAL, "a-greedy", "independent")
    )
    return Figure(
        "figure-11", "Correlation separates the two, until all filters are alike",
        "correlation factor Γ (filters per group)", "tuples per unit of virtual time", lines,
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="correlation under convergence",
    reference="figure 11, section 9.2",
    measure=measure,
    setting="Eight filters of selectivity 50 %, every filter one unit, written group by group; if Γ does not divide "
    "eight, the last group is smaller. Virtual time.",
)
