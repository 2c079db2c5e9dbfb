"""Split conditions at AND into separate conditions, in the order in which they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thalweg.plan.expressions.expression import Call, Expression, text_of
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def split_conjunctions(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Split every condition at AND, and number the parts in the order in which they are written."""
    parts = [part for condition in plan.conditions for part in _parts(condition)]
    return plan.with_conditions(tuple(replace(part, place=n) for n, part in enumerate(parts)))


def _parts(condition: Condition) -> Iterator[Condition]:
    parts = list(_conjuncts(condition.expression))
    if len(parts) == 1:
        yield condition
        return
    for part in parts:
        yield replace(condition, expression=part, text=text_of(part))


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from _conjuncts(argument)
    else:
        yield expression
