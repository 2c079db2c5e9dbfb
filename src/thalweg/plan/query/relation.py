"""The streams, tables and functions that are registered in a session. They are frozen; runtimes hold the data.

Names ignore case and keep their spelling. The checks of a user function before it is called are here too.
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
    """A number that is unique for every registration in this process: registering the same name again gives another
    relation."""

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream, which is unbounded even if its data is finite."""
        return self.time is not None

    def unused(self, name: str) -> str:
        """Return a name that no column has, ignoring case, for a column that is added internally.

        >>> Relation("a", pa.schema({"End": pa.int64()})).unused("end")
        'end 2'
        """
        taken = {column.lower() for column in self.schema.names}
        names = (name if n == 1 else f"{name} {n}" for n in count(1))
        return next(each for each in names if each.lower() not in taken)


@dataclass(frozen=True)
class UserFunction:
    """A user function, as passed to `session.function`."""

    name: str
    func: Callable[..., Any]
    returns: pa.DataType
    vectorized: bool = False
    cost_us: float | None = None
    """The cost per row, in microseconds; None: it is not known yet."""
    safe: bool = False
    registration: int = 0
    """The number of the registration, as in `Relation`."""


@dataclass(frozen=True)
class Catalog:
    """All relations and functions of a session, by name in lower case."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)


def cannot_take(func: Callable[..., Any], count: int) -> str | None:
    """Return the parameters of a function that cannot be called with this many values. Return None if it can, or if
    this is not known (builtins).

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
    """Return why a call of a function returns no value, and what to do. Return None if it may return one. The result of
    a decorator on a coroutine is not examined.

    >>> async def looks_up(line): ...
    >>> never_answers(looks_up)
    'is async: a call returns a coroutine, not a value. Pass a plain function, for example one that calls asyncio.run'
    >>> never_answers(str.isdigit)
    """
    while isinstance(func, functools.partial):
        func = func.func
    if not (inspect.isroutine(func) or inspect.isclass(func)):  # calling an object runs its __call__
        func = type(func).__call__
    if inspect.iscoroutinefunction(func):
        return (
            "is async: a call returns a coroutine, not a value. Pass a plain function, for example one that calls "
            "asyncio.run"
        )
    if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        return "is a generator function: a call returns a generator, not a value. Use return instead of yield"
    return None


def is_always_true(func: Callable[..., Any]) -> bool:
    """Whether a function is a class that returns its own objects, which have only the default truth value, true.

    >>> class Checker: ...
    >>> is_always_true(Checker), is_always_true(int), is_always_true(Checker.__init__)
    (True, False, False)
    """
    if not inspect.isclass(func) or type(func).__call__ is not type.__call__ or func.__new__ is not object.__new__:
        return False
    return not hasattr(func, "__bool__") and not hasattr(func, "__len__")
