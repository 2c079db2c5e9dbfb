"""A stream of bits through a loop on a clock that only filters and policies move: what is measured is exact.

Column k of `passed` says which rows filter k lets through; filter k costs `units[k]` per row, and every call and every
look at the profile has a price of its own, as in real life. `fixed_ns[k]`: a call of it costs so much more. `by_value`:
a row costs so many times more, given its bits and the filter. `noise`: of the logarithm of a call's time. `neighbor`:
half of the time, in bursts, another process takes the core for as long as a call runs; the time of the thread is
measured too, then. Units and fixed costs may be changed at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg import predicate
from thalweg.adapt import Observation, Verdict, make_policy
from thalweg.cost.pipeline import best_order
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.report.section import Section
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.loop_ledger import Work
from thalweg.runtime.filters.pool import Pool

UNIT_NS, CALL_NS, LOOK_NS, JUDGE_NS = 250, 15_000, 30_000, 100_000
BATCH = 10_000
BURST_NS = 5e6


class VirtualStream:
    """One worker with its loop and its clock."""

    def __init__(
        self, units: Sequence[float], policy: str, seed: int, *, pool: Pool | None = None,
        unprofiled: Sequence[int] = (), after: Mapping[int, str] | None = None, priced: bool = True,
        fixed_ns: Sequence[float] | None = None, noise: float = 0.0, slice_rows: int | None = None,
        by_value: Callable[[np.ndarray, int], np.ndarray] | None = None, neighbor: bool = False, **settings: float,
    ) -> None:  # fmt: skip
        self.now_ns = 0
        self.units = np.array(units, dtype=np.float64)
        self.fixed_ns = np.zeros(len(units)) if fixed_ns is None else np.array(fixed_ns, dtype=np.float64)
        self.by_value = by_value
        self.noise = noise
        self._noise = np.random.default_rng(seed + 1)
        self._neighbor = neighbor
        self._busy, self._until = False, 0.0
        self.cpu_ns = 0
        self.spent_ns = 0.0
        """What filters cost so far, their calls' fixed cost and profiling included; without noise."""
        plan = FilterPlan(
            tuple(
                predicate(
                    self._filter(k),
                    "bits",
                    name=f"F{k}",
                    vectorized=True,
                    profile=k not in unprofiled,
                    after=(after or {}).get(k, ()),
                )
                for k in range(len(units))
            )
        )
        rng = np.random.default_rng(seed)
        self.policy = make_policy(policy, plan.pipeline, tw.policy(policy, **settings).settings, rng)
        update = self.policy.update

        def timed(seen: Observation) -> Verdict | None:
            self.now_ns += (JUDGE_NS if len(seen.profile) else LOOK_NS) if priced else 0
            return update(seen)

        self.policy.update = timed  # type: ignore[method-assign]
        self.call_ns = CALL_NS if priced else 0
        chain = FilterChain(plan, lambda: self.now_ns, cpu_clock=(lambda: self.cpu_ns) if neighbor else None)
        self.loop = FilterLoop(chain, self.policy, rng, pool=pool, slice_rows=slice_rows)

    def _filter(self, k: int) -> Callable[[pa.Array], np.ndarray]:
        def call(bits: pa.Array) -> np.ndarray:
            values = bits.to_numpy()
            rows = len(values) if self.by_value is None else float(self.by_value(values, k).sum())
            ns = self.fixed_ns[k] + UNIT_NS * self.units[k] * rows
            self.spent_ns += ns
            factor = float(np.exp(self._noise.normal(0.0, self.noise))) if self.noise else 1.0
            took = int(self.call_ns + factor * ns)
            self.cpu_ns += took
            self.now_ns += took * (2 if self._neighbor and self._disturbed() else 1)
            passes: np.ndarray = (values >> k) & 1 == 1
            return passes

        return call

    def _disturbed(self) -> bool:
        while self.now_ns >= self._until:
            self._busy = not self._busy
            self._until += float(self._noise.exponential(BURST_NS))
        return self._busy

    def process(self, passed: np.ndarray) -> np.ndarray:
        """Process these rows, and return which passed."""
        bits = passed.astype(np.int64) @ (1 << np.arange(passed.shape[1]))
        parts = [bits[i : i + BATCH] for i in range(0, len(bits), BATCH)]
        return np.concatenate([self.loop.process(pa.record_batch({"bits": pa.array(part)})) for part in parts])

    @property
    def spent(self) -> float:
        """Cost-weighted evaluations so far, profiling included."""
        work = self.loop.work
        return float((np.array(work.chain.evaluated) + np.array(work.chain.profiled)) @ self.units)

    @property
    def adapting(self) -> float:
        """The share of the time that profiling, re-optimizing and what trials lost took."""
        return adapting_ns(self.loop.work) / self.loop.work.times.total_ns


def adapting_ns(work: Work | Section) -> int:
    """Return all the time that counts towards a budget."""
    return work.times.profiling_ns + work.times.reoptimizing_ns + work.trials.loss_ns


def least(phases: Sequence[np.ndarray], units: Sequence[float]) -> float:
    """What the best order of each phase would have spent, known in hindsight, by exhaustive search."""
    return sum(best_order(~passed, units)[1] * len(passed) for passed in phases)


def correlated(rng: np.random.Generator, rows: int, selectivities: Sequence[float]) -> np.ndarray:
    """Pairs of filters that agree on 80 % of the rows (a-greedy, section 9.2)."""
    columns = []
    for selectivity in selectivities:
        draw = rng.random(rows)
        columns += [
            draw < selectivity,
            (draw < selectivity - 0.1) | ((draw >= selectivity) & (draw < selectivity + 0.1)),
        ]
    return np.stack(columns, axis=1)
