"""The synthetic filters of section 9 in Thalweg's own loop: the outcome is a bit of a column, the cost is a given time.

Differs from the paper: rows go through the chain in slices, not one by one, so that no Python code runs per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import PolicyChoice
from thalweg.given_predicate import predicate
from thalweg.kernels import FilterChain
from thalweg.lab.a_greedy.clocks import UNIT_NS, FilterClock, VirtualFilterClock
from thalweg.lab.a_greedy.filter_groups import Codes
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import LoopOptions, make_filter_loop
from thalweg.runtime.filters.loop_ledger import Work

SLICE_ROWS = 512
"""A change of the order waits for the end of a slice, which is small compared with the 100,000 tuples that fill a
window."""


class SyntheticFilters:
    """Runs filters that cost `costs` units each with a policy."""

    def __init__(
        self,
        costs: Sequence[float],
        policy: str,
        seed: int,
        *,
        written: Sequence[int] | None = None,
        p: float | None = None,
        clock: FilterClock | None = None,
        slice_rows: int | None = SLICE_ROWS,
    ) -> None:
        """`written`: the order at the start, F1..Fn if None. `p`: None for the policy's own default (table 1)."""
        self._written = tuple(range(len(costs))) if written is None else tuple(written)
        self._clock = clock or VirtualFilterClock()
        plan = FilterPlan(
            tuple(
                predicate(
                    partial(self._evaluate, 1 << k, costs[k] * UNIT_NS), "bits", name=f"F{k + 1}", vectorized=True
                )
                for k in self._written
            )
        )
        chain = FilterChain(plan, clock=self._clock)
        settings = None if policy == "static" else PolicyChoice(policy, {} if p is None else {"p": p}).settings
        self._loop = make_filter_loop(chain, LoopOptions(policy, settings, slice_rows), np.random.default_rng(seed))
        self.policy = self._loop.policy

    @property
    def order(self) -> tuple[int, ...]:
        """The order in use, filters from 0."""
        return tuple(self._written[i] for i in self._loop.order)

    def process(self, batches: Iterable[Codes]) -> Work:
        """Process these tuples, and return what was done."""
        self._loop.take_work()
        for codes in batches:
            self._loop.process(pa.RecordBatch.from_arrays([pa.array(codes)], names=["bits"]))
        return self._loop.take_work()

    def _evaluate(self, bit: int, ns_per_row: float, bits: pa.Array) -> NDArray[np.bool_]:
        begun = self._clock()
        passes: NDArray[np.bool_] = (bits.to_numpy() & bit) != 0
        self._clock.spend(round(ns_per_row * len(passes)), begun)
        return passes
