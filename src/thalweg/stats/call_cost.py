"""What one more row costs a predicate, told apart from what a call costs whatever its size.

A vectorised predicate is called once a slice on the rows still alive: sometimes on a thousand, sometimes on four. The
fixed part of a call (dispatch, conversion, compiling a pattern) is paid in every order alike; only the part that grows
with the rows can be saved by reordering, so that is the t_i of equation 1. Dividing time by rows would make every
filter look dear at the end of the chain, where its calls are small.

Answers: `per_row_ns` and `fixed_ns` by least squares over (rows, time) of recent calls, older calls weighing
exponentially less. `per_row_ns` is one standard error on the dear side: a filter wrongly held to be cheap is moved to
the front and sees every row, one wrongly held to be dear only waits a little longer. One weak observation at (0, 0)
makes the answer plain time per row while all calls have one size.
Guarantee: 0 < per_row_ns <= mean time / mean rows, and <= the time per row of the best recent call (the fixed part is
never negative).
Cost: a dozen additions a call.
Differs from a-greedy section 4.1.2, which averages a window of per-tuple times: tuples are not timed one by one here.
The first call counts only as a bound, since it pays for imports, compilation and caches; a call far above what the
others predict (the process was descheduled) counts only as far as `OUTLIER` times the prediction.

>>> cost = CallCost()
>>> for rows in (1, 1000, 10, 1000, 10, 1000, 10):
...     cost.record(rows, 5_000 + 200 * rows)
>>> round(cost.per_row_ns, -1), round(cost.fixed_ns, -3)
(200.0, 4000.0)
"""

from __future__ import annotations

import math

MEMORY_CALLS = 64
"""Calls after which one weighs 1/e: some 64,000 rows at the front of a chain."""
OUTLIER = 4.0
"""A descheduled process shows times ten to a thousand times too long. A predicate that really gets dearer is followed
within two memories, some 128 calls, because the best calls bound the estimate."""
ORIGIN_WEIGHT = 0.5
"""Of the observation (0 rows, 0 ns); small, so that two calls of different size outweigh it."""
LEAST_SHARE = 0.02
"""The per-row part is at least this share of the mean, so that noise cannot make a predicate free."""


class CallCost:
    """Online least squares over the calls of one predicate."""

    __slots__ = (
        "_best",
        "_best_before",
        "_calls",
        "_w",
        "_x",
        "_xx",
        "_xy",
        "_y",
        "_yy",
        "error_ns",
        "fixed_ns",
        "per_row_ns",
    )

    def __init__(self) -> None:
        self._calls = 0
        self._w = self._x = self._y = self._xx = self._xy = self._yy = 0.0
        self._best = self._best_before = math.inf  # time per row of the best call of this and of the last 64
        self.per_row_ns = math.nan
        self.fixed_ns = math.nan
        self.error_ns = math.nan
        """The standard error of `per_row_ns`; nan while it is one call's, or another worker's."""

    @property
    def known(self) -> bool:
        """Whether a call has been seen, here or by the worker whose estimate was taken over."""
        return not math.isnan(self.per_row_ns)

    def take_over(self, per_row_ns: float, fixed_ns: float = 0.0) -> None:
        """Begin with another worker's estimate: the first call here pays for warming up."""
        self.per_row_ns, self.fixed_ns = per_row_ns, fixed_ns

    def record(self, rows: int, ns: float) -> None:
        """One call on `rows` rows took `ns`."""
        self._calls += 1
        ns = max(ns, 1.0)  # a clock too coarse to see the call must not make it free
        if self._calls == 1:
            self._best = self._best_before = ns / rows
            if not self.known:
                self.per_row_ns, self.fixed_ns = ns / rows, 0.0
            return
        # the bound is of real calls: bounding it by a prediction would let one that is too low confirm itself
        self._best = min(self._best, ns / rows)
        if self._calls % MEMORY_CALLS == 0:  # so that a predicate that gets dearer is followed
            self._best_before, self._best = self._best, ns / rows
        least = min(self._best, self._best_before)
        if self._calls > 2:
            ns = min(ns, OUTLIER * max(self.fixed_ns + self.per_row_ns * rows, least * rows))
        keep = 1.0 - 1.0 / MEMORY_CALLS
        self._w = self._w * keep + 1.0
        self._x = x = self._x * keep + rows
        self._y = y = self._y * keep + ns
        self._xx = self._xx * keep + float(rows) * rows
        self._xy = self._xy * keep + rows * ns
        self._yy = self._yy * keep + ns * ns
        w = self._w + ORIGIN_WEIGHT
        sxx = self._xx - x * x / w
        sxy = self._xy - x * y / w
        slope = sxy / sxx
        freedom = max(w - 2.0, ORIGIN_WEIGHT)  # two parameters are fitted: after two calls nearly nothing is known
        self.error_ns = error = math.sqrt(max(self._yy - y * y / w - slope * sxy, 0.0) / (freedom * sxx))
        most = min(y / x, least)
        self.per_row_ns = slope = min(max(slope + error, LEAST_SHARE * most), most)
        self.fixed_ns = max(0.0, (y - slope * x) / w)
