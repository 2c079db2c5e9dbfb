"""The gatekeeper: changes nothing, refuses what would not run for ever. What a runtime cannot do, it refuses itself."""

from __future__ import annotations

import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query_plan import QueryPlan, Scan, needed
from thalweg.plan.type_rules import sql_name


def refuse_unrunnable(plan: QueryPlan) -> QueryPlan:
    """Streams that are joined have windows; what is grouped has, too."""
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    for scan in streams:
        if len(streams) > 1 and scan.source.window is None:
            raise PlanError(
                f"{scan.alias} is joined and has no window: its rows would be kept for ever; write [RANGE ...]"
            )
    times = {f"{scan.alias}.{scan.source.relation.time}": _kind(scan) for scan in streams}
    if len(streams) > 1 and len({kind.tz is None for kind in times.values()}) > 1:
        told = ", ".join(f"{column} is {sql_name(kind)}" for column, kind in times.items())
        raise PlanError(f"the streams' times differ: {told}; cast one of them before it is registered")
    if plan.join is not None:
        _refuse_same_names(plan)
    return plan


def _kind(scan: Scan) -> pa.DataType:
    assert scan.source.relation.time is not None
    return scan.source.relation.schema.field(scan.source.relation.time).type


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
