"""The interval of a stream's micro-batches that was chosen, as frozen data. `trigger_interval.py` chooses it."""

from __future__ import annotations

from dataclasses import dataclass

BUSY = 0.7
"""The default for the largest load."""


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


@dataclass(frozen=True)
class IntervalChoice:
    """The interval that `trigger="auto"` takes at the next start, and what it follows from."""

    batches: int
    """The micro-batches that were timed."""
    busy: float
    """The largest load that is allowed."""
    counted: tuple[float, float, float] | None = None
    """The fixed seconds of a micro-batch, the seconds per row and the rows per second; None if they are unknown."""
    seconds: float | None = None
    """The interval; None: unknown, or no interval is long enough."""
    is_trial: bool = False
    """Whether it is tried because micro-batches were too small to be sure."""
    is_near_limit: bool = False
    """Whether rows alone take nearly as much of the time as is allowed."""
    compared: tuple[Interval, ...] = ()
    """Some intervals around it, from short to long."""
