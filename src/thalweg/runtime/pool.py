"""What loops of several workers share: where one gives what it has learned, and takes what others gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


class Shared(NamedTuple):
    """What siblings gave."""

    tuples: Bits
    """Profile tuples: two bits per filter, drops the row, is known."""
    fresh: Bits
    """Which of them were sampled under an urgent wish."""
    costs: list[Mapping[str, Any]]
    """What their calls cost (`FilterLoop.cost_snapshot`), oldest first."""


class Pool(Protocol):
    """Where workers share profile tuples and costs, by mark."""

    def give(self, mark: str, tuples: Bits, fresh: bool, costs: Mapping[str, Any]) -> None:
        """Let siblings have these; fresh: sampled under an urgent wish."""
        ...

    def news(self) -> bool:
        """Whether there may be something to take."""
        ...

    def take(self, mark: str) -> Shared | None:
        """What siblings gave since the last call; None when that is nothing."""
        ...
