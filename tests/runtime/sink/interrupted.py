"""What happens before the n-th change of the disk: the process is killed, or another one does something."""

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
    """Kill before the change with this number, counted from 0. Yields a count of the changes so far."""
    count = 0

    def counted() -> None:
        nonlocal count
        count += 1
        if count > number:
            raise Killed

    with _before_changes(patch, counted):
        yield lambda: count


@contextmanager
def interrupted_at(number: int, patch: pytest.MonkeyPatch, action: Callable[[], None]) -> Iterator[Callable[[], int]]:
    """Do something before the change with this number, counted from 0. Yields a count of the changes so far, without
    those of the action."""
    count, acts = 0, False

    def counted() -> None:
        nonlocal count, acts
        if acts:
            return
        count += 1
        if count == number + 1:
            acts = True
            action()
            acts = False

    with _before_changes(patch, counted):
        yield lambda: count


@contextmanager
def _before_changes(patch: pytest.MonkeyPatch, happens: Callable[[], None]) -> Iterator[None]:
    """Call a function before each change."""

    def after_that(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **named: Any) -> Any:
            happens()
            return change(*given, **named)

        return changed

    def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
        return (after_that(plain) if "w" in mode else plain)(file, mode, *given, **named)

    plain = builtins.open
    with patch.context() as patched:
        for name in CHANGES:
            patched.setattr(os, name, after_that(getattr(os, name)))
        patched.setattr(shutil, "rmtree", after_that(shutil.rmtree))
        patched.setattr(builtins, "open", opened)
        yield
