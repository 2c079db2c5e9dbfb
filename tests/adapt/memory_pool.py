"""A pool in memory, through which workers share at once, without files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from thalweg.runtime.filters.pool import SharedProfiles


class Gift(NamedTuple):
    """What one worker gave at one time."""

    worker: int
    tuples: np.ndarray
    fresh: bool
    costs: Mapping[str, Any]


class MemoryPool:
    """One worker's view of a list that all of them share."""

    def __init__(self, gifts: list[Gift], worker: int) -> None:
        self.gifts, self.worker = gifts, worker
        self._read = 0

    def give(self, mark: str, tuples: np.ndarray, fresh: bool, costs: Mapping[str, Any], values: object = None) -> None:
        """Share tuples and a copy of the current costs."""
        self.gifts.append(Gift(self.worker, tuples, fresh, {key: list(ns) for key, ns in costs.items()}))

    def news(self) -> bool:
        return len(self.gifts) > self._read

    def take(self, mark: str) -> SharedProfiles | None:
        gifts = [gift for gift in self.gifts[self._read :] if gift.worker != self.worker]
        self._read = len(self.gifts)
        if not gifts:
            return None
        tuples = np.concatenate([gift.tuples for gift in gifts])
        fresh = np.concatenate([np.full(len(gift.tuples), gift.fresh) for gift in gifts])
        return SharedProfiles(tuples, fresh, [gift.costs for gift in gifts])
