"""What can be told of a user's function before it is called."""

from __future__ import annotations

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
