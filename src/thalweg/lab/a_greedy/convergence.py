"""The processing rate after the order has settled: the measurement for figures 9 to 12 and 14 (a-greedy, 9.2, 9.3).

Time is virtual: a tuple costs as much as the filters evaluated on it, including those evaluated only to profile. Every
algorithm gets the same tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.cost import best_order
from thalweg.lab.a_greedy.algorithms import OPTIMAL
from thalweg.lab.a_greedy.clocks import UNIT_NS
from thalweg.lab.a_greedy.filter_groups import FilterGroups, batches
from thalweg.lab.a_greedy.synthetic_filters import SyntheticFilters
from thalweg.lab.a_greedy.uneven_costs import Chain


@dataclass(frozen=True, slots=True)
class Size:
    """How many tuples and streams are run."""

    warm: int
    """The number of tuples before measuring begins."""
    rows: int
    """The number of tuples that are measured."""
    seeds: int
    """The number of streams; results are the means over them."""


FULL = Size(warm=300_000, rows=200_000, seeds=6)
QUICK = Size(warm=120_000, rows=60_000, seeds=1)


@dataclass(frozen=True, slots=True)
class Settled:
    """The average cost of a tuple, in units."""

    processing: float
    profiling: float

    @property
    def rate(self) -> float:
        """The number of tuples per unit of time."""
        return 1 / (self.processing + self.profiling)

    @property
    def overhead(self) -> float:
        """The share of time that profiling takes."""
        return self.profiling * self.rate


def settled(
    groups: FilterGroups, chains: Sequence[Chain], algorithms: Sequence[str], size: Size, p: float | None = None
) -> dict[str, Settled]:
    """Return the costs of each algorithm on the same streams, one per chain."""
    sums = {algorithm: np.zeros(2) for algorithm in algorithms}
    dropped, probability = groups.joint() if OPTIMAL in algorithms else (None, None)
    for seed, chain in enumerate(chains):
        codes = groups.draw(np.random.default_rng([seed, groups.n]), size.warm + size.rows)
        for algorithm, total in sums.items():
            if algorithm == OPTIMAL:
                assert dropped is not None
                total += [best_order(dropped, chain.costs, probability)[1], 0.0]
                continue
            filters = SyntheticFilters(chain.costs, algorithm, seed, p=p, written=chain.written)
            filters.process(batches(codes[: size.warm]))
            work = filters.process(batches(codes[size.warm :]))
            times = work.times
            total += np.array([times.total_ns - times.profiling_ns, times.profiling_ns]) / work.chain.rows / UNIT_NS
    return {algorithm: Settled(*(total / len(chains))) for algorithm, total in sums.items()}


def even(n: int, size: Size) -> list[Chain]:
    """Return chains of n filters of one unit, written group by group, one per stream."""
    return [Chain((1.0,) * n, tuple(range(n)))] * size.seeds
