"""What can be told of a user's function before it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


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
