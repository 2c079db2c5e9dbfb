"""The interface through which the filter loops of several workers share profile tuples and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt.policy import ClassifiedTuples

Bits = NDArray[np.bool_]


class SharedProfiles(NamedTuple):
    """Profile tuples and costs that other workers have shared."""

    tuples: Bits
    """Profile tuples. Two bits per filter: whether it drops the row, and whether that is known."""
    fresh: Bits
    """For each tuple, whether it was sampled under an urgent request: at the start, or right after the data moved."""
    costs: list[Mapping[str, Any]]
    """The costs of their predicates (`FilterLoop.cost_snapshot`), oldest first."""
    classified: Sequence[ClassifiedTuples] = ()
    """Those of the tuples that were shared with the values by which rows may be classified, oldest first."""


class Pool(Protocol):
    """A place where workers with the same mark share profile tuples and costs."""

    def give(
        self, mark: str, tuples: Bits, fresh: bool, costs: Mapping[str, Any],
        values: Mapping[str, pa.Array] | None = None,
    ) -> None:  # fmt: skip
        """Share these with the other workers. `fresh`: sampled under an urgent request (`ProfilingRequest.urgent`).
        `values`: by column, the values of the tuples by which rows may be classified."""
        ...

    def news(self) -> bool:
        """Whether there may be something new to take."""
        ...

    def take(self, mark: str) -> SharedProfiles | None:
        """Return what other workers have shared since the last call; None if nothing."""
        ...
