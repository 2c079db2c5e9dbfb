"""The join of a plan as a `Join`: the same adaptive join that `tw.join` makes from text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.adaptive_joins import Join
from thalweg.plan.expression import refs
from thalweg.plan.join_condition import Residual
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.join_select import entry_of
from thalweg.plan.query_plan import QueryPlan, Scan, needed
from thalweg.plan.window_length import Length


def join_of(plan: QueryPlan, given: Mapping[str, Any], *, timeless: bool = False) -> Join:
    """`given` are settings of the join; others are read when it is applied, as those of `tw.join` are. Windows hold
    what somebody behind the join needs. `timeless`: of one stream with tables, whose rows bring
    the column `no_time`: its order and its times are of no concern, and a row without a time is a row."""
    assert plan.join is not None
    step = plan.join
    rank = {alias: n for n, alias in enumerate(step.order)}
    equalities = sorted(
        (sorted((e.one, e.other), key=lambda key: rank[key[0]]) for e in step.equalities),
        key=lambda ends: [rank[end[0]] for end in ends],
    )
    graph = JoinGraph.of([(*one, *other) for one, other in equalities], step.order)
    residuals = tuple(
        Residual(c.text, tuple((ref.alias, ref.column) for ref in refs(c.expression)), c.expression)
        for c in step.residuals
    )
    windows: dict[str, Length] = {}
    times, lateness, ends = {}, {}, {}
    for scan in plan.scans:
        relation, window = scan.source.relation, scan.source.window
        if relation.time is None:
            continue
        if rows_of(plan, scan) is None:
            windows[scan.alias] = f"{0 if window is None else window.length_us or 0} microseconds"
        else:
            ends[scan.alias] = end_of(scan)
        times[scan.alias] = no_time(scan) if timeless else relation.time
        lateness[scan.alias] = f"{relation.lateness_us} microseconds"
    select = tuple(
        entry_of(scan.alias, column) for scan in plan.scans for column in needed(plan.behind, scan.alias)
    )  # fmt: skip
    on = " AND ".join([*(e.text for e in step.equalities), *(c.text for c in step.residuals)])
    return Join(JoinPlan(on, graph, residuals, windows, times, lateness, select or ("event_time",), ends=ends), given)


def no_time(scan: Scan) -> str:
    """A column of the same moment in all rows."""
    return scan.source.relation.unused("computed time")


def end_of(scan: Scan) -> str:
    """A column with the time from which on a row is not among the last of its stream any more."""
    return scan.source.relation.unused("end of row")


def rows_of(plan: QueryPlan, scan: Scan) -> int | None:
    """Of its window; None: it is one of time, or its rows meet no later ones, and each is the last at its time."""
    if scan.source.window is None or len(plan.query.streams) == 1:
        return None
    return scan.source.window.rows
