"""Predicates that write down, on disk, what they were shown: the truth that reports are held against."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc


def counting(folder: Path, name: str, test: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    """A vectorized predicate that appends the number of rows of each call to a file of its process."""

    def predicate(column: pa.Array) -> pa.Array:
        with (folder / f"{name}-{os.getpid()}").open("a") as out:
            out.write(f"{len(column)}\n")
        return test(column)

    predicate.__name__ = name
    return predicate


def rows_shown(folder: Path, name: str) -> int:
    """Rows all processes showed to the predicate."""
    return sum(int(line) for path in folder.glob(f"{name}-*") for line in path.read_text().split())


def processes(folder: Path, name: str) -> set[int]:
    """The processes that called it."""
    return {int(path.name.rsplit("-", 1)[1]) for path in folder.glob(f"{name}-*")}


def multiple_of(k: int) -> Callable[[pa.Array], pa.Array]:
    """True for multiples of k; null for null."""

    def test(column: pa.Array) -> pa.Array:
        return pc.equal(pc.subtract(column, pc.multiply(pc.divide(column, k), k)), 0)

    return test


def not_multiple_of(k: int) -> Callable[[pa.Array], pa.Array]:
    """True for everything but multiples of k; null for null."""
    return lambda column: pc.invert(multiple_of(k)(column))
