"""Choose the first order of filters: by the cost per row divided by the share of rows that a filter drops, lowest
first.

If filters are independent, this order is the cheapest (a-greedy, section 2). The costs are those that the user declares
for functions; an expression of Arrow or Spark costs almost nothing. If the cost of a function is not declared, or if
the policy requires it, the written order is kept. A condition comes after its guards (`guards_of`). While the stream
runs, measured values replace these estimates.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from thalweg.optimizer.rules.estimate_sources import UNKNOWN, share_kept
from thalweg.plan.estimate import Estimate
from thalweg.plan.expressions.expression import UserCall, walk
from thalweg.plan.query.query import Condition, guards_of
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, CostUs, Knowledge

BUILT_IN_US = 0.01
"""The cost per row of a condition without a user function: about a hundred million rows per second."""
LEAST_DROPPED = 1e-6


def order_filters(plan: QueryPlan, known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose the first order of the filters of every source and of joined rows."""
    conditions = [*plan.conditions, *(condition for scan in plan.scans for condition in scan.conditions)]
    costs = {name: cost for name in _functions(conditions) if (cost := known.about(CostUs(name))) is not None}
    plan = replace(plan, estimates=replace(plan.estimates, costs_us=costs))
    if plan.policy == "static":
        return plan
    for scan in plan.scans:
        ordered = _ordered(scan.conditions, known, scan.source.relation.name)
        if ordered != scan.conditions:
            plan = plan.with_scan(replace(scan, conditions=ordered)).noting(_note(scan.alias))
    ordered = _ordered(plan.conditions, known, None)
    if ordered != plan.conditions:
        plan = plan.with_conditions(ordered).noting(_note("joined rows"))
    return plan


def _ordered(conditions: Sequence[Condition], known: Knowledge, relation: str | None) -> tuple[Condition, ...]:
    costs = [cost_us(condition, known) for condition in conditions]
    if None in costs:
        return tuple(conditions)
    dropped = [_dropped(condition, known, relation) for condition in conditions]
    ranks = [cost.value / share for cost, share in zip(costs, dropped, strict=True) if cost is not None]
    waits = [set(guards) for guards in guards_of(conditions)]
    ready = [(rank, n) for n, rank in enumerate(ranks) if not waits[n]]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        _, tried = heapq.heappop(ready)
        ordered.append(tried)
        for n, guards in enumerate(waits):
            if tried in guards:
                guards.discard(tried)
                if not guards:
                    heapq.heappush(ready, (ranks[n], n))
    return tuple(conditions[n] for n in ordered)


def _functions(conditions: Sequence[Condition]) -> list[str]:
    """Return the names of the user functions that conditions call, one entry per call."""
    return [part.function for each in conditions for part in walk(each.expression) if isinstance(part, UserCall)]


def cost_us(condition: Condition, known: Knowledge) -> Estimate | None:
    """Return the cost of a condition per row, or None if it is unknown."""
    total = Estimate(BUILT_IN_US, "assumed", low=0)
    for name in _functions([condition]):
        cost = known.about(CostUs(name))
        if cost is None:
            return None
        total = total + cost
    return total


def _dropped(condition: Condition, known: Knowledge, relation: str | None) -> float:
    """Return the share of rows that a condition drops. An assumed share counts as the same for all conditions, because
    it does not say which one is better."""
    share = share_kept(condition, known, relation)
    return max(1 - (UNKNOWN if share.origin == "assumed" else share.value), LEAST_DROPPED)


def _note(rows: str) -> str:
    return f"filters of {rows}: ordered at first by declared cost over the share they drop, not as written"
