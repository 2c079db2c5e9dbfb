"""Exceptions and results of user code that are hostile in themselves: asked for anything, they raise or lie."""

# ruff: noqa: N818 - not errors, but what a user's code may raise

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import thalweg as tw


def refuses(*_: Any) -> Any:
    """Raise, whatever is asked."""
    raise RuntimeError("asked a hostile object")


class HostileText(str):
    """A text that cannot be formatted, compared or measured."""

    __format__ = __str__ = __repr__ = __eq__ = __hash__ = __len__ = refuses


class HostileNumber(int):
    """A number that has no truth, and is equal to nothing."""

    __bool__ = __index__ = __int__ = __eq__ = __hash__ = __repr__ = __float__ = refuses


class HostileObject:
    """An object that raises whatever is asked."""

    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __reduce__ = __index__ = refuses
    __getattr__ = refuses


class WithoutClass:
    """An object that raises if it is asked for its class."""

    __class__: Any = property(refuses)


class NamesAnotherClass:
    """An object that says that it is of another class."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def __class__(self) -> Any:
        return self._kind

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        self._kind = kind


class WithoutText(Exception):
    """An exception without a message or a representation."""

    __str__ = __repr__ = refuses


class WithHostileText(Exception):
    """An exception whose message is a hostile text."""

    def __str__(self) -> str:
        return HostileText("message")


class WithoutReduce(Exception):
    """An exception that cannot be pickled."""

    __reduce__ = refuses


class WithoutEquality(Exception):
    """An exception that cannot be compared."""

    __eq__ = __hash__ = refuses


class WithoutTraceback(Exception):
    """An exception that does not show its traceback."""

    __traceback__: Any = property(refuses)


class OfNoClass(Exception):
    """An exception that hides its class."""

    __class__: Any = property(refuses)


class OfAnotherClass(Exception):
    """An exception that says that it is a KeyboardInterrupt."""

    __class__: Any = KeyboardInterrupt


def cyclic_list() -> list[Any]:
    """Return a list that contains itself."""
    made: list[Any] = []
    made.append(made)
    return made


def cyclic_dict() -> dict[str, Any]:
    """Return a dict that contains itself."""
    made: dict[str, Any] = {}
    made["itself"] = made
    return made


EXCEPTIONS: list[Callable[[], Exception]] = [
    lambda: WithoutText("a"),
    lambda: WithHostileText("a"),
    lambda: WithoutReduce("a"),
    lambda: WithoutEquality("a"),
    lambda: WithoutTraceback("a"),
    lambda: OfNoClass("a"),
    lambda: OfAnotherClass("a"),
    lambda: ValueError("half a pair: \ud800"),
    lambda: KeyError("half a pair: \ud800"),
    lambda: ValueError("x" * 100_000),
    lambda: ExceptionGroup("several", [WithoutText("a"), ValueError("\udfff")]),
    lambda: StopIteration(3),
    lambda: RecursionError("deep"),
    lambda: MemoryError(),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    lambda: tw.PredicateError("mine"),
    lambda: AssertionError(HostileObject()),
]
RESULTS: list[Callable[[], Any]] = [
    lambda: "half a pair: \ud800",
    lambda: "x" * 100_000,
    lambda: HostileText("a"),
    lambda: HostileNumber(5),
    lambda: HostileObject(),
    lambda: WithoutClass(),
    lambda: NamesAnotherClass(str),
    lambda: NamesAnotherClass(int),
    lambda: NamesAnotherClass(np.ndarray),
    lambda: NamesAnotherClass(pa.Array),
    lambda: NamesAnotherClass(pa.ChunkedArray),
    cyclic_list,
    cyclic_dict,
    lambda: [HostileObject()],
    lambda: [WithoutClass()],
    lambda: {"\ud800"},
    lambda: 10**50,
    lambda: 10**5000,
    lambda: np.str_("\ud800"),
    lambda: np.array(HostileObject(), dtype=object),
    lambda: pa.scalar("a"),
    lambda: NotImplemented,
    lambda: 1j,
    lambda: float("nan"),
    lambda: WithoutText("a"),
]
