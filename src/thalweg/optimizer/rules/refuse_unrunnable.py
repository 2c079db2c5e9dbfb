"""Refuse plans that cannot run indefinitely, and change nothing. A runtime itself refuses what it does not support."""

from __future__ import annotations

import pyarrow as pa

from thalweg.plan.expressions.type_rules import sql_name
from thalweg.plan.joins.select import EVENT_TIME
from thalweg.plan.joins.window import TICK_NS
from thalweg.plan.query.query import time_type
from thalweg.plan.query.query_plan import Branch, QueryPlan, needed
from thalweg.plan.sql.source_text import SourceText
from thalweg.stats import NOTHING_KNOWN, Knowledge


def refuse_unrunnable(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Check that joined streams have windows, comparable times, and columns with different names."""
    text = SourceText(plan.query.text)
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    if len(streams) > 1:
        for scan in streams:
            if scan.source.window is None:
                raise text.error(
                    scan.source.offset,
                    f"{scan.alias} is joined but has no window, so its rows would be kept indefinitely; write "
                    f"{scan.source.relation.name} [RANGE 1 MINUTE], or WINDOW 1 MINUTE at the end",
                )
        _refuse_different_time_types(text, streams)
    _refuse_fractions_of_ticks(text, plan, streams)
    if plan.join is not None:
        _refuse_same_names(text, plan)
    return plan


def _refuse_different_time_types(text: SourceText, streams: list[Branch]) -> None:
    first = streams[0]
    for scan in streams:
        if (_time(scan).tz is None) != (_time(first).tz is None):
            types = " and ".join(f"{s.alias}.{s.source.relation.time} is {sql_name(_time(s))}" for s in (first, scan))
            raise text.error(
                scan.source.offset,
                f"the time columns of the streams differ in type: {types}; cast one of them before registering it",
            )


def _refuse_fractions_of_ticks(text: SourceText, plan: QueryPlan, streams: list[Branch]) -> None:
    """Refuse a length that is not a whole number of ticks, such as half a second for times in whole seconds."""
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
        for length, us in lengths.items():
            if us * 1000 % tick_ns:
                raise text.error(
                    scan.source.offset,
                    f"{length} is not a whole number of ticks of a time of type {kind}; write a longer one, or cast "
                    "the time before registering the stream",
                )


def _refuse_same_names(text: SourceText, plan: QueryPlan) -> None:
    """Refuse two columns of joined rows that would have the same name, `<alias>_<column>`."""
    holders: dict[str, str] = {}
    for scan in plan.scans:
        read_after_join = needed(plan.after_join, scan.alias)
        made = [*(name for name, _ in scan.computed), *([scan.errors] if scan.errors else [])]
        for column in (*scan.columns, *made):
            name, source = f"{scan.alias}_{column}", f"{scan.alias}.{column}"
            low = name.lower()  # Spark ignores case
            if low == EVENT_TIME and column in read_after_join:
                holders[low] = "the time of the result"
            if low in holders:
                raise text.error(
                    scan.source.offset,
                    f"{source} and {holders[low]} would both be named {name!r}; write another alias: AS {scan.alias}2",
                )
            holders[low] = source


def _time(scan: Branch) -> pa.DataType:
    assert scan.source.relation.time is not None
    return scan.source.relation.schema.field(scan.source.relation.time).type
