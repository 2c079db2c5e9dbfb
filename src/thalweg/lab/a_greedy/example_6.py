"""Correlated filters: Independent against A-Greedy (a-greedy, example 6).

F_1..F_{n-1} contain 1..49, F_n contains 50..100. Each drops about half, so Independent has no reason to move F_n
forward; but after any of the others F_n drops everything that is left.
"""

from __future__ import annotations

from thalweg.lab.a_greedy.set_filters import SetFilters
from thalweg.lab.claim import Number
from thalweg.lab.experiment import Experiment, Outcome, Track


def claims(n: int) -> dict[str, Number]:
    """Return the claimed evaluations per tuple, by policy."""
    return {
        "independent": Number(f"Independent, n = {n}", "0.49 n + 0.51", 0.49 * n + 0.51, exact=True),
        "a-greedy": Number(f"A-Greedy, n = {n}", "1.49", 1.49, exact=True),
    }


def measure(quick: bool, track: Track) -> Outcome:
    """Measure the evaluations per tuple after the order has settled."""
    findings = []
    for n in track((4, 8) if quick else (4, 8, 16, 32)):
        for policy, claim in claims(n).items():
            filters = SetFilters([*[range(1, 50)] * (n - 1), range(50, 101)], policy)
            filters.process(rounds=5 if quick else 20)
            findings.append(claim.judge(filters.process(rounds=5 if quick else 20)))
    return Outcome(findings)


EXPERIMENT = Experiment(
    title="evaluations per tuple if filters are correlated",
    reference="Babu et al., SIGMOD 2004, example 6",
    measure=measure,
)
