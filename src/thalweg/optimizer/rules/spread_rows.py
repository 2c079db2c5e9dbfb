"""Choose the class of equal columns that spreads the rows of a join over Spark's buckets, and the replicated streams.

Answers: the class of which the buckets together hold the fewest rows. A stream without a column of the class is sent to
every bucket, and each of them holds its rows, so this is the class whose streams hold the most rows, for any number of
buckets above one (`partitioning`).
Guarantee: the fewest rows of all classes if the numbers of all streams are known, by the model below. If one is not
known, the class with the most streams; if windows hold no rows, the class with the most rows per second.
Cost: a few operations per stream and class.

A row is held until the watermark of the query has passed the end of its window. That is the smallest over all streams,
so it waits for the stream with the largest lateness: a stream holds its rows per second, after filters, times its
window and that lateness; a window of rows holds these instead. Rows of the round that is being joined are not counted.

The choice is part of a checkpoint. A restart of a query of SQL keeps it, whatever statistics are declared then. For
finished DataFrames, Spark knows their sizes in bytes, and the choice by size is made when the join is laid out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from thalweg.optimizer.rules.choose_order import arriving
from thalweg.plan.joins.join_plan import JoinPlan, join_graph, last_rows
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.joins.window import Length, length_of
from thalweg.plan.query.nodes import SpreadBy, WindowJoin, sources_of
from thalweg.plan.query.plan_estimates import SourceEstimates
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge, RowsPerSecond, SourceKept

IN_WINDOWS = "rows in windows"


def spread_rows(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose how a window join on Spark spreads its rows."""
    join = plan.join
    if plan.engine != "spark" or not isinstance(join, WindowJoin):
        return plan
    tables = [source.alias for source in sources_of(join) if not source.relation.is_stream]
    streams = {alias: source for alias, source in plan.estimates.sources.items() if alias not in tables}
    sizes, unit = _held_in_query(plan, join), IN_WINDOWS
    if not sum(sizes.values()):
        sizes = {alias: rate for alias, source in streams.items() if (rate := arriving(source)) is not None}
        unit = "rows per second"
    filtered = any(source.kept is not None for source in streams.values())
    by = Partitioning.of(join_graph(join), tables, sizes, unit + (" after filters" if filtered else ""))
    return plan.with_join(replace(join, spread_by=SpreadBy(tuple(by.columns.items()), by.replicated, by.reason)))


def _held_in_query(plan: QueryPlan, join: WindowJoin) -> dict[str, float]:
    """Return the rows that each stream of a query holds, without those of which it is unknown."""
    sources = {source.alias: source for source in sources_of(join) if source.relation.is_stream}
    late = max((source.relation.lateness_us for source in sources.values()), default=0) / 1e6
    held = {}
    for alias, source in sources.items():
        estimates = plan.estimates.sources.get(alias, SourceEstimates())
        rate, kept = arriving(estimates), 1.0 if estimates.kept is None else estimates.kept.value
        rows = last_rows(join, source)
        if rows is not None and (rate is not None or not late):
            held[alias] = rows * kept + (rate or 0.0) * late
        elif rows is None and rate is not None:
            length = 0 if source.window is None else source.window.length_us or 0
            held[alias] = rate * (length / 1e6 + late)
    return held


def rows_held(plan: JoinPlan, known: Knowledge) -> Mapping[str, float] | None:
    """Return the rows that each stream of a join without SQL holds; None if that of one is unknown, or if none holds
    any.

    >>> plan = JoinPlan.of("a.k = b.k", {"a": "10 seconds", "b": "1 minute"}, {"a": "t", "b": "t"}, "5 seconds")
    >>> known = Knowledge.declared("a", rows_per_second=20).merged(Knowledge.declared("b", rows_per_second=2))
    >>> rows_held(plan, known)
    {'a': 300.0, 'b': 130.0}
    """
    late = max(_seconds(plan.lateness[alias]) for alias in plan.streams)
    held = {}
    for alias in plan.streams:
        rate, kept = known.about(RowsPerSecond(alias)), known.about(SourceKept(alias))
        if rate is None or alias not in plan.windows:
            return None
        share = 1.0 if kept is None else kept.value
        held[alias] = rate.value * share * (_seconds(plan.windows[alias]) + late)
    return held if sum(held.values()) else None


def _seconds(length: Length) -> float:
    """Return a length in seconds. A whole number is in units of the times, one of which counts as a second."""
    if isinstance(length, int | float | np.number):
        return float(length)
    return length_of(length, "us") / 1e6
