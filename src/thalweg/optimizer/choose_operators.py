"""Who does what: Arrow, the user's own functions, Spark's JVM and operators, or the adaptive join.

On Spark a built-in condition runs in the JVM, before rows travel to Python, if it cannot raise. One that can fails the
query there, so the JVM evaluates it only where that makes no difference to a row's outcome: nothing is written before
it that is evaluated elsewhere, no function of the user's is among the conditions of its filter, and failed rows are not
to be set aside. Else the adaptive chain evaluates it, by Arrow in the worker. One stream with tables is joined by
Spark, which keeps nothing of the stream and needs no help.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from thalweg.plan.expression import user_functions
from thalweg.plan.functions import can_raise
from thalweg.plan.nodes import Equality, TableJoin
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

NOWHERE = sys.maxsize


def choose_operators(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Of filters and the join; groups and projections are the engine's own."""
    for scan in plan.scans:
        plan = plan.with_scan(replace(scan, conditions=_placed(scan.conditions, plan, _elsewhere(plan, scan.alias))))
    join = plan.join
    if join is not None and plan.engine == "spark" and len(plan.query.streams) == 1:
        plan = plan.with_join(TableJoin(join.inputs, join.equalities, join.residuals, join.order, join.why, join.keeps))
    return plan.with_conditions(_placed(plan.conditions, plan, NOWHERE))


def _placed(conditions: Sequence[Condition], plan: QueryPlan, elsewhere: int) -> tuple[Condition, ...]:
    """`elsewhere`: the place of the first condition that this filter's rows have not passed yet."""
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
    """The place of the first condition that is not evaluated by the scan of a source."""
    join = plan.join
    others: list[Condition | Equality] = [c for scan in plan.scans if scan.alias != alias for c in scan.conditions]
    others += plan.conditions
    others += () if join is None else (*join.equalities, *join.residuals)
    return min((each.place for each in others), default=NOWHERE)
