"""The sentence that says why `auto` changed an order: what changed, what both filters drop and cost, what it gains.

Answers: the reason of a verdict, for users who see nothing but the report.
How: the sentence compares the two filters at the first position where the orders differ: the share of the rows that get
there which each would drop, and its time per row there, calls included. If what is known of one of them has changed
since the order was chosen, by more than chance and by enough to matter, the sentence begins with that change.

>>> bits = np.array([[0, 1], [0, 1], [1, 1], [1, 1]] * 30, bool)
>>> def model(bits):
...     return CostModel(~bits * 1.0, np.ones(120), 0.0, np.array([10.0, 10.0]), np.zeros(2), 9, Pipeline(("a", "b")))
>>> now, then = KnownFilters.of(model(bits), 120), KnownFilters.of(model(~bits), 120)
>>> walks = [model(bits).walk(order) for order in ((0, 1), (1, 0))]
>>> print(switch_reason(model(bits), *walks, now, before=None))
b before a: of the rows that get there, b drops 100 % at 10 ns per row and a 50 % at 10 ns per row; a row is expected \
to take 10 ns instead of 15 ns, based on 120 profiled rows
>>> switch_reason(model(bits), *walks, now, before=then).partition(";")[0]
'since the order was chosen, the share of all rows that b drops rose from 0.0 % to 100 %'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.evidence import LEAST_DROP, LEAST_PASS
from thalweg.cost.filter_order import CostModel, OrderCosts
from thalweg.formatting import duration, durations, listed, plural, rounded_percent
from thalweg.plan.filters.pipeline import Pipeline

SIGMAS = 4.0
"""A share has changed if it differs by more than this many standard errors..."""
LEAST_CHANGE = 0.1
"""...and by at least this much."""
WARM = 64
"""With fewer profiled rows, costs are still those of first calls."""
OTHER_COST = 1.5
"""A cost has changed if it differs by this factor."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KnownFilters:
    """What was known of the filters at one decision."""

    drops: Numbers
    """The share of all rows that each filter would drop."""
    cost_ns: Numbers
    profiled: int
    """The number of profiled rows that this is based on."""

    @classmethod
    def of(cls, model: CostModel, profiled: int) -> KnownFilters:
        """Take it from the cost model of a decision."""
        return cls((1.0 - model.kept) * _measured(model.drops), model.costs, profiled)

    def change(self, before: KnownFilters, pipeline: Pipeline, filters: tuple[int, ...]) -> str:
        """Return what has clearly changed about the filters as a clause; empty if nothing has. Costs are left out as
        long as few rows were profiled: the first calls take longer than later ones."""
        changes = []
        for k in filters:
            was, now = float(before.drops[k]), float(self.drops[k])
            mean = (was * before.profiled + now * self.profiled) / max(before.profiled + self.profiled, 1)
            variance = mean * (1.0 - mean) * (1.0 / max(before.profiled, 1) + 1.0 / max(self.profiled, 1))
            if abs(now - was) >= LEAST_CHANGE and (now - was) ** 2 > SIGMAS**2 * variance:
                rose = f"{'rose' if now > was else 'fell'} from {rounded_percent(was)} to {rounded_percent(now)}"
                changes.append(f"the share of all rows that {pipeline.names[k]} drops {rose}")
        for k in filters if not changes and before.profiled >= WARM else ():
            cost, earlier = float(self.cost_ns[k]), float(before.cost_ns[k])
            if max(cost, earlier) > OTHER_COST * min(cost, earlier):
                rose = f"{'rose' if cost > earlier else 'fell'} from {duration(earlier)} to {duration(cost)} per row"
                changes.append(f"the measured cost of {pipeline.names[k]} {rose}")
        return f"since the order was chosen, {listed(changes)}; " if changes else ""


def switch_reason(
    model: CostModel,
    old: OrderCosts,
    new: OrderCosts,
    known: KnownFilters,
    before: KnownFilters | None,
    moved: str | None = None,
) -> str:
    """Return why the order of one walk gives way to that of another. `before`: what was known when the old order was
    chosen, or last confirmed. `moved`: what the drift alarm found, if it did."""
    names = model.pipeline.names
    place = next(i for i, (was, now) in enumerate(zip(old.order, new.order, strict=True)) if was != now)
    first, second = new.order[place], old.order[place]
    reach = float(old.reach[place])
    drops = (reach - model.kept) / reach * _measured(model.drops_after(old.order[:place]))

    def at_this_place(k: int) -> str:
        per_row = model.price(k, reach, float(model.costs[k])) / reach
        return f"{rounded_percent(float(drops[k]))} at {duration(per_row)} per row"

    if moved:
        change = f"{moved}; "
    else:
        change = "" if before is None else known.change(before, model.pipeline, (first, second))
    now, then = durations(new.total_ns, old.total_ns)
    return (
        f"{change}{names[first]} before {names[second]}: of the rows that get there, {names[first]} drops "
        f"{at_this_place(first)} and {names[second]} {at_this_place(second)}; a row is expected to take "
        f"{now} instead of {then}, "
        f"based on {plural(known.profiled, 'profiled row')}"
    )


def _measured(drops: Numbers) -> Numbers:
    """Return shares without the hedge that the evidence adds to them."""
    shares: Numbers = np.clip((drops - LEAST_DROP) / (1.0 - LEAST_PASS - LEAST_DROP), 0.0, 1.0)
    return shares
