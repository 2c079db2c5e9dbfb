"""Streams whose selectivities are permuted repeatedly: the runs for figures 19 to 21 (a-greedy, section 9.4).

Time is virtual and includes profiling evaluations. Every algorithm gets the same tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.lab.a_greedy.clocks import UNIT_NS
from thalweg.lab.a_greedy.filter_groups import FilterGroups, batches, permuted
from thalweg.lab.a_greedy.synthetic_filters import SyntheticFilters
from thalweg.lab.a_greedy.timeline import SELECTIVITIES
from thalweg.lab.a_greedy.uneven_costs import chain


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: as many periods as fit into `rows`, but at least a few, and no more than are needed to average
    over the permutations."""

    rows: int
    least_periods: int
    most_periods: int
    seeds: int

    def periods(self, period: int) -> int:
        """Return the number of periods of this length."""
        return min(max(self.rows // period, self.least_periods), self.most_periods)


FULL = Size(rows=3_000_000, least_periods=3, most_periods=12, seeds=4)
QUICK = Size(rows=400_000, least_periods=2, most_periods=4, seeds=1)


def time_per_tuple(algorithms: Sequence[str], period: int, c: float, size: Size) -> dict[str, float]:
    """Return the units per tuple that each algorithm takes on streams that change every `period` tuples."""
    periods = size.periods(period)
    spent = dict.fromkeys(algorithms, 0.0)
    for seed in range(size.seeds):
        rng = np.random.default_rng([seed, 19])
        drawn = chain(c, seed)
        running = {a: SyntheticFilters(drawn.costs, a, seed, written=drawn.written) for a in algorithms}
        for selectivities in permuted(rng, SELECTIVITIES, periods - 1):
            codes = FilterGroups((2,) * len(SELECTIVITIES), selectivities).draw(rng, period)
            for algorithm, filters in running.items():
                spent[algorithm] += filters.process(batches(codes)).times.total_ns
    return {a: ns / UNIT_NS / (period * periods * size.seeds) for a, ns in spent.items()}


SETTING = (
    "Eight filters in groups of two, four of one unit and four more expensive; which are expensive and how the chain "
    f"is written is drawn for each of {FULL.seeds} streams. The groups' selectivities are "
    f"{', '.join(f'{s:.0%}' for s in SELECTIVITIES)}, permuted at every change so that every group changes. Virtual "
    "time, including profiling evaluations but not the computations of the algorithms themselves."
)
