"""The gatekeeper: changes nothing, refuses what would not run for ever. What a runtime cannot do, it refuses itself."""

from __future__ import annotations

import pyarrow as pa

from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query import time_type
from thalweg.plan.query_plan import Branch, QueryPlan, needed
from thalweg.plan.sql.source_text import SourceText
from thalweg.plan.type_rules import sql_name
from thalweg.plan.window import TICK_NS
from thalweg.stats import NOTHING_KNOWN, Knowledge


def refuse_unrunnable(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Streams that are joined have windows, times that can be compared, and columns of different names."""
    text = SourceText(plan.query.text)
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    if len(streams) > 1:
        for scan in streams:
            if scan.source.window is None:
                raise text.error(
                    scan.source.offset,
                    f"{scan.alias} is joined and has no window, so that its rows would be kept for ever; write "
                    f"{scan.source.relation.name} [RANGE 1 MINUTE], or WINDOW 1 MINUTE at the end",
                )
        _refuse_other_times(text, streams)
    _refuse_parts_of_ticks(text, plan, streams)
    if plan.join is not None:
        _refuse_same_names(text, plan)
    return plan


def _refuse_other_times(text: SourceText, streams: list[Branch]) -> None:
    first = streams[0]
    for scan in streams:
        if (_time(scan).tz is None) != (_time(first).tz is None):
            told = " and ".join(f"{s.alias}.{s.source.relation.time} is {sql_name(_time(s))}" for s in (first, scan))
            raise text.error(
                scan.source.offset, f"the streams' times differ: {told}; cast one of them before it is registered"
            )


def _refuse_parts_of_ticks(text: SourceText, plan: QueryPlan, streams: list[Branch]) -> None:
    """A window of half a second says nothing of times in whole seconds."""
    kind = time_type(plan.query.sources)
    tick_ns = TICK_NS[kind.unit]
    grouping = plan.query.grouping
    for scan in streams:
        window = scan.source.window
        lengths = {}
        if len(streams) > 1 and window is not None and window.length_us is not None:
            lengths[str(window)] = window.length_us
        if grouping is not None:
            lengths[str(grouping.window)] = grouping.window.length_us
            lengths[f"the slide of {grouping.window}"] = grouping.window.slide_us
        for told, us in lengths.items():
            if us * 1000 % tick_ns:
                raise text.error(
                    scan.source.offset,
                    f"{told} is no whole number of ticks of times that are {kind}; write a longer one, or cast the "
                    "time before the stream is registered",
                )


def _refuse_same_names(text: SourceText, plan: QueryPlan) -> None:
    """Of columns of joined rows, which are called after their sources."""
    holders: dict[str, str] = {}
    for scan in plan.scans:
        put_out = needed(plan.after_join, scan.alias)
        made = [*(name for name, _ in scan.computed), *([scan.errors] if scan.errors else [])]
        for column in (*scan.columns, *made):
            name, told = f"{scan.alias}_{column}", f"{scan.alias}.{column}"
            low = name.lower()  # Spark tells no cases apart
            if low == EVENT_TIME and column in put_out:
                holders[low] = "the result's time"
            if low in holders:
                raise text.error(
                    scan.source.offset,
                    f"{told} and {holders[low]} would both be {name!r}; write another name: AS {scan.alias}2",
                )
            holders[low] = told


def _time(scan: Branch) -> pa.DataType:
    assert scan.source.relation.time is not None
    return scan.source.relation.schema.field(scan.source.relation.time).type
