"""The join of a query's plan as a `JoinPlan`: what `tw.join` makes from its arguments."""

from __future__ import annotations

from thalweg.plan.expression import refs
from thalweg.plan.join_condition import Residual
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.join_select import entry_of
from thalweg.plan.nodes import Scan, WindowJoin, sources_of, walk
from thalweg.plan.query import Source
from thalweg.plan.window_length import Length


def window_join_plan(join: WindowJoin, *, timeless: bool = False) -> JoinPlan:
    """`timeless`: of one stream with tables, whose rows bring the column `no_time`. Neither their order nor their times
    matter, and a row without a time is a row."""
    rank = {alias: n for n, alias in enumerate(join.order)}
    equalities = sorted(
        (sorted((e.one, e.other), key=lambda key: rank[key[0]]) for e in join.equalities),
        key=lambda ends: [rank[end[0]] for end in ends],
    )
    graph = JoinGraph.of([(*one, *other) for one, other in equalities], join.order)
    residuals = tuple(
        Residual(c.text, tuple((ref.alias, ref.column) for ref in refs(c.expression)), c.expression)
        for c in join.residuals
    )
    windows: dict[str, Length] = {}
    times, lateness, ends = {}, {}, {}
    for source in sources_of(join):
        relation, window = source.relation, source.window
        if relation.time is None:
            continue
        if last_rows(join, source) is None:
            windows[source.alias] = f"{0 if window is None else window.length_us or 0} microseconds"
        else:
            ends[source.alias] = end_of(source)
        times[source.alias] = no_time(source) if timeless else relation.time
        lateness[source.alias] = f"{relation.lateness_us} microseconds"
    select = tuple(entry_of(alias, column) for alias, column in join.keeps)
    on = " AND ".join([*(e.text for e in join.equalities), *(c.text for c in join.residuals)])
    return JoinPlan(on, graph, residuals, windows, times, lateness, select or ("event_time",), ends=ends)


def is_timeless(join: WindowJoin) -> bool:
    """Whether no row can be late: one stream is joined with tables, and nothing is kept of it."""
    return not any(scan.judges_lateness for scan in walk(join) if isinstance(scan, Scan))


def no_time(source: Source) -> str:
    """The name of a column that holds the same moment in all rows."""
    return source.relation.unused("computed time")


def end_of(source: Source) -> str:
    """The name of a column with the time from which on a row is no longer among the last rows of its stream."""
    return source.relation.unused("end of row")


def last_rows(join: WindowJoin, source: Source) -> int | None:
    """The rows of a source's window; None: it is a window of time, or its rows meet no later ones."""
    streams = sum(each.relation.is_stream for each in sources_of(join))
    return None if source.window is None or streams == 1 else source.window.rows
