"""Move conditions on one source to its scan, so that fewer rows are joined.

A condition that an adaptive chain evaluates may be moved even if it can raise: a row on which it raises is kept, and
fails only if it would be part of a result (`carry_errors`). A condition that Spark itself evaluates fails the query
when it raises. So on Spark, a built-in condition that can raise is moved to the scan only if all conditions written
before it were moved to the same scan, or if windows are joined: their rows go through Python anyway, and the chain
evaluates the condition.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.expressions.expression import aliases, user_functions
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def push_filters(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Move conditions to scans. A condition that reads no source at all (FALSE, NULL) moves to the first scan."""
    first = plan.scans[0].alias
    pushed: dict[str, list[Condition]] = {scan.alias: [] for scan in plan.scans}
    remaining: list[Condition] = []
    moved_to: set[str] = set()
    for condition in plan.conditions:
        of = aliases(condition.expression) or (first,)
        if len(of) == 1 and (_may_fail_later(condition, plan) or moved_to <= {of[0]}):
            pushed[of[0]].append(condition)
            moved_to.add(of[0])
            continue
        if len(of) == 1 and len(plan.scans) > 1:
            plan = plan.noting(
                f"{condition.text} can raise, and Spark evaluates it, so it waits for the conditions written before it "
                "and is checked on joined rows; write it first to filter before the join"
            )
        remaining.append(condition)
        moved_to.add("")
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=(*scan.conditions, *pushed[scan.alias])))
    return plan.with_conditions(tuple(remaining))


def _may_fail_later(condition: Condition, plan: QueryPlan) -> bool:
    """Whether a condition cannot raise, or raises in an adaptive chain."""
    in_chain = plan.engine == "local" or plan.sets_aside or len(plan.query.streams) > 1
    return in_chain or not can_raise(condition.expression) or bool(user_functions(condition.expression))
