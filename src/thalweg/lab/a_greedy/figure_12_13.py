"""All algorithms under convergence, and how they spend their time (a-greedy, figures 12 and 13)."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.lab.a_greedy.algorithms import LABELS, OPTIMAL, line
from thalweg.lab.a_greedy.breakdown import TimePerTuple, bars, spent
from thalweg.lab.a_greedy.convergence import QUICK, Settled, Size, even, settled
from thalweg.lab.a_greedy.filter_groups import FilterGroups
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure

P = 0.05
"""Profiling is made expensive here, so that the algorithms differ visibly (section 9.3)."""
FILTERS = (2, 4, 6, 8, 12)
REAL = (4, 8, 12)
"""The values of n for which CPU time is broken down."""
FULL = Size(warm=400_000, rows=300_000, seeds=2)
ADAPTIVE = ("a-greedy", "sweep", "local-swaps", "independent")
SAME_ORDER = ("a-greedy", "sweep", "local-swaps")
SIMILAR = 0.05
"""Orders count as similar if their processing times differ by at most this share."""


@dataclass(frozen=True, slots=True)
class Results:
    """Rates in virtual time and the breakdown in CPU time, by n."""

    rates: dict[int, dict[str, Settled]]
    spent: dict[int, dict[str, TimePerTuple]]


def ahead(r: Results, n: int, other: str) -> float:
    """Return how much faster than A-Greedy the other algorithm is."""
    return r.rates[n][other].rate / r.rates[n]["a-greedy"].rate - 1


def apart(r: Results) -> float:
    """Return the largest difference from the best order in processing alone, in virtual time."""
    return max(at_n[a].processing / at_n[OPTIMAL].processing - 1 for at_n in r.rates.values() for a in SAME_ORDER)


def overheads(r: Results, algorithm: str) -> str:
    """Return the overhead at the smallest and the largest n, for a sentence."""
    few, many = min(r.rates), max(r.rates)
    return f"{LABELS[algorithm]} {r.rates[few][algorithm].overhead:.1%} to {r.rates[many][algorithm].overhead:.1%}"


def grows(r: Results, algorithm: str) -> float:
    """Return how much the share of profiling grows from the smallest n to the largest."""
    return r.rates[max(r.rates)][algorithm].overhead - r.rates[min(r.rates)][algorithm].overhead


def gets_ahead(other: str) -> Statement[Results]:
    """Return the claim of figure 12 about one of the two algorithms that profile little."""
    return Statement(
        f"{LABELS[other]} gets ahead of A-Greedy as n grows",
        "section 9.3, figure 12: the gap increases with n",
        holds=lambda r: ahead(r, max(r.rates), other) > max(ahead(r, min(r.rates), other), 0) + 0.02,
        measured=lambda r: ", ".join(f"{ahead(r, n, other):+.1%} at n = {n}" for n in r.rates),
    )


CLAIMS: tuple[Statement[Results], ...] = (
    gets_ahead("sweep"),
    gets_ahead("local-swaps"),
    Statement(
        "only A-Greedy's overhead causes the gap",
        "section 9.3, figure 13: solely because of run-time overhead; read as: in processing alone A-Greedy is not "
        "slower than the other two",
        holds=lambda r: all(
            at_n["a-greedy"].processing <= 1.01 * min(at_n["sweep"].processing, at_n["local-swaps"].processing)
            for at_n in r.rates.values()
        ),
        measured=lambda r: "units of processing per tuple at n = {}: {}".format(
            max(r.rates), ", ".join(f"{LABELS[a]} {r.rates[max(r.rates)][a].processing:.3f}" for a in SAME_ORDER)
        ),
    ),
    Statement(
        "Optimal, A-Greedy, Sweep and LocalSwaps take a similar time for processing",
        f"section 9.3, figure 13; read as at most {SIMILAR:.0%} above Optimal's, in virtual time",
        holds=lambda r: apart(r) <= SIMILAR,
        measured=lambda r: (
            f"at most {apart(r):.1%} above; CPU time at n = {max(r.spent)}: "
            + ", ".join(f"{LABELS[a]} {s.processing:.2f} µs" for a, s in r.spent[max(r.spent)].items())
        ),
    ),
    Statement(
        "the overhead of A-Greedy and Independent grows with n, that of Sweep and LocalSwaps does not",
        "section 9.1, point 3; read as two percentage points or more against less",
        holds=lambda r: (
            min(grows(r, "a-greedy"), grows(r, "independent")) >= 0.02
            and max(grows(r, "sweep"), grows(r, "local-swaps")) < 0.02
        ),
        measured=lambda r: (
            f"from n = {min(r.rates)} to {max(r.rates)}: " + ", ".join(overheads(r, a) for a in ADAPTIVE)
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment for all n."""
    size = QUICK if quick else FULL
    rates: dict[int, dict[str, Settled]] = {}
    real: dict[int, dict[str, TimePerTuple]] = {}
    algorithms = (OPTIMAL, *ADAPTIVE)
    for n in track((2, 8) if quick else FILTERS):
        groups = FilterGroups.of(n, 2)
        rates[n] = settled(groups, even(n, size), algorithms, size, p=P)
        if n in REAL:
            warm, rows = (60_000, 20_000) if quick else (300_000, 400_000)
            real[n] = spent(groups, even(n, size)[0], algorithms, warm=warm, rows=rows, turns=1 if quick else 5, p=P)
    results = Results(rates, real)
    return Outcome(judged(CLAIMS, results), figures(results))


def figures(r: Results) -> tuple[Figure, ...]:
    """Return the figures: rates over n, and the breakdown of the time."""
    lines = tuple(line(a, list(r.rates), [at_n[a].rate for at_n in r.rates.values()]) for a in (OPTIMAL, *ADAPTIVE))
    return (
        Figure(
            "figure-12", f"With p = {P} A-Greedy's profiling costs more and more as filters are added",
            "number of filters n", "tuples per unit of virtual time", lines,
        ),
        bars("figure-13", f"A-Greedy differs in its profiling, not in its order (p = {P})",
             {f"n = {n}": found for n, found in r.spent.items()}),
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="all algorithms under convergence, and their run-time breakdown",
    reference="figures 12 and 13, section 9.3",
    measure=measure,
    setting=f"Groups of two, selectivity 50 %, every filter one unit, p = {P} for all. Rates in virtual time; the "
    "breakdown in CPU time with one unit of 250 ns, including the costs of slicing and calling.",
)
