"""What a loop that adapts an order drives: filters of a row, or probes of the windows a row is joined with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.filter_chain import Pass, Profile
from thalweg.plan.pipeline import Pipeline


class ChainRows(Protocol):
    """Rows in the form a chain reads them."""

    @property
    def types(self) -> tuple[Any, ...]:
        """Rows of equal types can be joined."""
        ...

    def slice(self, start: int, length: int) -> Self:
        """A part of the rows, without copying."""
        ...

    def take(self, rows: NDArray[np.int64]) -> Self:
        """A copy of some rows, which outlives the batch."""
        ...

    @staticmethod
    def joined(parts: Sequence[Any]) -> Any:
        """Several, one behind the other."""
        ...


class Batch(Protocol):
    """What a chain is given: Arrow's record batches, or new rows of a join with their keys."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
        ...


BatchT = TypeVar("BatchT", bound=Batch)
_Given = TypeVar("_Given", bound=Batch, contravariant=True)


class Chain(Protocol[_Given]):
    """Things that drop rows, in an order that is given each time."""

    pipeline: Pipeline
    clock: Callable[[], int]

    def columns(self, batch: _Given) -> Any:
        """A batch as `ChainRows`."""
        ...

    def run(self, columns: Any, order: Sequence[int]) -> Pass:
        """Rows through the chain."""
        ...

    def profile(
        self, columns: Any, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: NDArray[np.bool_]
    ) -> Profile:
        """Sampled rows, dropped at these positions; `evaluate` says by position what to evaluate on them."""
        ...
