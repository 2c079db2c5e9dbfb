"""The filters of the paper's examples: sets of values. Each probe takes one unit of a clock that nothing else advances.

A filter drops a value that it does not contain (example 2). Time is virtual, so measurements are the same on every
machine, and all filters cost the same, as the examples assume.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import ProfileSettings
from thalweg.given_predicate import predicate
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import LoopOptions, make_filter_loop

VALUES = 100
"""The number of values: tuples are uniform in 1..100."""


class SetFilters:
    """Runs filters F1..Fn with a policy. All dropped tuples are profiled, and the statistics are exact."""

    def __init__(self, sets: Sequence[Collection[int]], policy: str) -> None:
        self._now = 0
        self._sets = list(sets)
        plan = FilterPlan(
            tuple(
                predicate(lambda e, i=i: self._probe(i, e), "e", name=f"F{i + 1}", vectorized=True)
                for i in range(len(sets))
            )
        )
        settings = ProfileSettings(p=1.0, profile_window=10 * VALUES, alpha=0.9)
        chain = FilterChain(plan, clock=lambda: self._now)
        # a slice is one round of all values, so that every update sees exact rates
        self._loop = make_filter_loop(chain, LoopOptions(policy, settings, VALUES), np.random.default_rng(0))

    def change(self, i: int, members: Collection[int]) -> None:
        """Replace the values that filter i (from 0) contains."""
        self._sets[i] = members

    @property
    def order(self) -> tuple[int, ...]:
        """The order in use, filters from 0."""
        return self._loop.order

    def process(self, rounds: int) -> float:
        """Process all values `rounds` times, and return the evaluations per tuple, without profiling."""
        self._loop.take_work()
        for _ in range(rounds):
            self._loop.process(pa.RecordBatch.from_pydict({"e": pa.array(range(1, VALUES + 1))}))
        work = self._loop.take_work()
        return sum(work.chain.evaluated) / work.chain.rows

    def _probe(self, i: int, e: pa.Array) -> NDArray[np.bool_]:
        self._now += len(e)
        return np.isin(e.to_numpy(), list(self._sets[i]))
