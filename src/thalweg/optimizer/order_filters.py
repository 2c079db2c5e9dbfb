"""In which order filters are tried first: by what a row costs over the share it drops, least first.

That is the order that costs least when filters say nothing about each other (a-greedy, section 2). Costs are those the
user declares of functions; an expression of Arrow's or Spark's own costs next to nothing. Where the cost of a function
is not declared, or the policy asks for it, the written order stands. A condition that can raise comes after all that
are written before it. While the stream runs, what is counted replaces all of this.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from thalweg.optimizer.shares import UNKNOWN, share_of
from thalweg.plan.expression import UserCall, walk
from thalweg.plan.functions import can_raise
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import Statistics

BUILT_IN_US = 0.01
"""What a row costs without a function of the user's: some hundred million a second."""
LEAST_DROPPED = 1e-6


def order_filters(plan: QueryPlan) -> QueryPlan:
    """Of every source, and of joined rows."""
    if plan.policy == "written":
        return plan
    for scan in plan.scans:
        ordered = _ordered(scan.conditions, scan.source.relation.statistics)
        if ordered != scan.conditions:
            plan = plan.with_scan(replace(scan, conditions=ordered)).noting(_told(scan.alias))
    ordered = _ordered(plan.conditions, None)
    if ordered != plan.conditions:
        plan = plan.with_conditions(ordered).noting(_told("joined rows"))
    return plan


def _ordered(conditions: Sequence[Condition], statistics: Statistics | None) -> tuple[Condition, ...]:
    costs = {condition.place: _cost_us(condition) for condition in conditions}
    if None in costs.values():
        return tuple(conditions)
    ranks = [(costs[c.place] or 0.0) / _dropped(c, statistics) for c in conditions]
    waits = [can_raise(c.expression) for c in conditions]
    ready = [(rank, n) for n, rank in enumerate(ranks) if not waits[n]]
    heapq.heapify(ready)
    ordered: list[int] = []
    tried: set[int] = set()
    first = 0  # all written before it are tried
    while len(ordered) < len(conditions):
        while first in tried:
            first += 1
        if first < len(conditions) and waits[first]:
            heapq.heappush(ready, (ranks[first], first))
            waits[first] = False
        ordered.append(heapq.heappop(ready)[1])
        tried.add(ordered[-1])
    return tuple(conditions[n] for n in ordered)


def _cost_us(condition: Condition) -> float | None:
    """Of a row; None: nobody has said."""
    calls = [part for part in walk(condition.expression) if isinstance(part, UserCall)]
    costs = [part.cost_us for part in calls]
    return None if None in costs else BUILT_IN_US + sum(cost for cost in costs if cost is not None)


def _dropped(condition: Condition, statistics: Statistics | None) -> float:
    """What is only assumed is the same of all: it says nothing about which is better."""
    share = share_of(condition.expression, statistics)
    return max(1 - (share.value if share.declared else UNKNOWN), LEAST_DROPPED)


def _told(where: str) -> str:
    return f"filters of {where}: first tried by declared cost over the share they drop, not as written"
