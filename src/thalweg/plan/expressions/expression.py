"""Typed expressions of a query: columns, literals, and calls of built-in and user functions. All are frozen.

Types are Arrow's. Implicit conversions are explicit: if Spark's ANSI mode widens a number, the expression has a `widen`
call, so that no engine has to guess.

>>> import pyarrow as pa
>>> price = Ref("s", "price", pa.int32())
>>> text_of(call("gt", (call("widen", (price,), pa.int64()), Value(5, pa.int64())), pa.bool_()))
's.price > 5'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
    type: pa.DataType = field(hash=False)  # a user-defined type may not be hashable


@dataclass(frozen=True, slots=True)
class Value:
    """A literal value of a query."""

    value: Scalar
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a built-in function or operator, by its name in `functions`."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of a function that the user registered, by its name."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType
    safe: bool = False
    """Whether the function never raises."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate of the rows of a group, allowed only if there are groups. Without an argument, it counts rows."""

    function: str
    argument: Expression | None
    type: pa.DataType
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """`window_start` or `window_end` of an aggregate's window; in its results, the value of a group by its number."""

    name: str
    type: pa.DataType


Expression: TypeAlias = Ref | Value | Call | UserCall | AggregateCall | Bound


def call(function: str, arguments: tuple[Expression, ...], kind: pa.DataType) -> Call:
    """Return a call; a shorthand for `Call(...)`."""
    return Call(function, arguments, kind)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct parts of an expression."""
    if isinstance(expression, Call | UserCall):
        return expression.arguments
    if isinstance(expression, AggregateCall):
        return () if expression.argument is None else (expression.argument,)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def rewritten(expression: Expression, rewrite: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with every part replaced, the innermost first."""
    if isinstance(expression, Call | UserCall):
        arguments = tuple(rewritten(argument, rewrite) for argument in expression.arguments)
        if arguments != expression.arguments:
            expression = replace(expression, arguments=arguments)
    elif isinstance(expression, AggregateCall) and expression.argument is not None:
        expression = replace(expression, argument=rewritten(expression.argument, rewrite))
    return rewrite(expression)


def refs(expression: Expression) -> tuple[Ref, ...]:
    """Return the columns of an expression, each once, in the order of their first use."""
    return tuple(dict.fromkeys(part for part in walk(expression) if isinstance(part, Ref)))


def aliases(expression: Expression) -> tuple[str, ...]:
    """Return the aliases of the streams and tables that an expression reads, each once."""
    return tuple(dict.fromkeys(ref.alias for ref in refs(expression)))


def user_functions(expression: Expression) -> tuple[str, ...]:
    """Return the names of the user functions that an expression calls, each once."""
    return tuple(dict.fromkeys(part.function for part in walk(expression) if isinstance(part, UserCall)))


def text_of(expression: Expression) -> str:
    """Return an expression as readable text in Spark's SQL. Widening is not shown."""
    from thalweg.plan.expressions.expression_text import text

    return text(expression)


def structure(expression: Expression) -> Any:
    """Return the content of a fingerprint: nothing in it differs between two processes."""
    kind = str(expression.type)
    if isinstance(expression, Ref):
        return ["ref", expression.alias, expression.column, kind]
    if isinstance(expression, Value):
        return ["value", repr(expression.value), kind]
    if isinstance(expression, Bound):
        return ["bound", expression.name, kind]
    if isinstance(expression, AggregateCall):
        inner = None if expression.argument is None else structure(expression.argument)
        return ["aggregate", expression.function, expression.distinct, inner, kind]
    how = "call" if isinstance(expression, Call) else "user"
    return [how, expression.function, [structure(argument) for argument in expression.arguments], kind]
