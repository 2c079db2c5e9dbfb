"""Expressions of a query with their types: columns, values, calls of built-in and of user functions. Frozen.

Types are Arrow's. What SQL leaves unsaid is written out: where Spark's ANSI mode widens a number, a `widen` stands, so
that no engine has to guess.

>>> import pyarrow as pa
>>> price = Ref("s", "price", pa.int32())
>>> text_of(call("gt", (call("widen", (price,), pa.int64()), Value(5, pa.int64())), pa.bool_()))
's.price > 5'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

Scalar: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | timedelta | None


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of a stream or table, in the spelling of its schema."""

    alias: str
    column: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Value:
    """A literal."""

    value: Scalar
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    """Of a built-in function or operator, by its name in `functions`."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class UserCall:
    """Of a function the user registered, by its name."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType
    safe: bool = False
    """It never raises."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Of a group's rows; only where groups are. No argument: rows are counted."""

    function: str
    argument: Expression | None
    type: pa.DataType
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """`window_start` or `window_end` of an aggregate's window; or, in its results, a group's value by its number."""

    name: str
    type: pa.DataType


Expression: TypeAlias = Ref | Value | Call | UserCall | Aggregate | Bound


def call(function: str, arguments: tuple[Expression, ...], kind: pa.DataType) -> Call:
    """Shorter to write."""
    return Call(function, arguments, kind)


def children(expression: Expression) -> tuple[Expression, ...]:
    """What it is made of."""
    if isinstance(expression, Call | UserCall):
        return expression.arguments
    if isinstance(expression, Aggregate):
        return () if expression.argument is None else (expression.argument,)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """It and all its parts."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def rewritten(expression: Expression, rewrite: Callable[[Expression], Expression]) -> Expression:
    """Every part replaced, the innermost first."""
    if isinstance(expression, Call | UserCall):
        arguments = tuple(rewritten(argument, rewrite) for argument in expression.arguments)
        if arguments != expression.arguments:
            expression = replace(expression, arguments=arguments)
    elif isinstance(expression, Aggregate) and expression.argument is not None:
        expression = replace(expression, argument=rewritten(expression.argument, rewrite))
    return rewrite(expression)


def refs(expression: Expression) -> tuple[Ref, ...]:
    """Its columns, each once, in the order they stand."""
    return tuple(dict.fromkeys(part for part in walk(expression) if isinstance(part, Ref)))


def aliases(expression: Expression) -> tuple[str, ...]:
    """Its streams and tables, each once."""
    return tuple(dict.fromkeys(ref.alias for ref in refs(expression)))


def user_functions(expression: Expression) -> tuple[str, ...]:
    """Those it calls, each once."""
    return tuple(dict.fromkeys(part.function for part in walk(expression) if isinstance(part, UserCall)))


def text_of(expression: Expression) -> str:
    """As a person reads it, in Spark's words; widening is not said."""
    from thalweg.plan.expression_text import text

    return text(expression)


def structure(expression: Expression) -> Any:
    """What a fingerprint is made of: nothing that differs between two processes."""
    kind = str(expression.type)
    if isinstance(expression, Ref):
        return ["ref", expression.alias, expression.column, kind]
    if isinstance(expression, Value):
        return ["value", repr(expression.value), kind]
    if isinstance(expression, Bound):
        return ["bound", expression.name, kind]
    if isinstance(expression, Aggregate):
        inner = None if expression.argument is None else structure(expression.argument)
        return ["aggregate", expression.function, expression.distinct, inner, kind]
    how = "call" if isinstance(expression, Call) else "user"
    return [how, expression.function, [structure(argument) for argument in expression.arguments], kind]
