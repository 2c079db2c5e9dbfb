"""Lengths of virtual time: numbers count time units, text has its own unit. Internally, time is in whole ticks.

A tick is a billionth of a time unit. The unit is the second if lengths are written as text, and the unit of the paper
if they are numbers. Whole numbers add up without rounding, so the same events give the same trace.

>>> ticks(0.005), ticks("5 ms"), ticks(20)
(5000000, 5000000, 20000000000)
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from thalweg.errors import PlanError
from thalweg.plan.joins.window import Length, length_of

UNIT = 10**9
"""The number of ticks per time unit."""


def ticks(length: Length, what: str = "length") -> int:
    """Return a length in ticks, rounded to the nearest."""
    if isinstance(length, (str, timedelta)):
        return length_of(length, "ns", what)
    if isinstance(length, bool) or not isinstance(length, (int, float)) or not 0 <= length < math.inf:
        raise PlanError(f"{what}={length!r}: must be a number of time units, 0 or more, or text such as '5 ms'")
    return length * UNIT if isinstance(length, int) else round(length * UNIT)


def instant(at: float | datetime, what: str = "start") -> int:
    """Return the ticks since 0, which is 1970 if times are timestamps.

    >>> instant(1.5), instant(datetime(1970, 1, 1, 0, 1))
    (1500000000, 60000000000)
    """
    if isinstance(at, datetime):
        since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * UNIT + since.microseconds * 1000
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not math.isfinite(at):
        raise PlanError(f"{what}={at!r}: must be a number of time units or a datetime")
    return at * UNIT if isinstance(at, int) else round(at * UNIT)
