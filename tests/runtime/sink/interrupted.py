"""A process that is killed at its n-th change of the disk: nothing of it happens after that."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHANGES = ("rename", "link", "unlink", "mkdir", "rmdir")


class Killed(BaseException):
    """The process is gone. Not an Exception: nothing in the code may catch it and go on."""


@contextmanager
def killed_at(number: int, patch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Kill before the change with this number, counted from 0. Yields a count of them so far."""
    count = 0

    def or_killed(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count > number:
                raise Killed
            return change(*given, **named)

        return changed

    def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
        return (or_killed(plain) if "w" in mode else plain)(file, mode, *given, **named)

    plain = builtins.open
    with patch.context() as patched:
        for name in CHANGES:
            patched.setattr(os, name, or_killed(getattr(os, name)))
        patched.setattr(shutil, "rmtree", or_killed(shutil.rmtree))
        patched.setattr(builtins, "open", opened)
        yield lambda: count
