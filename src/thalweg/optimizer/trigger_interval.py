"""How long the intervals of a stream's micro-batches should be.

Answers: `shortest_interval`, the shortest one in which the query is not busier than it may be, and `intervals`, some of
them compared.
How: a micro-batch of i seconds has rate * i rows and takes fixed + per_row * rate * i. Its load, the share of the
interval in which the query is busy, is fixed / i + per_row * rate. The longer the interval, the lower the load; the
later are results, and the more rows are held, because windows hold the rows of one more interval.

>>> shortest_interval(fixed=0.5, per_row=1e-5, rate=20_000, busy=0.7)
1.0
>>> shortest_interval(fixed=0.5, per_row=1e-5, rate=80_000, busy=0.7) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.errors import PlanError

BUSY = 0.7
"""The default for the largest load."""
LEAST_S = 0.1
"""The shortest interval, in seconds."""
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The intervals that are compared, as multiples of the one that is chosen."""


@dataclass(frozen=True)
class Interval:
    """What is expected of intervals of one length."""

    seconds: float
    load: float
    """The share of the time in which the query is busy."""
    latency: float
    """The seconds from the arrival of a row at the beginning of an interval to its results."""
    rows: float
    """The rows of a micro-batch."""
    held: float
    """The rows that windows hold."""


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
    alone take longer."""
    left = busy - per_row * rate
    return max(round(fixed / left, 3), LEAST_S) if left > 0 else None


def interval_of(seconds: float, fixed: float, per_row: float, rate: float, held_s: float) -> Interval:
    """Return what is expected of intervals of this length. `held_s`: for how many seconds rows are held, the mean over
    the rows of all streams."""
    rows = rate * seconds
    took = fixed + per_row * rows
    return Interval(seconds, took / seconds, seconds + took, rows, rate * (held_s + seconds))


def intervals(fixed: float, per_row: float, rate: float, held_s: float, busy: float = BUSY) -> list[Interval]:
    """Return some intervals around the shortest one, from short to long; empty if there is none."""
    chosen = shortest_interval(fixed, per_row, rate, busy)
    if chosen is None:
        return []
    lengths = sorted({max(round(chosen * factor, 3), LEAST_S) for factor in FACTORS})
    return [interval_of(each, fixed, per_row, rate, held_s) for each in lengths]
