"""Detects from regular processing alone that the data has moved, and measures how often it does.

Every slice shows at no extra cost which share of the rows that reach a filter is dropped by it, d(i|i-1). As long as
the order does not change, these shares are compared with the shares since the last alarm. A filter that drops clearly
more or less than before indicates that the data has changed, long before a window of profile tuples is replaced.

Answers: a sentence if a share has changed by more than chance and by enough to matter, else None.
Guarantee: on data that does not move, there is less than one false alarm per 100,000 checks of a filter (`SIGMAS`
standard deviations). Slow drift is detected too, because the reference is everything since the last alarm and not only
the last check. Changes among rows that are dropped before they reach the filter are not detected (a-greedy, example 7):
only profiling shows those.
Cost: a few operations per filter.

>>> alarm = DriftAlarm(("even", "small"))
>>> alarm.look([1000, 500], [500, 250]), alarm.look([1000, 510], [510, 262])
(None, None)
>>> alarm.look([1000, 800], [800, 400])
'even now drops 20 % of the rows that reach it instead of 50 %'
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from thalweg.adapt.profiling_budget import ProfilingBudget
from thalweg.formatting import whole_percent

SIGMAS = 5.0
LEAST_SHARE = 0.1
"""A change by less than this fraction of the share hardly affects which filter is best..."""
LEAST_CHANGE = 0.02
"""...nor does a smaller change than this, for example if a filter still drops almost nothing or almost all rows..."""
LEAST_EFFECT = 0.02
"""...nor does a change that affects the cost of all rows by less than this, for example if few rows reach a filter."""
LEAST_ROWS = 200
"""Fewer rows are not enough to estimate a share."""


class DriftAlarm:
    """The shares that filters drop, since the last alarm or the last change of the order."""

    __slots__ = ("_evaluated", "_new", "_new_passed", "_passed", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.reset()

    def reset(self) -> None:
        """Start again, because the conditional shares of another order are different."""
        n = len(self.names)
        self._evaluated, self._passed = [0] * n, [0] * n
        self._new, self._new_passed = [0] * n, [0] * n  # not compared yet: too few

    def look(
        self, evaluated: Sequence[int], passed: Sequence[int], weights: Sequence[float] | None = None
    ) -> str | None:
        """Take the counts since the last check. A filter is compared once at least `LEAST_ROWS` new rows have reached
        it. `weights`: for each filter, how much more all rows would cost if it dropped nothing, as a share of their
        cost; a change with an effect below `LEAST_EFFECT` is ignored."""
        alarm = None
        for k in range(len(self.names)):
            self._new[k] += evaluated[k]
            self._new_passed[k] += passed[k]
            if self._new[k] >= LEAST_ROWS:
                alarm = alarm or self._changed(k, math.inf if weights is None else weights[k])
                self._evaluated[k] += self._new[k]
                self._passed[k] += self._new_passed[k]
                self._new[k] = self._new_passed[k] = 0
        if alarm is not None:  # later checks are compared with the data as it is now
            self.reset()
            self._evaluated, self._passed = list(evaluated), list(passed)
        return alarm

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
        drops, dropped = whole_percent(now), whole_percent(was)
        return f"{self.names[k]} now drops {drops} of the rows that reach it instead of {dropped}"


LEAST_MOVES = 4
"""Fewer moves are not enough to know how often the data moves."""
LEAST_TUPLES, LEAST_CHECKS = 48, 16
"""How many profiled rows the budget must pay for between two moves, and how many checks for drift must fit in."""


class Regimes:
    """When the data of one worker has moved.

    It measures how long the data stays the same, to decide whether its changes are worth following.

    Whenever the data moves, the number of rows since the previous move is recorded. If the moves come too soon to learn
    anything in between, following them only costs time, because every new order comes too late. Such data is volatile,
    and one order is chosen for all of it.
    """

    def __init__(self) -> None:
        self.moves = 0
        self.moved_at = 0
        """Rows seen at the last move."""
        self._lasts = math.nan  # rows between two moves: a geometric mean in which the latest counts half

    def move(self, rows: int) -> None:
        """Record that the data has moved, after this many rows in total."""
        lasted = max(rows - self.moved_at, 1)
        self._lasts = lasted if math.isnan(self._lasts) else math.sqrt(self._lasts * lasted)
        self.moved_at = rows
        self.moves += 1

    def volatile(self, rows: int, profiling_budget: ProfilingBudget) -> bool:
        """Whether the data moves too often to learn anything before the next move."""
        if self.moves < LEAST_MOVES:
            return False
        lasts = max(self._lasts, rows - self.moved_at)
        earned_ns = profiling_budget.budget * profiling_budget.row_ns * lasts
        return (
            lasts < LEAST_CHECKS * profiling_budget.look_rows()
            or earned_ns < LEAST_TUPLES * profiling_budget.each_ns + profiling_budget.show_ns
        )
