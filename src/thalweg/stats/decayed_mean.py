"""The mean over the last rounds, in which newer rounds count for more, and when a join selectivity is estimated anew.

Answers
- `DecayedMean`: the mean of the last d observations, weighted with G(r) = e^(-a r), where r is the number of rounds
  that have passed since, as an `Estimate` with its variance.
- `differs`: whether an observed selectivity is so far from the estimated one that it must be estimated anew.
Guarantee: the mean is between the smallest and the largest observation it uses. For independent observations of equal
variance, `variance` is an unbiased estimate of the variance of the mean; if the quantity drifts it is too large.
Cost: d numbers of memory; O(1) per observation, O(d) per estimate.
Differs from the paper: the printed sum runs from r = 0 to d and so has d + 1 terms, but the text records d values and
algorithm 2 uses d; here there are d. The paper gives neither d nor a nor the threshold, so the defaults are ours. Its
difference has no unit; here it is relative, because selectivities are many orders of magnitude apart. The paper gives
no variance. It estimates a join selectivity anew from histograms; here it is the mean of the rounds since then.

>>> rate = DecayedMean(rounds=3, decay=0.5)
>>> for observed in (100.0, 100.0, 40.0, 40.0):
...     rate.add(observed)
>>> made = rate.estimate("counted", low=0)
>>> round(made.value, 2)  # (40 + 40 e^-0.5 + 100 e^-1) / (1 + e^-0.5 + e^-1)
51.18
>>> differs(estimated=0.010, observed=0.011), differs(estimated=0.010, observed=0.013)
(False, True)

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams. Section
4.3.
"""

from __future__ import annotations

import math
from collections import deque

from thalweg.errors import PlanError
from thalweg.plan.estimate import Estimate, Origin

ROUNDS = 10
"""The number of rounds that count, d."""
DECAY = 0.2
"""The decay per round, a. The tenth round counts for e^-1.8, a sixth of the newest."""
THRESHOLD = 0.2
"""The relative difference above which a join selectivity is estimated anew."""


class DecayedMean:
    """The decayed mean of the last observations of one number, one per round."""

    __slots__ = ("_values", "decay")

    def __init__(self, rounds: int = ROUNDS, decay: float = DECAY) -> None:
        """Begin without observations. `rounds` is d, at least 1; `decay` is a, at least 0."""
        if rounds < 1 or not 0 <= decay < math.inf:
            raise PlanError(f"rounds={rounds!r} must be at least 1, and decay={decay!r} a number of at least 0")
        self.decay = decay
        self._values: deque[float] = deque(maxlen=rounds)

    def __len__(self) -> int:
        return len(self._values)

    def add(self, observed: float) -> None:
        """Add what was observed in the round that has ended. The oldest observation leaves if there are more than d."""
        self._values.appendleft(observed)

    def clear(self) -> None:
        """Forget all observations, because they were of another time: the next estimate is made anew."""
        self._values.clear()

    def estimate(
        self, origin: Origin, low: float = -math.inf, high: float = math.inf, as_of: float | None = None
    ) -> Estimate | None:
        """Return the estimate for the next round; None before the first observation. After one observation, its
        variance is unknown."""
        if not self._values:
            return None
        decays = [math.exp(-self.decay * r) for r in range(len(self._values))]
        total = sum(decays)
        weights = [each / total for each in decays]
        mean = sum(weight * value for weight, value in zip(weights, self._values, strict=True))
        mean = min(max(mean, min(self._values)), max(self._values))  # rounding may move it past equal values
        squares = sum(weight * weight for weight in weights)
        variance = None
        if squares < 1:
            around = sum(w * (value - mean) ** 2 for w, value in zip(weights, self._values, strict=True))
            variance = around / (1 - squares) * squares
        return Estimate(mean, origin, variance, low, high, as_of)


def differs(estimated: float, observed: float, threshold: float = THRESHOLD) -> bool:
    """Return whether an observation differs from the estimate by more than a share of the estimate."""
    return abs(observed - estimated) > threshold * abs(estimated)
