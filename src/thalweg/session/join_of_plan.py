"""The join of a plan as a `Join`: the same adaptive join that `tw.join` makes from text."""

from __future__ import annotations

from thalweg.adaptive_joins import Join
from thalweg.plan.expression import refs
from thalweg.plan.join_condition import Residual
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.query_plan import QueryPlan, needed
from thalweg.plan.window_length import Length
from thalweg.runtime.join_settings import JoinSettings
from thalweg.session.row_windows import MOST_TICKS

NO_TIME = "computed time"
"""A column of the same moment in all rows."""


def join_of(plan: QueryPlan, settings: JoinSettings, *, timeless: bool = False) -> Join:
    """Windows hold what somebody behind the join needs. `timeless`: of one stream with tables, whose rows bring
    `NO_TIME`: its order and its times are of no concern, and a row without a time is a row."""
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
    times, lateness = {}, {}
    for scan in plan.scans:
        relation, window = scan.source.relation, scan.source.window
        if relation.time is None:
            continue
        us = 0 if window is None else _for_ever(plan) if window.length_us is None else window.length_us
        windows[scan.alias] = f"{us} microseconds"
        times[scan.alias] = NO_TIME if timeless else relation.time
        lateness[scan.alias] = f"{relation.lateness_us} microseconds"
    select = tuple(
        f"{scan.alias}.{column}" for scan in plan.scans for column in needed(plan.behind, scan.alias)
    )  # fmt: skip
    on = " AND ".join([*(e.text for e in step.equalities), *(c.text for c in step.residuals)])
    return Join(JoinPlan(on, graph, residuals, windows, times, lateness, select or ("event_time",)), settings)


def _for_ever(plan: QueryPlan) -> int:
    """In microseconds, as long as a window can be."""
    kinds = (s.relation.schema.field(s.relation.time).type for s in plan.query.streams)
    return MOST_TICKS // (1000 if any(kind.unit == "ns" for kind in kinds) else 1)
