"""Where CPU time goes while an algorithm runs: behind table 2 and figures 13 and 15 (a-greedy, section 9.3).

The order settles in virtual time first; then the clock is the processor's, filters keep it busy for what they cost, and
the loop accounts processing, profiling and re-optimizing apart. The algorithms take turns, and the median turn counts,
so that a noisy moment of the machine does not fall on one of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.cost import best_order
from thalweg.lab.a_greedy.algorithms import LABELS, OPTIMAL
from thalweg.lab.a_greedy.clocks import ProcessorClock
from thalweg.lab.a_greedy.filter_groups import FilterGroups, batches
from thalweg.lab.a_greedy.synthetic_filters import SyntheticFilters
from thalweg.lab.a_greedy.uneven_costs import Chain
from thalweg.lab.figure import Bars, Series
from thalweg.runtime.filters.loop_ledger import Work

SLICE_ROWS = 4096
"""For all alike. Left to itself the loop lengthens slices only while it profiles, which Optimal never does."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds a tuple."""

    processing: float
    profiling: float
    reoptimizing: float

    @classmethod
    def of(cls, work: Work) -> Spent:
        """From the loop's account."""
        processing = work.total_ns - work.profiling_ns - work.reoptimizing_ns
        parts = (processing, work.profiling_ns, work.reoptimizing_ns)
        return cls(*(ns / work.rows / 1e3 for ns in parts))

    @property
    def total(self) -> float:
        """All of it."""
        return self.processing + self.profiling + self.reoptimizing

    @property
    def overhead(self) -> float:
        """The share that is not processing."""
        return 1 - self.processing / self.total


def spent(
    groups: FilterGroups,
    chain: Chain,
    algorithms: Sequence[str],
    *,
    warm: int,
    rows: int,
    turns: int,
    p: float | None = None,
) -> dict[str, Spent]:
    """The median turn of each algorithm."""
    codes = groups.draw(np.random.default_rng([groups.n, 13]), warm + rows)
    dropped, probability = groups.joint()
    running = {}
    for algorithm in algorithms:
        clock = ProcessorClock()
        policy, written = algorithm, chain.written
        if algorithm == OPTIMAL:
            policy, written = "static", best_order(dropped, chain.costs, probability)[0]
        filters = SyntheticFilters(chain.costs, policy, 0, p=p, written=written, clock=clock, slice_rows=SLICE_ROWS)
        filters.process(batches(codes[:warm]))
        clock.start()
        running[algorithm] = filters
    taken: dict[str, list[Spent]] = {algorithm: [] for algorithm in algorithms}
    part = rows // turns
    for turn in range(turns):
        for algorithm, filters in running.items():
            taken[algorithm].append(Spent.of(filters.process(batches(codes[warm + turn * part :][:part]))))
    return {algorithm: median(turns) for algorithm, turns in taken.items()}


def median(turns: Sequence[Spent]) -> Spent:
    """The turn whose total is the median's."""
    total = statistics.median_low([turn.total for turn in turns])
    return next(turn for turn in turns if turn.total == total)


def bars(name: str, title: str, found: dict[str, dict[str, Spent]], y_label: str = "µs a tuple (CPU time)") -> Bars:
    """One group of bars a key, one bar an algorithm."""
    each = [(LABELS[algorithm], spent) for group in found.values() for algorithm, spent in group.items()]
    at = list(range(len(each)))
    return Bars(
        name, title, "", y_label,
        (
            Series("processing", at, [spent.processing for _, spent in each], "blue"),
            Series("profiling", at, [spent.profiling for _, spent in each], "orange"),
            Series("re-optimizing", at, [spent.reoptimizing for _, spent in each], "black"),
        ),
        bars=tuple(label for label, _ in each), groups=tuple(found),
    )  # fmt: skip
