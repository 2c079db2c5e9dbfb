"""Runs on a virtual clock: predicates do not spend real time but advance the clock by their cost, with noise.

The work of hundreds of chains is then known in minutes, even on busy cores, and is the same on every machine. There are
two clocks, as in real runs: wall time and CPU time. CPU time does not advance while the process is descheduled. An
update of a policy has the cost that was measured (`prices.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import thalweg as tw
from bench.generated.ledger import Ledger, Stopped
from bench.generated.outcome import Outcome, WrongRowsError
from bench.generated.prices import AUTO, DECISION, UPDATE
from bench.generated.spec import Chain, Order, as_written
from thalweg import predicate
from thalweg.adapt import make_policy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

CALL_NS = 6_000
"""The fixed cost of calling a predicate; it advances the clock but is not part of the work."""
NOISE = 0.05
"""The standard deviation of the logarithm of the ratio of a call's time to its nominal time."""
EVERY_NS, AWAY_NS = 1e8, (1e6, 5e6)
"""How often and for how long the process is descheduled; this affects wall time but not CPU time."""


class VirtualClock:
    """Wall time and CPU time that only predicates and policies advance."""

    def __init__(self, seed: int) -> None:
        self.now_ns = self.cpu_ns = 0
        self._rng = np.random.default_rng(seed)
        self._factors: list[float] = []
        self._away_at = float(self._rng.exponential(EVERY_NS))

    def __call__(self) -> int:
        """Return the current wall time."""
        return self.now_ns

    def cpu(self) -> int:
        """Return the CPU time of the process."""
        return self.cpu_ns

    def pass_by(self, ns: float, noisy: bool = True) -> None:
        """Advance the clock by some work, at the current speed."""
        if noisy:
            ns *= self._factor()
        self.cpu_ns += int(ns)
        if self.now_ns + ns > self._away_at:
            ns += float(self._rng.uniform(*AWAY_NS))
            self._away_at = self.now_ns + ns + float(self._rng.exponential(EVERY_NS))
        self.now_ns += int(ns)

    def _factor(self) -> float:
        if not self._factors:  # many at once: drawing one costs more than the call it is for
            self._factors = np.exp(self._rng.normal(0.0, NOISE, 4096)).tolist()
        return self._factors.pop()


def run_orders(chain: Chain, orders: Sequence[Order], seed: int = 1) -> Outcome:
    """Run one order for all rows, or one per phase, in the same loop."""
    if len(orders) == 1:
        return run_virtual(as_written(chain, orders[0]), "static", seed)
    parts = [run_virtual(as_written(chain.only(number), order), "static", seed) for number, order in enumerate(orders)]
    return Outcome(sum(part.work_ns for part in parts), sum(part.time_ns for part in parts), False)


def run_virtual(chain: Chain, policy: str, seed: int, limit_ns: float = math.inf) -> Outcome:
    """Run a policy on all rows of a chain."""
    clock = VirtualClock(seed)
    ledger = Ledger(chain, limit_ns)
    loop = virtual_loop(chain, policy, seed, clock, ledger)
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
        profiled_ns=float(work.times.profiling_ns),
        reoptimizing_ns=float(work.times.reoptimizing_ns),
        trial_rows=work.trials.rows,
        switches=len(work.switches),
        order=tuple(chain.parts[k].name for k in loop.order),
    )


def virtual_loop(
    chain: Chain, policy: str, seed: int, clock: VirtualClock, ledger: Ledger
) -> FilterLoop[pa.RecordBatch]:
    """Return a loop whose predicates and policy advance the clock."""

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
    made: Any = make_policy(policy, plan.pipeline, tw.policy(policy).settings, rng)
    price_updates(made, clock)
    return FilterLoop(FilterChain(plan, clock, cpu_clock=clock.cpu), made, rng)


def price_updates(policy: Any, clock: VirtualClock) -> None:
    """Make every update of a policy advance the clock by its cost."""
    update, n = policy.update, len(policy.order)

    def priced(seen: Any) -> Any:
        decisions = policy._decisions if policy.name == AUTO else 0
        verdict = update(seen)
        if policy.name == AUTO and policy._decisions > decisions:
            price_ns = DECISION.ns(n, len(policy.evidence.window))
        else:
            price_ns = UPDATE[policy.name].ns(n)
        clock.pass_by(price_ns, noisy=False)
        return verdict

    policy.update = priced
