"""Conditions over one source go to its scan, so that fewer rows are joined.

A condition that can raise stays behind all that are written before it, since these may keep it from rows on which it
would raise: it goes to a scan only if all of them did, to the same one.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.expression import aliases
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
        raises = can_raise(condition.expression)
        if len(of) == 1 and (not raises or went <= {of[0]}):
            pushed[of[0]].append(condition)
            went.add(of[0])
            continue
        if len(of) == 1 and len(plan.scans) > 1:
            plan = plan.noting(
                f"{condition.text} can raise, so it waits for what is written before it, and sees joined rows only; "
                "write it first, or declare its functions safe, to filter earlier"
            )
        stay.append(condition)
        went.add("")
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=(*scan.conditions, *pushed[scan.alias])))
    return plan.with_conditions(tuple(stay))
