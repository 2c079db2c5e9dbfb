"""What another order would gain, and how far that may be trusted.

Answers: the mean time a dropped row costs less under the new order, its standard error, and its share of the old cost.
A row that passes costs the same in every order, so profile tuples, which are dropped rows, hold all there is to know.
The same tuples are put through both orders: what they have in common does not blur the difference.
Guarantee: unbiased for the tuples' source when the bits that decide are known; a filter nobody evaluated on a tuple
counts as not dropping it, so that an unknown never speaks for the new order.
Cost: two scans of the tuples. The error has two parts: the tuples are a sample, and the costs are estimates.

>>> bits = np.array([[0, 1], [0, 1], [1, 1], [1, 1]], bool)  # filter 1 drops all four, filter 0 two of them
>>> found = gain(bits, (0, 1), (1, 0), np.array([10.0, 10.0]), np.zeros(2))
>>> found.ns, found.share, round(found.error_ns, 2)
(5.0, 0.3333333333333333, 2.89)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gain:
    """Of a dropped row."""

    ns: float
    error_ns: float
    cost_error_ns: float
    """The part of the error that comes from the costs, which ordinary work makes smaller."""
    share: float
    """Of what it costs in the old order."""
    rows: int

    def exceeds(self, errors: float, least_share: float) -> bool:
        """Whether it is that many standard errors above zero, and worth a change."""
        return self.ns > errors * self.error_ns and self.share > least_share


def gain(bits: Bits, old: Sequence[int], new: Sequence[int], costs: Numbers, cost_errors: Numbers) -> Gain:
    """Of the new order over the old one, by these profile tuples."""
    before, runs_before = _through(bits, old, costs)
    after, runs_after = _through(bits, new, costs)
    saved = before - after
    rows = len(bits)
    mean = float(saved.sum()) / rows
    saved -= mean
    by_sample = float(saved @ saved) / (rows * (rows - 1)) if rows > 1 else math.inf
    by_runs = (runs_before - runs_after) * cost_errors
    by_costs = float(by_runs @ by_runs)
    share = mean * rows / max(float(before.sum()), 1e-9)
    return Gain(mean, math.sqrt(by_sample + by_costs), math.sqrt(by_costs), share, rows)


def _through(bits: Bits, order: Sequence[int], costs: Numbers) -> tuple[Numbers, Numbers]:
    """What each tuple costs until it is dropped, and the share of tuples each filter runs on."""
    places = list(order)
    first = bits[:, places].argmax(axis=1)
    reached = np.bincount(first, minlength=len(places))[::-1].cumsum()[::-1] / len(bits)
    runs = np.empty(len(places))
    runs[places] = reached
    return costs[places].cumsum()[first], runs
