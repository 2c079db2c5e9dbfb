"""Notices, from ordinary work alone, that the data has moved.

Every slice shows for free which share of the rows that reach a filter it drops, d(i|i-1). While the order stands these
shares are compared with those since the last alarm: a filter that drops clearly more or less than it did tells of
other data, long before a window of profile tuples has turned over.

Answers: a sentence when a share has changed by more than chance and by enough to matter, else None.
Guarantee: on data that does not move a look raises a false alarm less than once in some hundred thousand looks a filter
(`SIGMAS` of a normal deviate). Slow drift is seen too: the reference is everything since the last alarm, not the last
look. Blind to changes among rows that are dropped before they reach the filter (a-greedy, example 7): only profiling
sees those.
Cost: a few operations a filter.

>>> alarm = DriftAlarm(("even", "small"))
>>> alarm.look([1000, 500], [500, 250]), alarm.look([1000, 510], [510, 262])
(None, None)
>>> alarm.look([1000, 800], [800, 400])
'even drops 20 % of the rows that reach it, before 50 %'
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SIGMAS = 5.0
LEAST_SHARE = 0.1
"""A share that changed by less than a tenth of itself hardly changes which filter is best..."""
LEAST_CHANGE = 0.02
"""...nor does a filter that drops nearly nothing, or nearly everything, as before."""
LEAST_EFFECT = 0.02
"""Nor does a filter that hardly a row gets to."""
LEAST_ROWS = 200
"""Fewer rows say little about a share."""


class DriftAlarm:
    """Shares dropped since the last alarm, or since the order was changed."""

    __slots__ = ("_evaluated", "_new", "_new_passed", "_passed", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.reset()

    def reset(self) -> None:
        """Begin anew: another order has other conditional shares."""
        n = len(self.names)
        self._evaluated, self._passed = [0] * n, [0] * n
        self._new, self._new_passed = [0] * n, [0] * n  # too few to be compared yet

    @property
    def dropped(self) -> list[int]:
        """Rows each filter has dropped since then."""
        return [
            e + new - p - passed
            for e, p, new, passed in zip(self._evaluated, self._passed, self._new, self._new_passed, strict=True)
        ]

    def look(
        self, evaluated: Sequence[int], passed: Sequence[int], weights: Sequence[float] | None = None
    ) -> str | None:
        """Take what was done since the last look. Filters that few rows reach are compared when enough have. `weights`:
        for each filter, what all rows would cost more if it let all of those pass that reach it, as a share of what
        they cost; a change that makes them cost less than `LEAST_EFFECT` more or less is none."""
        said = None
        for k in range(len(self.names)):
            self._new[k] += evaluated[k]
            self._new_passed[k] += passed[k]
            if self._new[k] >= LEAST_ROWS:
                said = said or self._changed(k, math.inf if weights is None else weights[k])
                self._evaluated[k] += self._new[k]
                self._passed[k] += self._new_passed[k]
                self._new[k] = self._new_passed[k] = 0
        if said is not None:  # what is there now is what the next looks are compared with
            self.reset()
            self._evaluated, self._passed = list(evaluated), list(passed)
        return said

    def _changed(self, k: int, weight: float) -> str | None:
        old, new = self._evaluated[k], self._new[k]
        if old < LEAST_ROWS:
            return None
        was, now = 1.0 - self._passed[k] / old, 1.0 - self._new_passed[k] / new
        change = abs(now - was)
        if change < LEAST_CHANGE or change < LEAST_SHARE * max(was, now) or change * weight < LEAST_EFFECT:
            return None
        mean = 1.0 - (self._passed[k] + self._new_passed[k]) / (old + new)
        if change * change <= SIGMAS * SIGMAS * mean * (1.0 - mean) * (1.0 / old + 1.0 / new):
            return None
        return f"{self.names[k]} drops {100 * now:.0f} % of the rows that reach it, before {100 * was:.0f} %"
