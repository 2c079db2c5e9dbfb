"""A change that does not show between neighbors: LocalSwaps against A-Greedy (a-greedy, example 7).

F_i drops the i-th of n equal blocks. Then F_n changes: it drops all but block n-1. Neighbors still drop the same
shares, so LocalSwaps stays with F_1..F_n; A-Greedy finds that F_n, far back, drops most of all.

The costs printed in the paper, 50(n+1) and 1 + 200/n "filters per tuple", cannot be right. In the order F_1..F_n, the
filter at position i sees 1 - (i-1)/n of the tuples, which gives (n+1)/2 evaluations per tuple: 50(n+1) is for all
hundred values. In the order F_n, F_{n-1} and the rest, F_n sees all tuples and passes 1/n of them, and F_{n-1} drops
those: 1 + 1/n evaluations per tuple, 100 + 100/n for all.
"""

from __future__ import annotations

from thalweg.lab.a_greedy.set_filters import VALUES, SetFilters
from thalweg.lab.claim import Number
from thalweg.lab.experiment import Experiment, Outcome, Track


def claims(n: int) -> dict[str, Number]:
    """Return the claimed evaluations per tuple after the change, by policy."""
    return {
        "local-swaps": Number(
            f"LocalSwaps, n = {n}",
            "50(n + 1)",
            (n + 1) / 2,
            reading="for all hundred values; (n + 1)/2 per tuple",
            exact=True,
        ),
        "a-greedy": Number(
            f"A-Greedy, n = {n}", "1 + 200/n", 1 + 1 / n, reading="misprinted; 1 + 1/n per tuple", exact=True
        ),
    }


def block(i: int, n: int) -> set[int]:
    """Return the i-th of n blocks of 1..100; i starts at 1."""
    width = VALUES // n
    return set(range((i - 1) * width + 1, i * width + 1))


def measure(quick: bool, track: Track) -> Outcome:
    """Measure the evaluations per tuple after the order has settled after the change."""
    findings = []
    everything = set(range(1, VALUES + 1))
    for n in track((4, 10) if quick else (4, 10, 20, 50)):
        for policy, claim in claims(n).items():
            filters = SetFilters([everything - block(i, n) for i in range(1, n + 1)], policy)
            filters.process(rounds=12)  # fills the window
            filters.change(n - 1, block(n - 1, n))
            filters.process(rounds=12 if quick else 40)
            findings.append(claim.judge(filters.process(rounds=5 if quick else 20)))
    return Outcome(findings)


EXPERIMENT = Experiment(
    title="evaluations per tuple after a change far back",
    reference="Babu et al., SIGMOD 2004, example 7",
    measure=measure,
)
