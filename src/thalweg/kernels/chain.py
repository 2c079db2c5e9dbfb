"""The interface that the adaptive loop drives: filters of a row, or probes of the windows that it is joined with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.filter_chain import Profile, SliceCounts, SliceResult
from thalweg.plan.filters.pipeline import Pipeline


class ChainRows(Protocol):
    """Rows in the form that a chain reads."""

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of the columns. Rows of equal types can be concatenated."""
        ...

    def slice(self, start: int, length: int) -> Self:
        """Return a part of the rows, without copying."""
        ...

    def values(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Return columns by name."""
        ...

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return a copy of some rows, which outlives the batch."""
        ...

    @staticmethod
    def joined(parts: Sequence[Any]) -> Any:
        """Return the rows of several parts, one after another."""
        ...


class Batch(Protocol):
    """The input of a chain: an Arrow record batch, or new rows of a join with their keys."""

    @property
    def num_rows(self) -> int:
        """The number of rows in it."""
        ...


BatchT = TypeVar("BatchT", bound=Batch)
_Given = TypeVar("_Given", bound=Batch, contravariant=True)


class Chain(Protocol[_Given]):
    """Operators that drop rows, in an order that is given with each call."""

    pipeline: Pipeline
    clock: Callable[[], int]
    classifiers: tuple[str, ...]
    """The columns by which rows may be classified."""
    classified: bool
    """Whether the user has named these columns."""

    def columns(self, batch: _Given) -> Any:
        """Return a batch as `ChainRows`."""
        ...

    def begin(self, columns: Any) -> SliceCounts:
        """Return the counters of a new slice."""
        ...

    def step(
        self, k: int, columns: Any, rows: NDArray[np.int64] | None, count: int, done: SliceCounts, /
    ) -> NDArray[np.int64]:
        """Evaluate operator k on these rows (None: all), of which there are `count`. Return the places of those that
        stay among them."""
        ...

    def run(self, columns: Any, order: Sequence[int]) -> SliceResult:
        """Run rows through the chain in this order."""
        ...

    def profile(
        self, columns: Any, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: NDArray[np.bool_],
        place: NDArray[Any] | None = None,
    ) -> Profile:  # fmt: skip
        """Evaluate sampled rows, dropped at these positions; `evaluate` says by position what to evaluate on them.
        `place`: the position of each operator in the route of each row; None if all rows took `order`."""
        ...
