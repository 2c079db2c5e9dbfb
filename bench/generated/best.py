"""The exact work of an order, and the orders of least work: over all rows, and in each phase.

Work is evaluations times the true cost per row of the phase, plus calls times the true fixed cost. Rows alive and
calls made after a set of predicates depend on the set alone (`thalweg.cost.pipeline`), so the best order is exact for
all chains, up to 16 predicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.generated.spec import Chain, Order
from thalweg.cost.pipeline import alive_after, calls_after, cheapest_order


@dataclass(frozen=True)
class Hindsight:
    """The best orders, which are known only in hindsight. Work is in ns."""

    steps: tuple[NDArray[np.float64], ...]
    """For each phase, the cost of predicate k after each set of predicates."""
    fixed_order: Order
    fixed_ns: float
    phase_orders: tuple[Order, ...]
    phase_ns: float
    """The sum over the phases, each in its best order."""

    def work_ns(self, order: Order) -> float:
        """Return the work of one order for all rows."""
        done, total = 0, 0.0
        for k in order:
            total += sum(float(steps[k, done]) for steps in self.steps)
            done |= 1 << k
        return total


def extreme_order(chain: Chain, *, worst: bool) -> Order:
    """The fixed order of most or least work; both respect the guards."""
    known = hindsight(chain)
    if not worst:
        return known.fixed_order
    return cheapest_order(sum(known.steps, np.zeros_like(known.steps[0])), chain.guards, worst=True)[0]


def hindsight(chain: Chain) -> Hindsight:
    """Return the best orders of a chain."""
    n = len(chain.parts)
    dropped = ~chain.codes & (1 << n) - 1
    steps = []
    for number, phase in enumerate(chain.phases):
        codes = dropped[phase.start : phase.start + phase.rows]
        step = np.outer(chain.cost_ns[number], alive_after(codes, n))
        if chain.fixed_ns.any():
            step += np.outer(chain.fixed_ns, calls_after(codes, n, chain.slice_starts(phase)))
        steps.append(step)
    order, least = cheapest_order(sum(steps, np.zeros_like(steps[0])), chain.guards)
    by_phase = [cheapest_order(step, chain.guards) for step in steps]
    return Hindsight(
        tuple(steps), order, least, tuple(found for found, _ in by_phase), sum(cost for _, cost in by_phase)
    )
