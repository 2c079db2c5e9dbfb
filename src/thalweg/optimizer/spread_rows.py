"""By which class of equal columns the rows of a join are spread over Spark's buckets, and which streams are replicated.

A stream without a column of the class is sent to every bucket, so the class is wanted that leaves the fewest rows to be
replicated: that of the most rows per second after filters, where the rates of all streams are known, else that of the
most streams (`partitioning`). The choice is part of a checkpoint: a restart keeps it, whatever is declared then. Spark
knows the sizes of finished DataFrames in bytes, and chooses by them when the join is laid out.
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
    """Of a window join on Spark."""
    join = plan.join
    if plan.engine != "spark" or not isinstance(join, WindowJoin):
        return plan
    tables = [source.alias for source in sources_of(join) if not source.relation.is_stream]
    streams = {alias: source for alias, source in plan.estimates.sources.items() if alias not in tables}
    known = {alias: rate for alias, source in streams.items() if (rate := arriving(source)) is not None}
    filtered = any(source.kept is not None for source in streams.values())
    unit = "rows per second" + (" after filters" if filtered else "")
    by = Partitioning.of(join_graph(join), tables, known, unit)  # which counts streams unless all rates are known
    return plan.with_join(replace(join, spread_by=SpreadBy(tuple(by.columns.items()), by.replicated, by.reason)))
