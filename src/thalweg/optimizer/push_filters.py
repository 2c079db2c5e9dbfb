"""Conditions over one source go to its scan, so that fewer rows are joined.

What an adaptive chain evaluates may go there whatever it raises: a row on which it does travels on, and fails only if
a result would have it (`carry_errors`). What Spark itself evaluates fails the query when it raises. So on Spark a
built-in condition that can raise goes to the scan only if all that are written before it did, to the same one, or if
windows are joined, whose rows go through Python anyway: there it is evaluated by the chain.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.expression import aliases, user_functions
from thalweg.plan.functions import can_raise
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def push_filters(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """What speaks of no source at all (FALSE, NULL) goes to the first."""
    first = plan.scans[0].alias
    pushed: dict[str, list[Condition]] = {scan.alias: [] for scan in plan.scans}
    stay: list[Condition] = []
    went: set[str] = set()
    for condition in plan.conditions:
        of = aliases(condition.expression) or (first,)
        if len(of) == 1 and (_may_fail_later(condition, plan) or went <= {of[0]}):
            pushed[of[0]].append(condition)
            went.add(of[0])
            continue
        if len(of) == 1 and len(plan.scans) > 1:
            plan = plan.noting(
                f"{condition.text} can raise, and Spark evaluates it, so it waits for the conditions written before it "
                "and is checked on joined rows; write it first to filter before the join"
            )
        stay.append(condition)
        went.add("")
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=(*scan.conditions, *pushed[scan.alias])))
    return plan.with_conditions(tuple(stay))


def _may_fail_later(condition: Condition, plan: QueryPlan) -> bool:
    """Whether it raises nowhere, or in a chain."""
    in_chain = plan.engine == "local" or plan.sets_aside or len(plan.query.streams) > 1
    return in_chain or not can_raise(condition.expression) or bool(user_functions(condition.expression))
