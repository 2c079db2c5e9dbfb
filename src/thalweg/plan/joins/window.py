"""The windows of a query, over the rows of a stream and for the groups of an aggregate, and lengths of time.

>>> print(StreamWindow(length_us=90_000_000), StreamWindow(rows=1000), StreamWindow(length_us=0))
[RANGE 90 SECONDS] [ROWS 1000] [NOW]
>>> print(GroupWindow(600_000_000, 60_000_000), GroupWindow(600_000_000, 600_000_000))
HOP(10 MINUTES, 1 MINUTE) TUMBLE(10 MINUTES)

Lengths are read as people write them: '10 seconds', '1 minute 30 seconds', a timedelta, or a number of time units.

>>> length_of("10 seconds", "us"), length_of("1 hour 5 minutes", "ms"), length_of(7, None)
(10000000, 3900000, 7)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from thalweg.errors import PlanError, nearest

UNITS_NS = {
    "nanosecond": 1, "microsecond": 10**3, "millisecond": 10**6, "second": 10**9, "minute": 60 * 10**9,
    "hour": 3600 * 10**9, "day": 86_400 * 10**9, "week": 7 * 86_400 * 10**9,
}  # fmt: skip
SHORT = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "min": "minute",
         "h": "hour", "d": "day"}  # fmt: skip
TICK_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""The length of a tick of Arrow's timestamps, by unit."""

_NUMPY_NS = {
    "Y": Fraction(31_556_952 * 10**9), "M": Fraction(2_629_746 * 10**9),  # the mean lengths that NumPy uses
    "W": Fraction(UNITS_NS["week"]), "D": Fraction(UNITS_NS["day"]), "m": Fraction(UNITS_NS["minute"]),
    **{unit: Fraction(UNITS_NS[SHORT[unit]]) for unit in ("h", "s", "ms", "us", "ns")},
    "ps": Fraction(1, 10**3), "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9),
}  # fmt: skip
"""The units of timedelta64. Its own conversion wraps around silently."""
MOST_DIGITS = 100
"""The most digits of a number in a length, including those after the point."""
_PLAIN = r"\d{1,30}(\.\d{1,30})?"
"""A number that an example repeats."""

Length = str | int | float | timedelta
"""A length of time. NumPy's whole numbers and timedelta64 are also accepted."""
_PART = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def length_of(length: Length, unit: str | None, what: str = "window") -> int:
    """Return a length in ticks of the time column: in the unit of a timestamp, or as a plain number if `unit` is
    None."""
    given: Any = length
    if isinstance(given, np.number) and _is_number(given):
        given = given.item()
    ns = _nanoseconds_of(given, what)
    if ns is None and unit is not None:
        shown = _shown(given)
        example = f"{shown if re.fullmatch(_PLAIN, shown) else 10} seconds"
        raise PlanError(f"{what}={shown}: the time column has timestamps, so write for example {example!r}")
    if unit is None and (ns or (isinstance(given, float) and not given.is_integer())):
        raise PlanError(f"{what}={_shown(given)}: the time column has whole numbers, so write a whole number")
    ticks = int(given) if ns is None else ns if unit is None else ns / TICK_NS[unit]
    if ticks < 0:
        raise PlanError(f"{what}={_shown(given)}: must not be negative; write 0 or more")
    if ticks >= 2**61:
        raise PlanError(
            f"{what}={_shown(given)}: longer than the time column can represent; write less than 2^61 of its ticks"
        )
    # a fraction of a tick is dropped: times are whole ticks, so no row can fall into it
    return int(ticks)


def check_length(length: Length, what: str) -> None:
    """Refuse a value that is not a length of time for any type of time column.

    >>> check_length("5 s", "window"), check_length(7, "window")
    (None, None)
    >>> check_length("ten seconds", "window")
    Traceback (most recent call last):
    thalweg.errors.PlanError: window='ten seconds': write a number and a unit, such as '10 seconds'
    """
    if not _is_number(length):
        length_of(length, "s", what)  # with the longest tick, so that no length is refused that fits into another unit
    elif isinstance(length, float | np.floating) and not float(length).is_integer():
        raise PlanError(
            f"{what}={length!r}: must be a length of time such as '10 seconds', or a whole number if times are whole "
            "numbers"
        )
    else:
        length_of(length, None, what)


def _is_number(length: object) -> bool:
    return isinstance(length, int | float | np.number) and not isinstance(length, bool | np.timedelta64)


def _shown(length: object) -> str:
    try:
        return repr(length)
    except ValueError:  # Python does not write thousands of digits
        return "a number of too many digits"


def _nanoseconds_of(length: object, what: str) -> Fraction | None:
    """Return a length of time in nanoseconds, exactly; None if it is a number of ticks."""
    if isinstance(length, np.timedelta64):
        unit, count = np.datetime_data(length.dtype)
        if unit not in _NUMPY_NS or np.isnat(length):
            raise PlanError(f"{what}={length!r}: must be a length of time with a unit, such as np.timedelta64(10, 's')")
        return Fraction(int(length.astype(np.int64)) * count) * _NUMPY_NS[unit]
    if isinstance(length, timedelta):
        below_us = getattr(length, "nanoseconds", 0)  # of a pandas.Timedelta
        return Fraction((length.days * 86_400 + length.seconds) * 10**9 + length.microseconds * 10**3 + below_us)
    if isinstance(length, str):
        return _nanoseconds(length, what)
    if isinstance(length, bool) or not isinstance(length, int | float):
        raise PlanError(f"{what}={length!r}: must be a length of time such as '10 seconds', or a timedelta")
    return None


def _nanoseconds(text: str, what: str) -> Fraction:
    total, at = Fraction(0), 0
    words = text.strip()
    while at < len(words):
        part = _PART.match(words, at)
        if part is None:
            raise PlanError(f"{what}={text!r}: write a number and a unit, such as '10 seconds'")
        name = part[2].lower()
        unit = SHORT.get(name, name.removesuffix("s") if name not in UNITS_NS else name)
        if unit not in UNITS_NS:
            raise PlanError(
                f"{what}={text!r}: {part[2]!r} is not a unit of time{nearest(name, UNITS_NS)}; "
                f"use {', '.join(UNITS_NS)}"
            )
        if len(part[1]) > MOST_DIGITS:
            raise PlanError(f"{what}: a number has {len(part[1]):,} digits; write at most {MOST_DIGITS}")
        total += Fraction(part[1]) * UNITS_NS[unit]
        at = part.end()
    if not words:
        raise PlanError(f"{what}={text!r}: write a number and a unit, such as '10 seconds'")
    return total


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """The window of a stream: `[RANGE ...]`, `[ROWS n]` or `[NOW]`."""

    length_us: int | None = None
    """The length in microseconds; None: the window counts rows."""
    rows: int | None = None
    slide_us: int | None = None

    def __str__(self) -> str:
        if self.length_us is None:
            return f"[ROWS {self.rows}]"
        if not self.length_us:
            return "[NOW]"
        slide = "" if self.slide_us is None else f" SLIDE {as_written(self.slide_us)}"
        return f"[RANGE {as_written(self.length_us)}{slide}]"


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """The windows [start, end) of an aggregate: one of this length per slide, aligned to the epoch."""

    length_us: int
    slide_us: int

    def __str__(self) -> str:
        if self.length_us == self.slide_us:
            return f"TUMBLE({as_written(self.length_us)})"
        return f"HOP({as_written(self.length_us)}, {as_written(self.slide_us)})"


def as_written(length_us: int) -> str:
    """Return a length in the largest unit that represents it exactly.

    >>> as_written(3_600_000_000), as_written(1_500_000), as_written(0)
    ('1 HOUR', '1500 MILLISECONDS', '0 SECONDS')
    """
    for name, ns in reversed(UNITS_NS.items()):
        count, rest = divmod(length_us * 1000, ns)
        if not rest and count and name != "week":
            return f"{count} {name.upper()}{'' if count == 1 else 'S'}"
    return "0 SECONDS"
