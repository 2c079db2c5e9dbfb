"""What a contender did on a stream: probes, results and routing, counted per window of tuples.

The clock is virtual and the stream is saturated: there is always a tuple to process, so time passes only by probes,
which take their declared time, and by routing, which takes the time that was measured for it (`routing_prices.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ContenderRun:
    """The counts of a run."""

    evaluated: Counts
    """Windows by probes: how many tuples were probed."""
    outputs: Counts
    """By window, the tuples that passed all probes."""
    tuples: int
    routing_ns: Numbers
    """By window, what was spent on everything but probes."""
    decisions: int = 0
    """How often it was decided where tuples go next."""
    same_plan: float = 1.0
    """The share of tuples that followed the most frequent plan as far as they got."""
    levels: int = 0
    """The depth of the tree."""
    routes: int = 1
    tests: float = 0.0
    """The tests of the tree that a tuple passes through in the mean."""

    def spent_ns(self, costs_ns: Numbers) -> Numbers:
        """Return the time of each window."""
        return np.asarray(self.evaluated @ costs_ns + self.routing_ns)

    def total_ns(self, costs_ns: Numbers) -> float:
        """Return the time of all windows."""
        return float(self.spent_ns(costs_ns).sum())

    def per_tuple_ns(self, costs_ns: Numbers) -> float:
        """Return the time per tuple of the stream."""
        return self.total_ns(costs_ns) / self.tuples

    def rate(self, costs_ns: Numbers) -> float:
        """Return the output rate in tuples per second."""
        return float(self.outputs.sum()) / self.total_ns(costs_ns) * 1e9

    def overhead(self, costs_ns: Numbers) -> float:
        """Return the share of the time that is not spent on probes."""
        return float(self.routing_ns.sum()) / self.total_ns(costs_ns)
