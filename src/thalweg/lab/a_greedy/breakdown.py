"""The breakdown of CPU time while an algorithm runs, for figures 13 and 15 (a-greedy, section 9.3).

The order settles in virtual time first. Then the clock measures CPU time, filters keep the processor busy for as long
as they cost, and the loop accounts for processing, profiling and re-optimizing separately. The algorithms take turns,
and the median turn counts, so that a noisy moment of the machine does not affect only one of them.
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
"""The length of slices for all algorithms. By default the loop lengthens slices only while it profiles, which Optimal
never does."""


@dataclass(frozen=True, slots=True)
class TimePerTuple:
    """Time spent per tuple, in microseconds."""

    processing: float
    profiling: float
    reoptimizing: float

    @classmethod
    def of(cls, work: Work) -> TimePerTuple:
        """Return the time spent per tuple, from the loop's accounts."""
        times = work.times
        parts = (times.processing_ns, times.profiling_ns, times.reoptimizing_ns)
        return cls(*(ns / work.chain.rows / 1e3 for ns in parts))

    @property
    def total(self) -> float:
        """The total time per tuple."""
        return self.processing + self.profiling + self.reoptimizing

    @property
    def overhead(self) -> float:
        """The share of the time that is not processing."""
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
) -> dict[str, TimePerTuple]:
    """Return the median turn of each algorithm."""
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
    taken: dict[str, list[TimePerTuple]] = {algorithm: [] for algorithm in algorithms}
    part = rows // turns
    for turn in range(turns):
        for algorithm, filters in running.items():
            taken[algorithm].append(TimePerTuple.of(filters.process(batches(codes[warm + turn * part :][:part]))))
    return {algorithm: median(turns) for algorithm, turns in taken.items()}


def median(turns: Sequence[TimePerTuple]) -> TimePerTuple:
    """Return the turn with the median total."""
    total = statistics.median_low([turn.total for turn in turns])
    return next(turn for turn in turns if turn.total == total)


def bars(
    name: str, title: str, found: dict[str, dict[str, TimePerTuple]], y_label: str = "µs per tuple (CPU time)"
) -> Bars:
    """Return a figure with one group of bars per key, and one bar per algorithm."""
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
