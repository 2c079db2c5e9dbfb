"""A change of selectivities, followed over time: the run for figures 16 to 18 (a-greedy, section 9.4)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np

from thalweg.cost import greedy_order, order_cost
from thalweg.lab.a_greedy.algorithms import LABELS, line
from thalweg.lab.a_greedy.filter_groups import FilterGroups, batches, permuted
from thalweg.lab.a_greedy.synthetic_filters import SyntheticFilters
from thalweg.lab.experiment import Track
from thalweg.lab.figure import Figure

N = 8
SELECTIVITIES = (0.2, 0.4, 0.6, 0.8)
"""One selectivity per group; the paper says only that they differ."""
CHANGE = 600_000
"""The number of tuples before the change, and after it."""
BIN = 2_000
"""The number of tuples for which evaluations are counted together, as in the paper."""
NEAR = 0.01
"""An order has converged to Greedy's if it costs at most this share more."""
BEFORE_AND_AFTER = 100_000
"""The number of tuples before the change, and at the end of the run, over which an order's cost is averaged."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """One stream with one algorithm, in bins of 2000 tuples."""

    change: int
    evaluated: tuple[float, ...]
    """The number of evaluations in each bin, without profiling."""
    expected: tuple[float, ...]
    """The expected number of evaluations per bin, in the order at the end of the bin."""
    excess: tuple[float, ...]
    """How much more the order at the end of the bin costs than Greedy's order for the current statistics, as a
    share."""

    @property
    def converged_after(self) -> int:
        """The number of tuples after the change until the order is as good as Greedy's; all tuples if it never is."""
        bins = self.excess[self.change // BIN :]
        return BIN * next((i + 1 for i, excess in enumerate(bins) if excess <= NEAR), len(bins))

    @property
    def largest_step(self) -> float:
        """The largest change of the order's cost from bin to bin after the change, as a share of Greedy's cost."""
        bins = self.excess[self.change // BIN :]
        return max(abs(b - a) for a, b in pairwise(bins))

    def before(self) -> float:
        """Return the mean excess just before the change."""
        return statistics.fmean(self.excess[(self.change - BEFORE_AND_AFTER) // BIN : self.change // BIN])

    def after(self) -> float:
        """Return the mean excess at the end of the run."""
        return statistics.fmean(self.excess[-BEFORE_AND_AFTER // BIN :])


@cache  # three figures show the same run
def follow(algorithm: str, seed: int, change: int) -> Timeline:
    """Run one stream that changes after `change` tuples."""
    rng = np.random.default_rng([seed, 16])
    evaluated: list[float] = []
    expected: list[float] = []
    excess: list[float] = []
    filters = SyntheticFilters([1.0] * N, algorithm, seed)
    for selectivities in permuted(rng, SELECTIVITIES, changes=1):
        groups = FilterGroups((2,) * (N // 2), selectivities)
        dropped, probability = groups.joint()
        costs = [1.0] * N
        greedy = order_cost(greedy_order(dropped, costs, probability), dropped, costs, probability)
        known: dict[tuple[int, ...], float] = {}
        for codes in batches(groups.draw(rng, change), BIN):
            evaluated.append(sum(filters.process([codes]).chain.evaluated))
            if filters.order not in known:
                known[filters.order] = order_cost(filters.order, dropped, costs, probability)
            expected.append(BIN * known[filters.order])
            excess.append(known[filters.order] / greedy - 1)
    return Timeline(change, tuple(evaluated), tuple(expected), tuple(excess))


Results = dict[str, list[Timeline]]


def timelines(algorithms: Sequence[str], quick: bool, track: Track) -> Results:
    """Run each algorithm on the same streams."""
    change, seeds = (150_000, 2) if quick else (CHANGE, 7)
    found: Results = {algorithm: [] for algorithm in algorithms}
    for algorithm, seed in track([(a, s) for a in algorithms for s in range(seeds)]):
        found[algorithm].append(follow(algorithm, seed, change))
    return found


def converged_after(r: Results, algorithm: str) -> float:
    """Return the median of `Timeline.converged_after` over the streams."""
    return statistics.median(t.converged_after for t in r[algorithm])


def convergence_times(r: Results) -> str:
    """Return how long each algorithm takes to converge, for a sentence."""
    each = (f"{LABELS[a]} {converged_after(r, a):,.0f}" for a in r)
    return f"median tuples until the order costs at most {NEAR:.0%} more than Greedy's: {', '.join(each)}"


def figure(name: str, title: str, r: Results) -> Figure:
    """Return the figure: evaluations by bin in the first stream, as counted (faint) and as expected for the order in
    use."""
    change = next(iter(r.values()))[0].change
    shown = range(change // 2, 2 * change, BIN)
    x = [float(at) for at in shown]
    average = [line(a, x, [r[a][0].expected[at // BIN] for at in shown]) for a in r]
    counted = [
        replace(line(a, x, [r[a][0].evaluated[at // BIN] for at in shown]), faint=True) for a in reversed(list(r))
    ]
    return Figure(
        name, title, "tuples so far", f"filters evaluated in {BIN:,} tuples", (*counted, *average),
        timeline=True, mark=(float(change), "selectivities change"),
    )  # fmt: skip


SETTING = (
    "Eight filters of one unit in groups of two whose selectivities are "
    f"{', '.join(f'{s:.0%}' for s in SELECTIVITIES)}; after {CHANGE:,} tuples they are permuted so that every group "
    "changes. Evaluations of profiling are not counted. Seven streams; the figure shows the first: faint lines are "
    "counts, bold lines are averages of the order in use. The claims are about medians or means over all streams."
)
