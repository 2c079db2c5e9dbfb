"""The time of micro-batches: what one takes whatever its size is, and what each row adds; and the rate of rows.

Answers: `fixed` and `per_row` with their variances, `certain`, what a row adds beyond doubt, `rate`, and `known`, the
same as `Knowledge`.
How: a line is fitted to the times of the micro-batches of a query by least squares, in which a micro-batch counts
e^(-`DECAY` r) if it is r micro-batches old. The first `WARM_UP` ones with rows after a start are left out. The first
starts workers and loads classes and compiled loops. Meanwhile rows arrive, so the second one is often the largest of
all, and runs code that the JVM has not compiled yet: it would decide the slope of the line, and its time is not that of
later ones. Micro-batches without rows warm nothing up, so they do not count. From the third one on, those that still
work off the rows of the cold ones are useful, because their sizes differ.
Guarantee: both numbers are 0 or more. As long as all micro-batches had about as many rows, the two cannot be separated:
then the last line that was known applies, or else all of the time is fixed and its variance is unknown.
Cost: seven sums.

>>> times = BatchTimes()
>>> for n, (rows, cold) in enumerate([(200, 9.0), (900, 2.0), (100, 0), (300, 0), (200, 0), (400, 0)]):
...     times.add("start", at=float(n), rows=rows, seconds=0.5 + 0.001 * rows + cold)
>>> round(times.fixed.value, 3), round(times.per_row.value, 5), round(times.rate)
(0.5, 0.001, 376)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.plan.estimate import Estimate
from thalweg.stats.knowledge import BatchTime, Knowledge

DECAY = 0.02
"""How much less a micro-batch counts than the one after it: by a factor of e^-0.02, so that a hundred count."""
WARM_UP = 2
"""The number of micro-batches with rows after each start that are left out."""
LEAST_BATCHES = 3
"""The least number of micro-batches that a line is fitted to."""
DEVIATIONS = 2.0
"""By so many standard deviations the time that a row certainly adds is below that of the fitted line."""
LEAST_SPREAD = 0.02
"""The least standard deviation of the numbers of rows, as a share of their mean."""


@dataclass(slots=True)
class BatchTimes:
    """The sums over the micro-batches of a query."""

    sums: list[float] = field(default_factory=lambda: [0.0] * 7)
    """Of 1, rows, seconds, rows², rows × seconds and seconds², with decayed weights; and of the squares of weights."""
    arrived: float = 0.0
    """Rows that arrived between the first micro-batch of a start and later ones, and the seconds between them."""
    passed: float = 0.0
    batches: int = 0
    line: tuple[float, float, float, float] | None = None
    """The last fixed time and time per row that could be separated, and their variances; None if they never could."""
    _start: str = ""
    _warm_up: int = 0
    """The number of micro-batches of this start that have been left out."""
    _at: float | None = None

    def add(self, start: str, *, at: float, rows: int, seconds: float) -> None:
        """Add a micro-batch of one start of the query. `at`: when it began, in seconds."""
        decay = math.exp(-DECAY)
        if start == self._start and self._at is not None and at > self._at:
            self.arrived, self.passed = self.arrived * decay + rows, self.passed * decay + (at - self._at)
        if start != self._start:
            self._start, self._warm_up = start, 0
        self._at = at
        if not rows:
            return
        if self._warm_up < WARM_UP:
            self._warm_up += 1
            return
        values = (1.0, rows, seconds, rows * rows, rows * seconds, seconds * seconds)
        squares = self.sums[-1] * decay**2 + 1.0
        self.sums = [total * decay + value for total, value in zip(self.sums, values, strict=False)] + [squares]
        self.batches += 1
        self._fit()

    def clock_was_set(self) -> None:
        """Leave out the seconds until the next micro-batch, which are not known."""
        self._at = None

    @property
    def rate(self) -> float | None:
        """Rows per second of the clock; None if unknown."""
        return self.arrived / self.passed if self.passed > 0 else None

    @property
    def fixed(self) -> Estimate | None:
        """The seconds that a micro-batch takes whatever its size is; None if unknown."""
        line = self._line()
        return None if line is None else line[0]

    @property
    def per_row(self) -> Estimate | None:
        """The seconds that each row adds; None if unknown."""
        line = self._line()
        return None if line is None else line[1]

    @property
    def mean_rows(self) -> float:
        """The mean number of rows of micro-batches; 0 before the first one."""
        return self.sums[1] / self.sums[0] if self.sums[0] else 0.0

    def certain(self) -> tuple[float, float] | None:
        """Return the fixed seconds and the seconds per row, of which a row has only what it certainly adds, and the
        rest is fixed; None if unknown. Micro-batches of the mean size take as long as by the line.

        Noise in the times of micro-batches of similar sizes can make rows look so expensive that no interval seems long
        enough. Then none would ever be tried, and the sizes would stay as they are."""
        line = self._line()
        if line is None:
            return None
        fixed, per_row = line
        deviation = math.sqrt(per_row.variance or 0.0)
        certain = max(per_row.value - DEVIATIONS * deviation, 0.0)
        return fixed.value + (per_row.value - certain) * self.mean_rows, certain

    def _line(self) -> tuple[Estimate, Estimate] | None:
        if self.batches < LEAST_BATCHES:
            return None
        if self.line is None:
            return Estimate(self.sums[2] / self.sums[0], "counted", None, 0), Estimate(0.0, "counted", None, 0)
        fixed, per_row, of_fixed, of_per_row = self.line
        return Estimate(fixed, "counted", of_fixed, 0), Estimate(per_row, "counted", of_per_row, 0)

    def _fit(self) -> None:
        """Fit the line again, if micro-batches differ enough."""
        n, x, y, xx, xy, yy, squares = self.sums
        mean, around = x / n, xx / n - (x / n) ** 2
        if self.batches < LEAST_BATCHES or around <= (LEAST_SPREAD * mean) ** 2:
            return
        slope = (xy / n - mean * y / n) / around
        slope = min(max(slope, 0.0), y / x)  # neither number is negative
        level = max(y / n - slope * mean, 0.0)  # rounding may move it below
        error = max(yy - 2 * level * y - 2 * slope * xy + 2 * level * slope * x + level**2 * n + slope**2 * xx, 0.0)
        variance = error / max(n - 2, 1.0) / n * (squares / n)  # weights that differ count as fewer observations
        self.line = level, slope, variance * (1 + mean * mean / around), variance / around

    def known(self) -> Knowledge:
        """Return the answers to the questions about micro-batches."""
        line = self._line()
        if line is None:
            return Knowledge()
        return Knowledge({BatchTime("fixed"): line[0], BatchTime("per row"): line[1]})

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as values for JSON."""
        names = ("sums", "arrived", "passed", "batches", "line")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> BatchTimes:
        """Continue from sums that were stored. Raise a ValueError if they are none."""
        try:
            sums = [float(number) for number in stored["sums"]]
            arrived, passed, batches = float(stored["arrived"]), float(stored["passed"]), int(stored["batches"])
            line = None if stored["line"] is None else [float(number) for number in stored["line"]]
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"{stored!r} has no sums of micro-batches") from error
        numbers = [*sums, arrived, passed, batches, *(line or ())]
        is_whole = len(sums) == len(cls().sums) and len(line or [0.0] * 4) == 4
        if not is_whole or not all(0 <= number < math.inf for number in numbers):
            raise ValueError(f"{stored!r} has other sums than those of micro-batches")
        return cls(sums, arrived, passed, batches, None if line is None else (line[0], line[1], line[2], line[3]))
