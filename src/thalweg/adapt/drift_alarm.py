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

from collections.abc import Sequence

SIGMAS = 5.0
LEAST_SHARE = 0.1
"""A share that changed by less than a tenth of itself hardly changes which filter is best..."""
LEAST_CHANGE = 0.02
"""...nor does a filter that drops nearly nothing, or nearly everything, as before."""
LEAST_ROWS = 200
"""Fewer rows say little about a share."""


class DriftAlarm:
    """Shares dropped since the last alarm, or since the order was changed."""

    __slots__ = ("_evaluated", "_passed", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.reset()

    def reset(self) -> None:
        """Begin anew: another order has other conditional shares."""
        self._evaluated = [0] * len(self.names)
        self._passed = [0] * len(self.names)

    @property
    def dropped(self) -> list[int]:
        """Rows each filter has dropped since then."""
        return [e - p for e, p in zip(self._evaluated, self._passed, strict=True)]

    def look(self, evaluated: Sequence[int], passed: Sequence[int]) -> str | None:
        """Take what was done since the last look."""
        for k, new in enumerate(evaluated):
            old = self._evaluated[k]
            if new < LEAST_ROWS or old < LEAST_ROWS:
                continue
            was, now = 1.0 - self._passed[k] / old, 1.0 - passed[k] / new
            change = abs(now - was)
            if change < LEAST_CHANGE or change < LEAST_SHARE * max(was, now):
                continue
            mean = 1.0 - (self._passed[k] + passed[k]) / (old + new)
            if change * change > SIGMAS * SIGMAS * mean * (1.0 - mean) * (1.0 / old + 1.0 / new):
                self._evaluated, self._passed = list(evaluated), list(passed)
                return f"{self.names[k]} drops {now:.0%} of the rows that reach it, before {was:.0%}".replace("%", " %")
        for k, new in enumerate(evaluated):
            self._evaluated[k] += new
            self._passed[k] += passed[k]
        return None
