"""Choose the class of equal columns that spreads the rows of a join over Spark's buckets, and the replicated streams.

A stream without a column of the class is sent to every bucket, so the best class leaves the fewest rows to replicate:
the class with the most rows per second after filters if the rates of all streams are known, else the class with the
most streams (`partitioning`). The choice is part of a checkpoint: a restart keeps it, whatever statistics are declared
then. For finished DataFrames, Spark knows their sizes in bytes, and the choice by size is made when the join is laid
out.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.optimizer.choose_order import arriving
from thalweg.plan.join_plan import join_graph
from thalweg.plan.nodes import SpreadBy, WindowJoin, sources_of
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def spread_rows(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose how a window join on Spark spreads its rows."""
    join = plan.join
    if plan.engine != "spark" or not isinstance(join, WindowJoin):
        return plan
    tables = [source.alias for source in sources_of(join) if not source.relation.is_stream]
    streams = {alias: source for alias, source in plan.estimates.sources.items() if alias not in tables}
    known = {alias: rate for alias, source in streams.items() if (rate := arriving(source)) is not None}
    filtered = any(source.kept is not None for source in streams.values())
    unit = "rows per second" + (" after filters" if filtered else "")
    by = Partitioning.of(join_graph(join), tables, known, unit)  # it counts streams unless all rates are known
    return plan.with_join(replace(join, spread_by=SpreadBy(tuple(by.columns.items()), by.replicated, by.reason)))
