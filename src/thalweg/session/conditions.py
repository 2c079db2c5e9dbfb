"""Turns the conditions of a plan into predicates of an adaptive filter chain, evaluated where the plan says.

`guards_of` in `plan/query/query.py` decides which of them waits for which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import pyarrow as pa

from thalweg.given_predicate import predicate
from thalweg.kernels.expressions import VectorizedCondition as Vectorized
from thalweg.plan import NativePredicate, Predicate
from thalweg.plan.expressions.expression import Call, Expression, Ref, UserCall, refs, walk
from thalweg.plan.expressions.functions import SIGNS, can_raise
from thalweg.plan.expressions.type_rules import plain_type
from thalweg.plan.filters.native_uses import Use
from thalweg.plan.query.nodes import Filter, column_of, subject
from thalweg.plan.query.query import Condition, guards_of
from thalweg.plan.query.relation import UserFunction
from thalweg.runtime.spark.read_column import text_of

Native = Callable[[Condition], Any]
"""Makes a Spark Column of a condition; None if all conditions are evaluated in this process."""


@overload
def predicates(node: Filter, functions: Mapping[str, UserFunction]) -> list[Predicate]: ...


@overload
def predicates(
    node: Filter, functions: Mapping[str, UserFunction], native: Native
) -> list[Predicate | NativePredicate]: ...


def predicates(
    node: Filter, functions: Mapping[str, UserFunction], native: Native | None = None
) -> Sequence[Predicate | NativePredicate]:
    """Return one predicate per condition of a filter. `native` makes the Columns of those that run in the JVM, all of
    them before the others."""
    conditions, joined = node.conditions, subject(node) == "joined rows"
    # any existing column, for conditions that read none
    anything = Ref("", node.schema.names[0], plain_type(node.schema.types[0]))
    made: list[Predicate | NativePredicate] = []
    names = names_of(conditions)
    for name, condition, guards in zip(names, conditions, guards_of(conditions), strict=True):
        after = [names[guard] for guard in guards]
        if condition.where == "jvm":
            assert native is not None, condition
            expression, column = condition.expression, native(condition)
            made.append(
                NativePredicate(
                    name, text_of(column), _uses(expression), can_raise(expression), column, after=tuple(after)
                )
            )
            continue
        if (function := _directly_called(condition.expression, functions)) is not None:
            columns = [column_of(ref, joined) for ref in refs(condition.expression)]
            made.append(replace(predicate(function.func, *columns, name=name, after=after), strict=True))
            continue
        read = refs(condition.expression) or (anything,)
        made.append(
            predicate(
                Vectorized(condition.expression, functions, read),
                *(column_of(ref, joined) for ref in read),
                name=name,
                after=after,
                vectorized=True,
            )
        )
    return made


def _uses(expression: Expression) -> tuple[Use, ...]:
    """Return the functions and operators of a condition by Spark's names. Its Column has more: it casts literals."""
    words = {"is_null": "isnull", **{name: sign.lower() for name, sign in SIGNS.items()}}
    calls = (part.function for part in walk(expression) if isinstance(part, Call))
    return tuple(Use(words.get(name, name)) for name in calls if name != "widen")


def _directly_called(expression: Expression, functions: Mapping[str, UserFunction]) -> UserFunction | None:
    """Return the user's row function if it is the whole condition, so that the chain can call it directly."""
    if not isinstance(expression, UserCall) or not pa.types.is_boolean(expression.type):
        return None
    if len(set(expression.arguments)) < len(expression.arguments):
        return None
    plain = all(isinstance(a, Ref) and not pa.types.is_timestamp(a.type) for a in expression.arguments)
    function = functions[expression.function.lower()]
    return function if plain and not function.vectorized else None


def names_of(conditions: Sequence[Condition]) -> list[str]:
    """Return the texts of the conditions as names. A text that occurs again gets a number."""
    names: list[str] = []
    for condition in conditions:
        name, n = condition.text, 2
        while name in names:
            name, n = f"{condition.text} ({n})", n + 1
        names.append(name)
    return names
