"""The gatekeeper: changes nothing, refuses what would not run for ever. What a runtime cannot do, it refuses itself."""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.plan.query_plan import QueryPlan


def refuse_unrunnable(plan: QueryPlan) -> QueryPlan:
    """Streams that are joined have windows; what is grouped has, too."""
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    for scan in streams:
        if len(streams) > 1 and scan.source.window is None:
            raise PlanError(
                f"{scan.alias} is joined and has no window: its rows would be kept for ever; write [RANGE ...]"
            )
    return plan
