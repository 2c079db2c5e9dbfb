"""Training tuples: what the sampled rows of a stream look like, and which filters they pass.

A classifier column is divided into categories (`Axis`): groups of texts, ranges of numbers, null, and all others. A
cell is a combination of categories, one per axis. A training tuple is one cell or several, and it stands for all
sampled rows in them: it has the outcomes of all these rows, not of one row (query-mesh, section 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Kind = Literal["text", "bool", "number", "time"]
Value = bytes | bool
"""A value that has a category of its own: the key of a text, or a truth value."""

LONGEST_KEY = 48
"""In bytes. Longer texts are cut, so that a stored tree of 200 values is a few kilobytes long."""
END = LONGEST_KEY // 2
_DIGITS = 20
"""More than the length of a text has."""


def key(text: bytes) -> bytes:
    """Return the key of a text.

    >>> key(b"short"), key(b"a" * 50_000 + b"b" * 50_000) == b"a" * 24 + b"b" * 24 + b"100000"
    (b'short', True)
    """
    return text if len(text) <= LONGEST_KEY else text[:END] + text[-END:] + str(len(text)).encode()


def ends_of_long_text(key_: bytes) -> tuple[bytes, bytes, int] | None:
    """Return the first and the last bytes of a text that is longer than its key, and its length; None if a key is the
    text itself.

    >>> ends_of_long_text(key(b"a" * 50_000 + b"b" * 50_000)), ends_of_long_text(b"short")
    ((b'aaaaaaaaaaaaaaaaaaaaaaaa', b'bbbbbbbbbbbbbbbbbbbbbbbb', 100000), None)
    """
    length = key_[LONGEST_KEY:]
    is_key = length.isdigit() and len(length) < _DIGITS
    return (key_[:END], key_[END:LONGEST_KEY], int(length)) if is_key else None


@dataclass(frozen=True, slots=True)
class Axis:
    """The categories of a column. Categories are numbered: groups of values, or ranges of numbers, then null, then
    others.

    >>> axis = Axis("size", "number", cuts=(10.0, 20.0))
    >>> axis.size, axis.null, axis.other
    (3, 3, 4)
    """

    column: str
    kind: Kind
    groups: tuple[tuple[Value, ...], ...] = ()
    """Of texts and truth values: the values of each category."""
    cuts: tuple[float, ...] = ()
    """Of numbers and times: category i holds the numbers above `cuts[i - 1]`, up to and including `cuts[i]`."""

    @property
    def ordered(self) -> bool:
        """Whether the categories are ranges."""
        return self.kind in ("number", "time")

    @property
    def size(self) -> int:
        """The number of categories without null and others."""
        return len(self.cuts) + 1 if self.ordered else len(self.groups)

    @property
    def null(self) -> int:
        """The category of null and NaN."""
        return self.size

    @property
    def other(self) -> int:
        """The category of rare and unseen values, and of values of another type."""
        return self.size + 1


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training tuples with the outcomes of the rows they stand for."""

    axes: tuple[Axis, ...]
    cells: NDArray[np.int64]
    """The category of each cell on each axis."""
    cell_density: Numbers
    """The weight of the rows in each cell."""
    tuple_of_cell: NDArray[np.int64]
    passes: Numbers
    """Rows by filters: 1 if the row passes, 0 if it is dropped, else the probability that it passes."""
    weights: Numbers
    """How many rows of the stream each sampled row stands for."""
    tuple_of_row: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.tuple_of_cell.max(initial=-1)) + 1

    @cached_property
    def density(self) -> Numbers:
        """The weight of the rows that each training tuple stands for."""
        return sums_by(self.tuple_of_row, self.weights, len(self))

    @cached_property
    def means(self) -> Numbers:
        """Tuples by filters: the share of the rows of each training tuple that each filter lets pass."""
        passed = [sums_by(self.tuple_of_row, self.weights * column, len(self)) for column in self.passes.T]
        means: Numbers = np.stack(passed, axis=1) / np.maximum(self.density, 1e-300)[:, None]
        return means

    def rows_of(self, tuple_: int) -> NDArray[np.int64]:
        """Return the numbers of the sampled rows that a training tuple stands for."""
        return np.flatnonzero(self.tuple_of_row == tuple_)

    @property
    def effective_rows(self) -> float:
        """The number of rows of equal weight that say as much as the sampled rows."""
        return effective_rows(self.weights)


def effective_rows(weights: Numbers) -> float:
    """Return the number of rows of equal weight that say as much as rows with these weights (Kish 1965).

    >>> effective_rows(np.array([2.0, 2.0])), effective_rows(np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def sums_by(codes: NDArray[np.int64], numbers: Numbers, size: int) -> Numbers:
    """Return the sum of the numbers that have each code.

    >>> sums_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(codes, numbers, size).astype(np.float64)
