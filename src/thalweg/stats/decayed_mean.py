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
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from thalweg.errors import PlanError
from thalweg.plan.estimate import Estimate, Origin

ROUNDS = 10
"""The number of rounds that count, d."""
DECAY = 0.2
"""The decay per round, a. The tenth round counts for e^-1.8, a sixth of the newest."""
THRESHOLD = 0.2
"""The relative difference above which a join selectivity is estimated anew."""


class DecayedMean:
    """The decayed mean of the last observations of one number, one per round. An observation may itself be the mean of
    many, such as matches per probe: it is given as a sum and their number, and counts for as much."""

    __slots__ = ("_rounds", "decay")

    def __init__(self, rounds: int = ROUNDS, decay: float = DECAY) -> None:
        """Begin without observations. `rounds` is d, at least 1; `decay` is a, at least 0."""
        if rounds < 1 or not 0 <= decay < math.inf:
            raise PlanError(f"rounds={rounds!r} must be at least 1, and decay={decay!r} a number of at least 0")
        self.decay = decay
        self._rounds: deque[tuple[float, float]] = deque(maxlen=rounds)

    def __len__(self) -> int:
        return len(self._rounds)

    def add(self, total: float, of: float = 1.0) -> None:
        """Add what was observed in the round that has ended: a sum, and the number of values it is the sum of. The
        oldest observation leaves if there are more than d."""
        if of > 0:
            self._rounds.appendleft((total, of))

    def clear(self) -> None:
        """Forget all observations, because they were of another time: the next estimate is made anew."""
        self._rounds.clear()

    @property
    def rounds(self) -> list[list[float]]:
        """The observations, the newest first, as values for JSON."""
        return [[total, of] for total, of in self._rounds]

    def restore(self, rounds: Iterable[Sequence[float]]) -> None:
        """Continue with the observations of another mean, the newest first. It may have used more rounds than this."""
        self._rounds.clear()
        self._rounds.extend((total, of) for total, of in islice(rounds, self._rounds.maxlen))

    @property
    def total(self) -> float:
        """The sum of all values, with decayed weights."""
        return sum(weight * total for weight, (total, _) in self._weighted())

    @property
    def of(self) -> float:
        """The number of values, with decayed weights."""
        return sum(weight * of for weight, (_, of) in self._weighted())

    @property
    def mean(self) -> float:
        """The mean; 0 if nothing was observed."""
        return self.total / self.of if self._rounds else 0.0

    def estimate(
        self, origin: Origin, low: float = -math.inf, high: float = math.inf, as_of: float | None = None
    ) -> Estimate | None:
        """Return the estimate for the next round; None before the first observation. After one observation, its
        variance is unknown."""
        if not self._rounds:
            return None
        values = [total / of for total, of in self._rounds]
        parts = [weight * of for weight, (_, of) in self._weighted()]
        weights = [part / sum(parts) for part in parts]
        mean = sum(weight * value for weight, value in zip(weights, values, strict=True))
        mean = min(max(mean, min(values)), max(values))  # rounding may move it past equal values
        squares = sum(weight * weight for weight in weights)
        variance = None
        if squares < 1:
            around = sum(w * (value - mean) ** 2 for w, value in zip(weights, values, strict=True))
            variance = around / (1 - squares) * squares
        return Estimate(mean, origin, variance, low, high, as_of)

    def _weighted(self) -> Iterator[tuple[float, tuple[float, float]]]:
        return ((math.exp(-self.decay * r), each) for r, each in enumerate(self._rounds))


def differs(estimated: float, observed: float, threshold: float = THRESHOLD) -> bool:
    """Return whether an observation differs from the estimate by more than a share of the estimate."""
    return abs(observed - estimated) > threshold * abs(estimated)
