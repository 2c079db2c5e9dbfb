"""Estimates what a predicate costs: the cost per row and the fixed cost per call, without waits for other processes.

A vectorized predicate is called once per slice on the rows still alive: sometimes on thousands, sometimes on four. Time
divided by rows would make every filter look expensive at the end of the chain, where its calls are small. Calls of
different sizes separate the two parts; calls of one size cannot, and then the error is large.

Answers: `per_row_ns` and `fixed_ns`, with `error_ns`, the standard error of the first, and bounds on it.
Guarantee: both are at least zero, and together they explain recent calls: a call of the size that was seen last costs
about what it cost then. `least_ns <= per_row_ns <= most_ns`, and `most_ns` is at most the larger of `per_row_ns` and
the time per row of the best recent call.
Cost: about thirty floating-point operations per call.

The two parts are tracked by a Kalman filter: each call observes `fixed + rows * per_row`, up to `NOISE`, and between
calls both drift by `DRIFT`. What calls of one size cannot show keeps its value, and its error grows slowly; a sum over
recent calls would forget what is known about the fixed part while all calls have the same size. The first call counts
little, because it pays for imports, compilation and caches. A call far above the prediction (the process was
descheduled) counts as `OUTLIER` times the prediction, unless the next one of about that size agrees: then the predicate
has become more expensive, and its history is forgotten, as it is if a call takes less than a third of the prediction.
Differs from a-greedy, section 4.1.2, which averages a window of per-tuple times: tuples are not timed one by one here.

>>> cost = CallCost()
>>> for rows in (1, 1000, 10, 1000, 10, 1000, 10):
...     cost.record(rows, 5_000 + 200 * rows)
>>> round(cost.per_row_ns, -1), round(cost.fixed_ns, -3)
(200.0, 5000.0)
"""

from __future__ import annotations

import math
from statistics import median

NOISE = 0.1
"""The least noise from one call to the next, as a share of its time."""
NOISE_NS = 1_500.0
"""The noise of every call whatever its size, from the clock, caches and the interpreter."""
NOISE_MEMORY = 0.1
"""If calls differ by more, that is learned, and each call has this weight."""
DRIFT = 0.015
"""How much costs change from call to call, as a share: a prediction is mostly based on the last dozen calls."""
USUAL_FIXED_NS, MOST_FIXED_NS = 2e4, 1e6
"""The assumed fixed part of a first call and its standard error, until more calls are known; each at most half of the
call."""
MOST_NS = 1e15
"""The upper limit of all costs; no row and no call takes longer than eleven days."""
WARM_CALLS = 3
OUTLIER = 4.0
SUDDEN = 2.0
"""If two calls in a row exceed the prediction by this factor, the predicate has become more expensive."""
LEAST_SHARE = 0.01
"""The per-row part is at least this share of the best call's time per row, so that noise cannot make a predicate
free."""


class CallCost:
    """A two-dimensional Kalman filter over the calls of one predicate."""

    __slots__ = (
        "_best", "_calls", "_cc", "_cf", "_exceeded", "_ff", "_noise", "fixed_ns", "least_ns", "most_ns",
        "most_rows", "per_row_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self._calls = 0
        self._exceeded = 0  # rows of the last call, if it took far longer than predicted
        self._cc = self._cf = self._ff = math.nan  # covariance of (per row, fixed)
        self._noise = 1.0  # the variance of a call's time divided by that of the usual noise
        self._best = math.inf  # time per row of the best call
        self.per_row_ns = math.nan
        self.fixed_ns = math.nan
        self.least_ns = 0.0
        """The lower bound of the cost per row, by two standard errors; 0 if unknown. `most_ns` is the upper bound,
        infinity if unknown."""
        self.most_ns = math.inf
        self.most_rows = 0
        """Rows of the largest call since the cost last changed."""

    @property
    def known(self) -> bool:
        """Whether a call has been seen, here or by the worker whose estimate was taken over."""
        return not math.isnan(self.per_row_ns)

    @property
    def error_ns(self) -> float:
        """The standard error of `per_row_ns`; nan if unknown."""
        if not self.known:
            return math.nan
        return math.sqrt(max(self._cc * self._noise, 0.0))  # rounding may leave it below zero

    def take_over(
        self, per_row_ns: float, fixed_ns: float = 0.0, error_ns: float | None = None, most_rows: int = 0
    ) -> None:
        """Start from another worker's estimate. The first call here changes it little, because it pays for warming
        up."""
        self.per_row_ns, self.fixed_ns = min(per_row_ns, MOST_NS), min(fixed_ns, MOST_NS)
        self._noise, self._exceeded, self._best = 1.0, 0, math.inf  # the error includes the noise measured there
        self.most_rows = max(self.most_rows, most_rows)
        error = min(0.5 * per_row_ns if error_ns is None else error_ns, MOST_NS)
        self._cc, self._cf, self._ff = error * error, 0.0, (0.5 * self.fixed_ns + NOISE_NS) ** 2
        self._bound()

    def record(self, rows: int, ns: float) -> None:
        """Record that one call on `rows` rows took `ns`."""
        self._calls += 1
        ns = max(ns, 1.0)  # a clock too coarse to see the call must not make it free
        if not self.known:
            self._begin(rows, ns)
            return
        predicted = self.fixed_ns + self.per_row_ns * rows
        unsure = self._cc * rows * rows + 2.0 * self._cf * rows + self._ff
        if self._calls == 1 and ns > predicted:  # taken over, and this call pays for warming up
            return
        less = predicted - ns
        if 3.0 * less > 2.0 * predicted + 3.0 * NOISE_NS and (self._calls <= WARM_CALLS or less * less > 9.0 * unsure):
            self._begin(rows, ns)  # the first call was for warming up, or the predicate has become cheaper
            return
        if ns > SUDDEN * predicted + 3.0 * math.sqrt(max(unsure, 0.0)) + 4.0 * NOISE_NS:
            if self._exceeded:
                self._begin(rows, ns)
                return
            self._exceeded = rows
            ns = min(ns, OUTLIER * predicted)
        elif 2 * rows >= self._exceeded:  # a much smaller call, for example on a sample, hardly shows what rows cost
            self._exceeded = 0
        self._best = min(self._best * (1.0 + DRIFT), ns / rows)
        self.most_rows = max(self.most_rows, rows)
        self._observe(rows, ns, predicted)
        self._bound()

    def _begin(self, rows: int, ns: float) -> None:
        """Start from one call. It shows the cost of a call of its size, but not how the cost is split."""
        fixed = min(0.5 * ns, USUAL_FIXED_NS)
        self.per_row_ns, self.fixed_ns = (ns - fixed) / rows, fixed
        # the same fixed part in all three: only the split is unknown, the sum is known up to noise
        split = min(0.5 * ns, MOST_FIXED_NS) ** 2
        self._ff, self._cf, self._cc = split, -split / rows, split / (rows * rows) + (NOISE * ns / rows) ** 2
        self._best, self.most_rows = ns / rows, rows
        self._exceeded = 0
        self._noise = 1.0
        self._bound()

    def _observe(self, rows: int, ns: float, predicted: float) -> None:
        cc = self._cc + (DRIFT * self.per_row_ns) ** 2
        ff = self._ff + (DRIFT * self.fixed_ns) ** 2
        cf = self._cf
        to_c, to_f = cc * rows + cf, cf * rows + ff
        unsure, surprise = rows * to_c + to_f, ns - predicted
        variance = unsure + (NOISE * predicted) ** 2 + NOISE_NS**2
        gain_c, gain_f = to_c / variance, to_f / variance
        # what the uncertainty of the costs does not explain is noise of this predicate or of this machine. It makes the
        # costs less certain, but the estimate still follows changes as quickly
        unexplained = min(max(surprise * surprise - unsure, 0.0) / max(predicted * predicted, 1.0), 1.0) / NOISE**2
        self._noise = max(self._noise + NOISE_MEMORY * (unexplained - self._noise), 1.0)
        per_row, fixed = self.per_row_ns + gain_c * surprise, self.fixed_ns + gain_f * surprise
        self._cc, self._cf, self._ff = cc - gain_c * to_c, cf - gain_c * to_f, ff - gain_f * to_f
        least = LEAST_SHARE * self._best  # not of this call's time per row, which is all fixed part in a small call
        if fixed < 0.0:  # what is impossible for one part belongs to the other
            per_row, fixed = per_row + fixed / rows, 0.0
        if per_row < least:
            per_row, fixed = least, max(fixed - (least - per_row) * rows, 0.0)
        self.per_row_ns, self.fixed_ns = per_row, fixed

    def _bound(self) -> None:
        self.most_ns = max(min(self.per_row_ns + 2.0 * self.error_ns, self._best), self.per_row_ns)
        self.least_ns = min(max(self.per_row_ns - 2.0 * self.error_ns, LEAST_SHARE * self.per_row_ns), self.per_row_ns)


LEAST, KEPT = 3, 9
"""The minimum and the maximum number of calls from which the usual wait is taken."""
HARDLY_NS, HARDLY = 20_000, 0.1
"""A wait of at most this long, or at most this share of the call, is charged in full."""


class UsualWait:
    """Estimates how long a call would have taken on an idle machine, from its wall-clock time and its CPU time.

    A predicate that calls a service waits for it, and that wait is part of its cost. A process that shares its core
    with others waits too, but that says nothing about the predicate. The difference: the first waits in every call.

    Answers: the time to charge for a call: its CPU time plus its wait, limited to the usual wait of this predicate.
    Guarantee: at most the wall-clock time. A predicate that waits in every call is charged for its usual wait, whether
    it waits per row or per call. A predicate that never waits is charged for its CPU time once `LEAST` calls have been
    seen, even if up to half of its calls are interrupted.
    Cost: two additions per call; for a call that waited, sorting a few numbers.

    >>> wait = UsualWait()
    >>> [wait.counted(100, 50_000, 50_000) for _ in range(5)]
    [50000, 50000, 50000, 50000, 50000]
    >>> wait.counted(100, 4_050_000, 50_000)  # interrupted
    50000
    """

    __slots__ = ("_at", "_per_row", "_waits")

    def __init__(self) -> None:
        self._waits: list[float] = []
        self._per_row: list[float] = []
        self._at = 0

    def counted(self, rows: int, wall_ns: int, cpu_ns: int) -> int:
        """The time to charge for a call on this many rows."""
        waited = max(wall_ns - cpu_ns, 0)
        counted = wall_ns
        if waited > HARDLY_NS and waited > HARDLY * wall_ns and len(self._waits) >= LEAST:
            usual = max(median(self._waits), median(self._per_row) * rows)
            counted = wall_ns - waited + round(min(waited, usual))
        if len(self._waits) < KEPT:
            self._waits.append(waited)
            self._per_row.append(waited / rows)
        else:
            self._waits[self._at], self._per_row[self._at] = waited, waited / rows
            self._at = (self._at + 1) % KEPT
        return counted
