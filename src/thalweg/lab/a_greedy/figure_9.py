"""The number of filters under convergence: A-Greedy, Independent and for small n the best order (a-greedy, fig. 9)."""

from __future__ import annotations

from thalweg.lab.a_greedy.algorithms import OPTIMAL, line
from thalweg.lab.a_greedy.convergence import FULL, QUICK, Settled, even, settled
from thalweg.lab.a_greedy.filter_groups import FilterGroups
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure

FILTERS = (2, 4, 6, 8, 12, 16, 20)
MOST_EXHAUSTIVE = 12
SMALL = 4
NEAR = 0.97
"""Near-optimal: at least this share of the best order's rate."""

Results = dict[int, dict[str, Settled]]


def gain(at_n: dict[str, Settled]) -> float:
    """Return A-Greedy's rate divided by Independent's."""
    return at_n["a-greedy"].rate / at_n["independent"].rate


def of_optimal(at_n: dict[str, Settled]) -> float:
    """Return A-Greedy's rate as a share of the best order's."""
    return at_n["a-greedy"].rate / at_n[OPTIMAL].rate


def order_alone(at_n: dict[str, Settled]) -> float:
    """Return the same share without profiling: how good the order itself is."""
    return at_n[OPTIMAL].processing / at_n["a-greedy"].processing


def exhaustive(r: Results) -> list[int]:
    """Return the values of n for which the best order is known."""
    return [n for n in r if OPTIMAL in r[n]]


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "A-Greedy is faster than Independent for all n",
        "section 9.2: better at every n",
        holds=lambda r: all(gain(r[n]) > 1 for n in r),
        measured=lambda r: "ratio of rates " + ", ".join(f"{gain(r[n]):.3f} at n = {n}" for n in r),
        why="with two filters there is one group and every order costs the same, so A-Greedy only pays for profiling "
        "twice as many tuples as Independent. With two or more groups it is faster.",
    ),
    Statement(
        "the gap widens with n",
        "section 9.2: the performance gap widens with n",
        holds=lambda r: all(gain(r[b]) > gain(r[a]) for a, b in zip(list(r), list(r)[1:], strict=False)),
        measured=lambda r: (
            f"{gain(r[min(r)]):.3f} at n = {min(r)}, widest {max(map(gain, r.values())):.3f} at "
            f"n = {max(r, key=lambda n: gain(r[n]))}, {gain(r[max(r)]):.3f} at n = {max(r)}"
        ),
        why="it widens while there are few groups, and then narrows. Independent cannot distinguish filters of equal "
        "selectivity, so sampling noise gives it a random order. With many groups two filters of one group are seldom "
        "adjacent by chance, so a random order becomes better. And A-Greedy's profiling grows with n twice as fast as "
        "Independent's.",
    ),
    Statement(
        "A-Greedy is near-optimal for small n",
        f"section 9.2; read as at least {NEAR:.0%} of Optimal's rate up to n = {SMALL}",
        holds=lambda r: all(of_optimal(r[n]) >= NEAR for n in r if n <= SMALL),
        measured=lambda r: ", ".join(f"{of_optimal(r[n]):.1%} at n = {n}" for n in r if n <= SMALL),
    ),
    Statement(
        "A-Greedy falls behind Optimal as n grows",
        "section 9.2: it degrades as n increases",
        holds=lambda r: of_optimal(r[max(exhaustive(r))]) < of_optimal(r[min(r)]) - 0.01,
        measured=lambda r: ", ".join(f"{of_optimal(r[n]):.1%} at n = {n}" for n in exhaustive(r)),
    ),
    Statement(
        "it falls behind because of its overhead, not because of its order",
        "section 9.2: because of increasing run-time overhead",
        holds=lambda r: all(order_alone(r[n]) > 0.98 for n in exhaustive(r)),
        measured=lambda r: (
            f"without profiling at least {min(order_alone(r[n]) for n in exhaustive(r)):.1%} of Optimal; profiling "
            "takes " + ", ".join(f"{r[n]['a-greedy'].overhead:.1%} at n = {n}" for n in r)
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment for all n."""
    results: Results = {}
    size = QUICK if quick else FULL
    for n in track((2, 4, 8) if quick else FILTERS):
        algorithms = ("a-greedy", "independent", *([OPTIMAL] if n <= MOST_EXHAUSTIVE else []))
        results[n] = settled(FilterGroups.of(n, 2), even(n, size), algorithms, size)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: rates over n."""
    lines = []
    for algorithm in (OPTIMAL, "a-greedy", "independent"):
        there = [n for n in r if algorithm in r[n]]
        lines.append(line(algorithm, there, [r[n][algorithm].rate for n in there]))
    return Figure(
        "figure-9", "A-Greedy stays near the best order; Independent does not detect groups", "number of filters n",
        "tuples per unit of virtual time", tuple(lines),
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="the number of filters under convergence",
    reference="figure 9, section 9.2",
    measure=measure,
    setting="Groups of two, selectivity 50 %, every filter one unit; filters are written group by group. Virtual time.",
)
