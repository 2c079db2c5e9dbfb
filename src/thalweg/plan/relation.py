"""What a session knows by name: streams, tables and functions. Frozen; the data itself is the runtime's.

Names match without regard to case and keep their spelling. What can be told of a user's function before it is called is
here too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Relation:
    """A stream, which has a time, or a table, which has none."""

    name: str
    schema: pa.Schema
    time: str | None = None
    lateness_us: int = 0
    registration: int = 0
    """A number of its own for every registration in this process: what is registered again under the same name is
    another relation."""

    @property
    def is_stream(self) -> bool:
        """Unbounded, whatever its data are."""
        return self.time is not None

    def unused(self, name: str) -> str:
        """A name that no column has, in whatever case, for one that is made on the way.

        >>> Relation("a", pa.schema({"End": pa.int64()})).unused("end")
        'end 2'
        """
        taken = {column.lower() for column in self.schema.names}
        names = (name if n == 1 else f"{name} {n}" for n in count(1))
        return next(each for each in names if each.lower() not in taken)


@dataclass(frozen=True)
class UserFunction:
    """A function of the user's, as `session.function` got it."""

    name: str
    func: Callable[..., Any]
    returns: pa.DataType
    vectorized: bool = False
    cost_us: float | None = None
    """Of a row, in microseconds; None: nobody knows yet."""
    safe: bool = False
    registration: int = 0
    """As of a relation."""


@dataclass(frozen=True)
class Catalog:
    """All of them; keys are names in lower case."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)


def cannot_take(func: Callable[..., Any], count: int) -> str | None:
    """Its parameters, when it cannot be called with so many values; None: it can, or nobody knows (builtins).

    >>> cannot_take(lambda a, b: a, 1), cannot_take(lambda a: a, 1)
    ('(a, b)', None)
    """
    try:
        signature = inspect.signature(func, follow_wrapped=False)
    except (ValueError, TypeError):
        return None
    try:
        signature.bind(*range(count))
    except TypeError:
        return f"({', '.join(signature.parameters)})"
    return None


def never_answers(func: Callable[..., Any]) -> str | None:
    """Why a call of it gives no value, and what to do; None: it may give one. What a decorator makes of a coroutine
    is the decorator's own, and is not looked into.

    >>> async def looks_up(line): ...
    >>> never_answers(looks_up)
    'is async: a call returns a coroutine, not a value. Give a plain function, for example one that calls asyncio.run'
    >>> never_answers(str.isdigit)
    """
    while isinstance(func, functools.partial):
        func = func.func
    if not (inspect.isroutine(func) or inspect.isclass(func)):  # what the call of an object runs
        func = type(func).__call__
    if inspect.iscoroutinefunction(func):
        return (
            "is async: a call returns a coroutine, not a value. Give a plain function, for example one that calls "
            "asyncio.run"
        )
    if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        return "is a generator function: a call returns a generator, not a value. Use return instead of yield"
    return None


def is_always_true(func: Callable[..., Any]) -> bool:
    """Whether it is a class that makes objects of its own, and these have no truth value but the default.

    >>> class Checker: ...
    >>> is_always_true(Checker), is_always_true(int), is_always_true(Checker.__init__)
    (True, False, False)
    """
    if not inspect.isclass(func) or type(func).__call__ is not type.__call__ or func.__new__ is not object.__new__:
        return False
    return not hasattr(func, "__bool__") and not hasattr(func, "__len__")
