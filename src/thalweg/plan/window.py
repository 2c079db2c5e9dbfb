"""Windows of a query, over a stream's rows and of the groups of an aggregate, and lengths of time.

>>> print(StreamWindow(length_us=90_000_000), StreamWindow(rows=1000), StreamWindow(length_us=0))
[RANGE 90 SECONDS] [ROWS 1000] [NOW]
>>> print(GroupWindow(600_000_000, 60_000_000), GroupWindow(600_000_000, 600_000_000))
HOP(10 MINUTES, 1 MINUTE) TUMBLE(10 MINUTES)

Lengths are read as people write them: '10 seconds', '1 minute 30 seconds', a timedelta, or a number of time units.

>>> length_of("10 seconds", "us"), length_of("1 hour 5 minutes", "ms"), length_of(7, None)
(10000000, 3900000, 7)

Ticks are shown as people read them:

>>> in_words(93_719_920, 1_000), in_words(6_541, 1_000), in_words(7_380, 10**9), in_words(7, None)
('93.7 s', '6.5 ms', '2 h 3 min', '7 ticks of time')
>>> exactly(93_719_920, 1_000)
'1 min 33 s 719 ms 920 µs'
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

import numpy as np

from thalweg.errors import PlanError, nearest

UNITS_NS = {
    "nanosecond": 1, "microsecond": 10**3, "millisecond": 10**6, "second": 10**9, "minute": 60 * 10**9,
    "hour": 3600 * 10**9, "day": 86_400 * 10**9, "week": 7 * 86_400 * 10**9,
}  # fmt: skip
SHORT = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "min": "minute",
         "h": "hour", "d": "day"}  # fmt: skip
TICK_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Of Arrow's timestamps."""
_FEW = (("ns", 1, 1000), ("µs", 10**3, 1000), ("ms", 10**6, 1000), ("s", 10**9, 120))
"""Units, their ns, and how many of them are told in the next one."""
_MANY = (("min", "s", 10**9, 60, 60), ("h", "min", 60 * 10**9, 60, 24), ("d", "h", 3600 * 10**9, 24, math.inf))
"""A unit, the one below it, ns of that, how many of it are one of the first, and as above."""
_WHOLE = (("d", 86_400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9), ("ms", 10**6), ("µs", 10**3),
          ("ns", 1))  # fmt: skip

Length = str | int | float | timedelta
"""NumPy's whole numbers and timedelta64 serve too."""
_PART = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def length_of(length: Length, unit: str | None, what: str = "window") -> int:
    """In ticks of the time column: of a timestamp's unit, or of plain numbers when that is None."""
    given: object = length
    if isinstance(given, np.timedelta64):
        length = f"{int(given.astype('timedelta64[ns]').astype(np.int64))} ns"
    elif isinstance(given, np.number):
        length = given.item()
    if isinstance(length, bool) or not isinstance(length, (str, int, float, timedelta)):
        raise PlanError(f"{what}={length!r}: must be a length of time such as '10 seconds', or a timedelta")
    if unit is None:
        if isinstance(length, (str, timedelta)) and length_of(length, "ns", what) == 0:
            return 0  # nothing is nothing in any unit
        if not isinstance(length, (int, float)) or not math.isfinite(length) or length != int(length):
            raise PlanError(f"{what}={length!r}: the time column holds whole numbers, so give a whole number of them")
        ticks = Fraction(int(length))
    elif isinstance(length, timedelta):
        ns = (length.days * 86_400 + length.seconds) * 10**9 + length.microseconds * 10**3
        ticks = Fraction(ns, TICK_NS[unit])
    elif isinstance(length, str):
        ticks = Fraction(_nanoseconds(length, what), TICK_NS[unit])
    else:
        raise PlanError(f"{what}={length!r}: the time column holds timestamps, so give '{length} seconds' or the like")
    if ticks < 0:
        raise PlanError(f"{what}={length!r}: must not be negative; 0 is the least")
    if ticks >= 2**61:
        raise PlanError(f"{what}={length!r}: longer than the time column can tell; give less than 2^61 of its ticks")
    # a window counts what is within it, and times are whole ticks, so what is left over can hold nothing
    return int(ticks)


def check_length(length: Length, what: str) -> None:
    """Refuses what is no length of time whatever the time column holds.

    >>> check_length("5 s", "window"), check_length(7, "window")
    (None, None)
    >>> check_length("ten seconds", "window")
    Traceback (most recent call last):
    thalweg.errors.PlanError: window='ten seconds': write a number and a unit, such as '10 seconds'
    """
    given: object = length
    if isinstance(given, (bool, str, timedelta, np.timedelta64)) or not isinstance(given, (int, float, np.number)):
        length_of(length, "s", what)  # the longest tick there is: what it can tell too little of, another may not
    elif not math.isfinite(given) or given != int(given):
        raise PlanError(
            f"{what}={length!r}: must be a length of time such as '10 seconds', or, where times are whole numbers, a "
            "whole number"
        )
    else:
        length_of(length, None, what)


def in_words(ticks: int, tick_ns: int | None) -> str:
    """For a sentence; None: the time column holds whole numbers, and nobody knows how long one is.

    >>> in_words(0, 1), in_words(999_949, 1), in_words(999_950, 1), in_words(119_949, 10**6), in_words(119_950, 10**6)
    ('0 s', '999.9 µs', '1 ms', '119.9 s', '2 min')
    >>> in_words(86_399, 10**9), in_words(90_000_000, 10**6), in_words(1, None)
    ('1 d', '1 d 1 h', '1 tick of time')
    """
    if tick_ns is None:
        return f"{ticks:,} {'tick' if ticks == 1 else 'ticks'} of time"
    ns = ticks * tick_ns
    if not ns:
        return "0 s"
    for unit, unit_ns, end in _FEW:
        tenths = (10 * ns + unit_ns // 2) // unit_ns
        if tenths < 10 * end:
            return f"{tenths / 10:g} {unit}"
    for unit, part, part_ns, parts, most in _MANY:
        whole, rest = divmod((ns + part_ns // 2) // part_ns, parts)
        words = f"{whole:,} {unit} {rest} {part}" if rest else f"{whole:,} {unit}"
        if whole < most:
            break
    return words


def exactly(ticks: int, tick_ns: int | None) -> str:
    """With nothing rounded, so that two lengths that differ are told apart.

    >>> exactly(5_010_000, 1_000), exactly(90_000, 10**6), exactly(0, 1), exactly(691_200, 10**9), exactly(7, None)
    ('5 s 10 ms', '1 min 30 s', '0 s', '8 d', '7 ticks of time')
    """
    if tick_ns is None or not ticks:
        return in_words(ticks, tick_ns)
    told, rest = [], ticks * tick_ns
    for unit, unit_ns in _WHOLE:
        count, rest = divmod(rest, unit_ns)
        if count:
            told.append(f"{count:,} {unit}")
    return " ".join(told)


def _nanoseconds(text: str, what: str) -> int:
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
                f"{what}={text!r}: {part[2]!r} is no unit of time{nearest(name, UNITS_NS)}; "
                f"there are {', '.join(UNITS_NS)}"
            )
        total += Fraction(part[1]) * UNITS_NS[unit]
        at = part.end()
    if not words:
        raise PlanError(f"{what}={text!r}: write a number and a unit, such as '10 seconds'")
    return int(total)


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """`[RANGE ...]`, `[ROWS n]` or `[NOW]`."""

    length_us: int | None = None
    """None: it is of rows."""
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
    """Windows [start, end) of a length, one every slide, aligned to the epoch."""

    length_us: int
    slide_us: int

    def __str__(self) -> str:
        if self.length_us == self.slide_us:
            return f"TUMBLE({as_written(self.length_us)})"
        return f"HOP({as_written(self.length_us)}, {as_written(self.slide_us)})"


def as_written(length_us: int) -> str:
    """In the largest unit that tells it exactly.

    >>> as_written(3_600_000_000), as_written(1_500_000), as_written(0)
    ('1 HOUR', '1500 MILLISECONDS', '0 SECONDS')
    """
    for name, ns in reversed(UNITS_NS.items()):
        count, rest = divmod(length_us * 1000, ns)
        if not rest and count and name != "week":
            return f"{count} {name.upper()}{'' if count == 1 else 'S'}"
    return "0 SECONDS"
