"""Arrival rates that swing: each stream is fast and slow in turn, by the same factor, at times of its own.

The logarithm of a rate is a sine, so that a stream is as long above the geometric mean of its rates as below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

STEPS = 200
"""Within one period, rates are constant in so many steps."""


@dataclass(frozen=True)
class Swing:
    """How the rates of streams swing.

    >>> swing = Swing(20.0, 60.0, {"a": 0.0})
    >>> round(swing.level("a", 15.0) / swing.level("a", 45.0), 6)
    20.0
    """

    factor: float
    """The largest rate over the least one."""
    seconds: float
    """The length of a period."""
    phases: Mapping[str, float]
    """By stream: the share of a period by which it is ahead."""

    def level(self, alias: str, at_s: float) -> float:
        """Return the rate of a stream at a time, over its mean rate."""
        sine = math.sin(2 * math.pi * (at_s / self.seconds + self.phases[alias]))
        return math.pow(self.factor, sine / 2) / self._mean

    @property
    def levels(self) -> tuple[float, float]:
        """The least and the largest rate of a stream over its mean rate."""
        return self.factor**-0.5 / self._mean, self.factor**0.5 / self._mean

    @cached_property
    def _mean(self) -> float:
        return float(np.i0(math.log(self.factor) / 2))

    def times(self, rng: np.random.Generator, alias: str, run_seconds: float, count: int) -> NDArray[np.float64]:
        """Return so many times of a run, in seconds and in order."""
        steps = max(round(run_seconds / self.seconds * STEPS), 1)
        edges = np.linspace(0, run_seconds, steps + 1)
        weights = [self.level(alias, middle) for middle in (edges[1:] + edges[:-1]) / 2]
        passed = np.concatenate([[0.0], np.cumsum(weights)])
        return np.interp(np.sort(rng.random(count)), passed / passed[-1], edges)
