"""Compute expressions that consist only of literals once, with the kernels that would compute them for every row.

An expression that raises is left unchanged: it raises when it is evaluated on a row, as it would have.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from thalweg.errors import ThalwegError
from thalweg.kernels.expressions import evaluate
from thalweg.plan.expressions.expression import Call, Expression, Value, rewritten, text_of
from thalweg.plan.query.query import OutputColumn
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

_FOLDED = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_decimal,
           pa.types.is_date)  # fmt: skip


def fold_constants(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Fold the constants in conditions and outputs. Keys of groups stay as they are, because outputs are matched with
    them."""
    conditions = []
    for condition in plan.conditions:
        expression = folded(condition.expression)
        if expression == Value(True, pa.bool_()):
            plan = plan.noting(f"{condition.text} is always true and is removed")
            continue
        if expression != condition.expression:
            condition = replace(condition, expression=expression, text=text_of(expression))
        conditions.append(condition)
    query = plan.query
    if query.grouping is None:
        outputs = tuple(OutputColumn(output.name, folded(output.expression)) for output in query.outputs)
        query = replace(query, outputs=outputs)
    return plan.with_conditions(tuple(conditions)).with_query(query)


def folded(expression: Expression) -> Expression:
    """Return the expression with its constant parts replaced by their values.

    >>> from thalweg.plan.expressions.expression import call
    >>> folded(call("add", (Value(1, pa.int32()), Value(2, pa.int32())), pa.int32()))
    Value(value=3, type=DataType(int32))
    """
    return rewritten(expression, _fold)


def _fold(part: Expression) -> Expression:
    if not isinstance(part, Call):
        return part
    if part.function in ("and", "or") and (shorter := _decided(part)) is not None:
        return shorter
    if not all(isinstance(argument, Value) for argument in part.arguments):
        return part
    if not any(fits(part.type) for fits in _FOLDED):
        return part
    try:
        made = evaluate(part, _no_column, 1, {})
    except (ThalwegError, pa.ArrowException):
        return part
    return Value(made[0].as_py(), part.type)


def _decided(part: Call) -> Expression | None:
    """Return what AND or OR with a literal is equal to: TRUE AND x is x, FALSE AND x is FALSE. An operand before a
    deciding literal is still evaluated, because it may raise."""
    one, other = part.arguments
    neutral = part.function == "and"
    if isinstance(one, Value) and one.value is not None:
        return other if one.value is neutral else one
    if isinstance(other, Value) and other.value is neutral:
        return one
    return None


def _no_column(ref: object) -> pa.Array:
    raise AssertionError(f"{ref} is not a literal")
