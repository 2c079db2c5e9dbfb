"""Choose which sub-joins a window join keeps at first (`joins/start_plan`), from what is known about its sources.

It is chosen for the memory and the buckets of the place where the query will run. If these are not known, the choice is
left open, and the plan cannot run yet. No row of the result depends on it, nor does the state in a checkpoint, so a
restart chooses anew for the buckets of its checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from thalweg.kernels.columns import plain_schema
from thalweg.kernels.key_words import hashed_classes, key_kinds
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity, in_seconds, neighbors
from thalweg.optimizer.joins.start_plan import start_plan
from thalweg.optimizer.rules.estimate_sources import held_rows
from thalweg.plan.estimate import Estimate
from thalweg.plan.joins.join_plan import JoinPlan, held_columns, widths_of, window_join_plan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.query.nodes import WindowJoin
from thalweg.plan.query.plan_estimates import PlanEstimates, SourceEstimates
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def choose_kept(plan: QueryPlan, known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose the sub-joins that the join of a plan keeps at first."""
    join, limits = plan.join, known.limits
    if limits is None or not isinstance(join, WindowJoin):
        return plan
    joined = window_join_plan(join)
    estimates = estimates_of_query(joined, plan.estimates).with_columns(_widths(join, joined))
    if plan.engine == "spark":
        spread_by = Partitioning.by(joined.graph, joined.spread_by, joined.tables)
        spread_by = spread_by or Partitioning.of(joined.graph, joined.tables)
        estimates = estimates.in_buckets(spread_by, limits.buckets)
    return plan.with_join(replace(join, kept=start_plan(estimates, plan.wanted, limits)))


def _widths(join: WindowJoin, plan: JoinPlan) -> Mapping[str, Mapping[str, float]]:
    """Return the widths of the columns that the windows of a join will hold."""
    schemas = {Branch.of(node).alias: plain_schema(node.schema) for node in join.inputs}
    hashed = hashed_classes(plan.graph, key_kinds(plan.graph, schemas))
    return widths_of(held_columns(plan, schemas, join.keeps, hashed))


def estimates_of_query(plan: JoinPlan, estimates: PlanEstimates) -> JoinEstimates:
    """Return the estimates of the join of a query, from those of its sources."""
    late = max((in_seconds(length) for length in plan.lateness.values()), default=0.0)
    quantities: dict[Quantity, Estimate] = {}
    seconds: dict[str, float] = {}
    for alias in plan.graph.aliases:
        source = estimates.sources.get(alias, SourceEstimates())
        if alias in plan.times and source.rows_per_second is not None:
            rate = source.rows_per_second
            quantities["rate", alias] = rate if source.kept is None else rate * source.kept
        if alias in plan.windows:
            seconds[alias] = in_seconds(plan.windows[alias]) + late
        elif (rows := held_rows(source)) is not None:
            quantities["held", alias] = rows
    for pair in neighbors(plan.graph):
        if frozenset(pair) in estimates.shares:
            quantities["share", *pair] = estimates.shares[frozenset(pair)]
    return JoinEstimates(plan.graph, plan.streams, quantities, seconds)
