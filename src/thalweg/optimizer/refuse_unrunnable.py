"""The gatekeeper: changes nothing, refuses what would not run for ever. What a runtime cannot do, it refuses itself."""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query_plan import QueryPlan, needed


def refuse_unrunnable(plan: QueryPlan) -> QueryPlan:
    """Streams that are joined have windows; what is grouped has, too."""
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    for scan in streams:
        if len(streams) > 1 and scan.source.window is None:
            raise PlanError(f"{scan.alias} is joined and has no window: its rows would be kept for ever; write [RANGE ...]")
    if plan.join is not None:
        _refuse_same_names(plan)
    return plan


def _refuse_same_names(plan: QueryPlan) -> None:
    """Of columns of joined rows, which are called after their sources."""
    holders = {EVENT_TIME: "the result's time"}
    for scan in plan.scans:
        for column in needed(plan.behind, scan.alias):
            name, told = f"{scan.alias}_{column}", f"{scan.alias}.{column}"
            if name in holders:
                raise PlanError(
                    f"{told} and {holders[name]} would both be {name!r}; write another name: AS {scan.alias}2"
                )
            holders[name] = told
