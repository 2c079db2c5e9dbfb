"""The results that equations 2 and 3 find, against simulated joins that keep up (rate-based, sections 3.3 to 4.2).

In equation 2 the numerator is the mean rate of all results so far, not the rate at t, so the integral averages a second
time: of the results of a join of n streams that keeps up, the printed form finds 1/n. With half of the time for every
join, 1/2^(n-1) are found.

>>> join = query(3)
>>> tree, exact = join.joins((("a", "b"), "c")), (RATE * UNTIL) ** 3 / KEYS[3] ** 2
>>> found = printed_results(tree, join.streams, UNTIL), halved_results(tree, join.streams, UNTIL)
>>> [round(results / exact, 3) for results in found]
[0.333, 0.25]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thalweg.cost.rate import Arriving, JoinCosts, halved_rate, rate_at
from thalweg.lab.claim import Number, Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.rate_based.join_query import JoinQuery
from thalweg.plan.joins.shape import left_deep

KEYS = {2: 10, 3: 32, 4: 50}
"""The values of each key, by the number of streams: a few thousand results."""
RATE, UNTIL = 20.0, 10.0
STEPS = 256
"""The number of intervals in which equation 3 is integrated."""
NEAR = 0.1
"""About three standard errors of the simulated mean over 20 seeds."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The results until the end: simulated, as printed, with half of the time, and by the fluid model."""

    simulated: float
    printed: float
    halved: float
    fluid: float


Results = dict[int, Counted]

CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the integral of equation 2 is the number of results",
        f"section 4.1, equation 3; read as within {NEAR:.0%}",
        holds=lambda r: all(abs(c.printed / c.simulated - 1) <= NEAR for c in r.values()),
        measured=lambda r: ", ".join(
            f"{c.printed / c.simulated:.3f} of the results of {n} streams" for n, c in r.items()
        ),
        why="equation 2 divides all results until t by the time that their inputs take. That is their mean rate, and "
        "not the rate at t, so the integral averages a second time. In a tree this happens in every join.",
    ),
    Statement(
        "the rate at half of the time overestimates as much as it underestimates",
        f"section 4.2.1, figure 3; read as within {NEAR:.0%} of the results",
        holds=lambda r: all(abs(c.halved / c.simulated - 1) <= NEAR for c in r.values()),
        measured=lambda r: ", ".join(
            f"{c.halved / c.simulated:.3f} of the results of {n} streams" for n, c in r.items()
        ),
        why="it is true for the rate of one join as printed, whose integral is half of the results. Each further join "
        "halves it again, because the rate of its input grows with t as well.",
    ),
)


def printed_results(tree: JoinCosts, streams: Mapping[str, Arriving], until: float) -> float:
    """Return the results until a time as printed: equation 2 at every t, integrated by equation 3."""
    times = np.linspace(0.0, until, STEPS + 1)
    rates = [rate_at(tree, tree.shape, streams, t) for t in times.tolist()]
    return float(np.trapezoid(rates, times))


def halved_results(tree: JoinCosts, streams: Mapping[str, Arriving], until: float) -> float:
    """Return the results until a time by local rate maximization's estimate: every join at half of the time."""
    return halved_rate(tree, tree.shape, streams, until) * until


def query(n: int) -> JoinQuery:
    """Return a chain of n streams whose joins keep up easily."""
    streams = {alias: Arriving(RATE) for alias in "abcd"[:n]}
    return JoinQuery(streams, dict.fromkeys(itertools.pairwise(streams), 1 / KEYS[n]), hash_cost=1e-5)


def measure(quick: bool, track: Track) -> Outcome:
    """Count the results of joins of two, three and four streams."""
    results: Results = {}
    findings = []
    for n in track(list(KEYS)):
        join = query(n)
        shape = left_deep(list(join.streams))
        counts = [join.simulated(shape, seed, UNTIL).count() for seed in range(5 if quick else 20)]
        tree = join.joins(shape)
        results[n] = Counted(
            float(np.mean(counts)),
            printed_results(tree, join.streams, UNTIL),
            halved_results(tree, join.streams, UNTIL),
            float(join.predicted(shape, [UNTIL])[0]),
        )
        near = 2 * NEAR if quick else NEAR
        found = results[n]
        findings += [
            Number(f"equations 2 and 3 as printed, {n} streams", f"1/{n} of the results", 1 / n, near, "derived here")
            .judge(found.printed / found.simulated),
            Number(f"half of the time, {n} streams", f"1/{2 ** (n - 1)} of the results", 1 / 2 ** (n - 1), near,
                   "derived here").judge(found.halved / found.simulated),
            Number(f"the fluid model, {n} streams", "all results", 1.0, near, "derived here")
            .judge(found.fluid / found.simulated),
        ]  # fmt: skip
    return Outcome(judged(CLAIMS, results) + findings, (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: shares of the simulated results over n."""
    lines = tuple(
        Series(label, list(r), [getattr(c, name) / c.simulated for c in r.values()])
        for label, name in (("fluid model", "fluid"), ("equations 2 and 3", "printed"), ("half of the time", "halved"))
    )
    return Figure("equations-2-3", "The printed equations find fewer of the results the more streams are joined",
                  "number of streams", "share of the simulated results", lines, from_zero=True)  # fmt: skip


EXPERIMENT = Experiment(
    title="how many results the equations find",
    reference="equations 2 and 3, figure 3",
    measure=measure,
    setting=f"Chains of 2 to 4 streams of {RATE:g} rows per second, until {UNTIL:g} s; joins take 10 µs per row, so "
    "that they keep up. Mean of 20 seeds.",
)
