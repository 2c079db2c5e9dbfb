"""How long the intervals of a stream's micro-batches should be.

Answers: `shortest_interval`, the shortest one in which the query is not busier than it may be, `is_near_limit`, whether
rows alone take nearly as long, `interval_to_try`, a longer one if that is not known well, and `intervals`, some of them
compared; `choose_interval`, all of this for the micro-batches that were timed.
How: a micro-batch of i seconds has rate * i rows and takes fixed + per_row * rate * i. Its load, the share of the
interval in which the query is busy, is fixed / i + per_row * rate. The longer the interval, the lower the load; the
later are results, and the more rows are held, because windows hold the rows of one more interval. If rows alone take
nearly all of the time that is allowed, the interval would have to be hours long for a load that is hardly lower, so it
ends at the length at which the fixed time is a share `NEAR` of what is allowed.
Guarantee: the load is at most `busy` if rows alone take at most `busy` * (1 - `NEAR`); otherwise it is at most
`busy` * (1 + `NEAR`).

>>> shortest_interval(fixed=0.5, per_row=1e-5, rate=20_000, busy=0.7)
1.0
>>> shortest_interval(fixed=0.5, per_row=1e-5, rate=80_000, busy=0.7) is None
True
"""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.optimizer.interval_choice import BUSY, Interval, IntervalChoice
from thalweg.stats.batch_time import BatchTimes

LEAST_S = 0.1
"""The shortest interval, in seconds."""
NEAR = 0.02
"""The query is near its limit if rows leave less than this share of the largest load for the fixed time."""
LARGEST_FIXED = 0.25
"""The time per row is known well if the fixed time is at most this share of the time of a mean micro-batch."""
LONGER = 4.0
"""How many times as many rows as so far the micro-batches have that are tried."""
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The intervals that are compared, as multiples of the one that is chosen."""


def check_busy(busy: object, trigger: object) -> None:
    """Raise a PlanError if the largest load is not a share, or is given without `trigger="auto"`."""
    if busy is None:
        return
    if isinstance(busy, bool) or not isinstance(busy, int | float) or not 0 < busy < 1:
        raise PlanError(f"busy={busy!r}: must be a share of the time above 0 and below 1, such as 0.7")
    if trigger != "auto":
        raise PlanError(f"busy={busy!r} is only for trigger='auto'; remove it, or set the trigger")


def shortest_interval(fixed: float, per_row: float, rate: float, busy: float = BUSY) -> float | None:
    """Return the shortest interval with a load of at most `busy`, in seconds; None if there is none, because the rows
    alone take longer. Near the limit it is the longest one that is worth it, and its load is a little above `busy`.

    >>> shortest_interval(fixed=0.5, per_row=1e-5, rate=69_999, busy=0.7)
    35.714
    """
    left = busy - per_row * rate
    return max(round(fixed / max(left, NEAR * busy), 3), LEAST_S) if left > 0 else None


def is_near_limit(per_row: float, rate: float, busy: float = BUSY) -> bool:
    """Return whether rows alone take nearly as much of the time as is allowed, but not more."""
    return 0 < busy - per_row * rate < NEAR * busy


def interval_to_try(fixed: float, per_row: float, rate: float, mean_rows: float, busy: float = BUSY) -> float | None:
    """Return an interval to try if rows alone seem to take nearly all of the time that is allowed, or more, but
    micro-batches were too small to know; None if there is no doubt. `mean_rows`: the mean of their rows so far.

    The time of small micro-batches does not grow evenly with their rows: it is less, for example, if a stream has none.

    >>> interval_to_try(fixed=0.3, per_row=1e-4, rate=4_000, mean_rows=4_000, busy=0.25)
    4.0
    >>> interval_to_try(fixed=0.3, per_row=1e-4, rate=4_000, mean_rows=16_000, busy=0.25) is None
    True
    """
    is_known = fixed <= LARGEST_FIXED * (fixed + per_row * mean_rows)
    if is_known or busy - per_row * rate >= NEAR * busy or rate <= 0:
        return None
    return max(round(LONGER * mean_rows / rate, 3), LEAST_S)


def interval_of(seconds: float, fixed: float, per_row: float, rate: float, held_s: float) -> Interval:
    """Return what is expected of intervals of this length. `held_s`: for how many seconds rows are held, the mean over
    the rows of all streams."""
    rows = rate * seconds
    took = fixed + per_row * rows
    return Interval(seconds, took / seconds, seconds + took, rows, rate * (held_s + seconds))


def intervals(chosen: float, fixed: float, per_row: float, rate: float, held_s: float) -> list[Interval]:
    """Return some intervals around the one that is chosen, from short to long."""
    lengths = sorted({max(round(chosen * factor, 3), LEAST_S) for factor in FACTORS})
    return [interval_of(each, fixed, per_row, rate, held_s) for each in lengths]


def choose_interval(times: BatchTimes, busy: float = BUSY, held_s: float = 0.0) -> IntervalChoice:
    """Return the interval of the next start, from the times of earlier micro-batches."""
    certain, rate = times.certain(), times.rate
    if certain is None or rate is None:
        return IntervalChoice(times.batches, busy)
    tried = interval_to_try(*certain, rate, times.mean_rows, busy)
    seconds = tried or shortest_interval(*certain, rate, busy)
    return IntervalChoice(
        times.batches, busy, (*certain, rate), seconds, tried is not None, is_near_limit(certain[1], rate, busy),
        () if seconds is None else tuple(intervals(seconds, *certain, rate, held_s)),
    )  # fmt: skip
