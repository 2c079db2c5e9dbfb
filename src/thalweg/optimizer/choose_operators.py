"""Who does what: Arrow, the user's own functions, Spark's JVM and operators, or the adaptive join.

On Spark a filter of Spark's own words runs in the JVM, before rows travel to Python, unless it can raise and something
written before it is Python's: then it waits for that, and Arrow evaluates it in the worker. One stream with tables
is joined by Spark, which keeps nothing of the stream and needs no help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thalweg.plan.expression import user_functions
from thalweg.plan.functions import can_raise
from thalweg.plan.nodes import TableJoin
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def choose_operators(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Of filters and the join; groups and projections are the engine's own."""
    on_spark = plan.engine == "spark"
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=_placed(scan.conditions, on_spark)))
    join = plan.join
    if join is not None and on_spark and len(plan.query.streams) == 1:
        plan = plan.with_join(TableJoin(join.inputs, join.equalities, join.residuals, join.order, join.why, join.keeps))
    return plan.with_conditions(_placed(plan.conditions, on_spark))


def _placed(conditions: Sequence[Condition], on_spark: bool) -> tuple[Condition, ...]:
    placed: list[Condition] = []
    for condition in conditions:
        if user_functions(condition.expression):
            where = "python"
        elif not on_spark or (can_raise(condition.expression) and _waits(condition, placed)):
            where = "arrow"
        else:
            where = "jvm"
        placed.append(replace(condition, where=where))
    return tuple(placed)


def _waits(condition: Condition, placed: Sequence[Condition]) -> bool:
    """For one that is written before it and evaluated outside the JVM."""
    return any(other.place < condition.place and other.where != "jvm" for other in placed)
