"""A run on a virtual clock: predicates do not burn time but move the clock by what they cost, with noise.

The work of hundreds of chains is then known in minutes, on busy cores too, and is the same on every machine. What the
policy pays for looking at what it saw is a fixed price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.generated.ledger import Ledger, Stopped
from bench.generated.outcome import Outcome, WrongRowsError
from bench.generated.spec import Chain, Order, as_written
from thalweg.adapt import check_policy, make_policy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan, predicate
from thalweg.runtime.filter_loop import FilterLoop

CALL_NS = 6_000
"""What calling a predicate costs the loop whatever it does: on the clock, not in the work."""
LOOK_NS, JUDGE_NS = 30_000, 100_000
"""An update of a policy, without and with profile tuples."""
NOISE = 0.05
"""The standard deviation of the logarithm of what a call takes over what it should."""
EVERY_NS, AWAY_NS = 1e8, (1e6, 5e6)
"""The process is descheduled about so often, for so long."""
BURST_NS = 5e6
"""With a neighbour, half of the time, in stretches of this length on average, everything takes twice as long."""


class VirtualClock:
    """Time that only predicates and policies move."""

    def __init__(self, seed: int, neighbour: bool = False) -> None:
        self.now_ns = 0
        self._rng = np.random.default_rng(seed)
        self._factors: list[float] = []
        self._neighbour = neighbour
        self._busy, self._until = False, 0.0
        self._away_at = float(self._rng.exponential(EVERY_NS))

    def __call__(self) -> int:
        """What time it is."""
        return self.now_ns

    def pass_by(self, ns: float, noisy: bool = True) -> None:
        """So much is done, at the speed of the moment."""
        if noisy:
            ns *= self._factor()
        if self._neighbour:
            while self.now_ns >= self._until:
                self._busy = not self._busy
                self._until += float(self._rng.exponential(BURST_NS))
            ns *= 2.0 if self._busy else 1.0
        if self.now_ns + ns > self._away_at:
            ns += float(self._rng.uniform(*AWAY_NS))
            self._away_at = self.now_ns + ns + float(self._rng.exponential(EVERY_NS))
        self.now_ns += int(ns)

    def _factor(self) -> float:
        if not self._factors:  # many at once: drawing one costs more than the call it is for
            self._factors = np.exp(self._rng.normal(0.0, NOISE, 4096)).tolist()
        return self._factors.pop()


def run_orders(chain: Chain, orders: Sequence[Order], seed: int = 1) -> Outcome:
    """One order for all rows, or one per phase, in the same loop."""
    if len(orders) == 1:
        return run_virtual(as_written(chain, orders[0]), "written", seed)
    parts = [run_virtual(as_written(chain.only(number), order), "written", seed) for number, order in enumerate(orders)]
    return Outcome(sum(part.work_ns for part in parts), sum(part.time_ns for part in parts), False)


def run_virtual(chain: Chain, policy: str, seed: int, limit_ns: float = math.inf, neighbour: bool = False) -> Outcome:
    """A policy on all rows of a chain."""
    clock = VirtualClock(seed, neighbour)
    ledger = Ledger(chain, limit_ns)
    loop = _loop(chain, policy, seed, clock, ledger)
    kept: list[NDArray[np.int64]] = []
    stopped = False
    try:
        start = 0
        for phase, batch in chain.batches:
            ledger.phase = phase
            kept.append(start + np.flatnonzero(loop.process(batch.select(["bits"]))))
            start += batch.num_rows
    except Stopped:
        stopped = True
    if not stopped and not np.array_equal(np.concatenate(kept), chain.kept):
        raise WrongRowsError(chain, policy)
    work = loop.work
    return Outcome(
        work_ns=ledger.spent_ns,
        time_ns=float(clock.now_ns),
        stopped=stopped,
        profiled_ns=float(work.profiling_ns),
        reoptimizing_ns=float(work.reoptimizing_ns),
        trial_rows=work.trial_rows,
        switches=len(work.switches),
        order=tuple(chain.parts[k].name for k in loop.order),
    )


def _loop(chain: Chain, policy: str, seed: int, clock: VirtualClock, ledger: Ledger) -> FilterLoop:
    def function(k: int) -> Callable[[pa.Array], NDArray[np.bool_]]:
        bit = 1 << k

        def call(bits: pa.Array) -> NDArray[np.bool_]:
            clock.pass_by(CALL_NS + ledger.charge(k, len(bits)))
            answer: NDArray[np.bool_] = bits.to_numpy() & bit != 0
            return answer

        return call

    names = [part.name for part in chain.parts]
    plan = FilterPlan(
        tuple(
            predicate(
                function(k), "bits", name=p.name, vectorized=True, after=[names[g] for g in p.after], profile=p.profile
            )
            for k, p in enumerate(chain.parts)
        )
    )
    rng = np.random.default_rng(seed)
    made: Any = make_policy(policy, plan.pipeline, check_policy(policy), rng)
    update = made.update

    def priced(seen: Any) -> Any:
        clock.pass_by(JUDGE_NS if len(seen.profile) else LOOK_NS, noisy=False)
        return update(seen)

    made.update = priced
    return FilterLoop(FilterChain(plan, clock), made, rng)
