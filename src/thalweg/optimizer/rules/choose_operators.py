"""Choose who evaluates what: Arrow, user functions, Spark's JVM and operators, or the adaptive join.

On Spark, a built-in condition that cannot raise runs in the JVM, before rows are sent to Python. A condition that can
raise fails the query there, so the JVM evaluates it only if that does not change the outcome of any row: no condition
written before it is evaluated elsewhere, its filter calls no user function, and failed rows are not set aside.
Otherwise the adaptive chain evaluates it with Arrow in the worker. Spark's own join joins one stream with tables: it
keeps no rows of the stream, so nothing has to adapt.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from thalweg.plan.expressions.expression import user_functions
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.nodes import ColumnEquality, TableJoin
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

NOWHERE = sys.maxsize


def choose_operators(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose the operators of filters and of the join. Groups and projections always belong to the engine."""
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=_placed(scan.conditions, plan, _elsewhere(plan, scan.alias))))
    join = plan.join
    if join is not None and plan.engine == "spark" and len(plan.query.streams) == 1:
        plan = plan.with_join(TableJoin(join.inputs, join.equalities, join.residuals, join.order, join.why, join.keeps))
    return plan.with_conditions(_placed(plan.conditions, plan, NOWHERE))


def _placed(conditions: Sequence[Condition], plan: QueryPlan, elsewhere: int) -> tuple[Condition, ...]:
    """Return the conditions of a filter, each with who evaluates it. `elsewhere` is the place of the first condition
    that the rows of this filter have not passed yet."""
    has_chain = plan.sets_aside or any(user_functions(condition.expression) for condition in conditions)
    placed: list[Condition] = []
    for condition in conditions:
        raises = can_raise(condition.expression)
        if user_functions(condition.expression):
            where = "python"
        elif plan.engine != "spark" or (raises and (has_chain or condition.place > elsewhere)):
            where = "arrow"
        else:
            where = "jvm"
        placed.append(replace(condition, where=where))
    return tuple(placed)


def _elsewhere(plan: QueryPlan, alias: str) -> int:
    """Return the place of the first condition that the scan of a source does not evaluate."""
    join = plan.join
    others: list[Condition | ColumnEquality] = [
        c for scan in plan.scans if scan.alias != alias for c in scan.conditions
    ]
    others += plan.conditions
    others += () if join is None else (*join.equalities, *join.residuals)
    return min((each.place for each in others), default=NOWHERE)
