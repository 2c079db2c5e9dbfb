"""Axes of pictures: from 0 to the largest value, with marks at round numbers and readable units.

>>> axis = Axis(0.0, 100.0, 90.0)
>>> axis.at(45.0), axis.marks()
(50.0, [0.0, 20.0, 40.0, 60.0, 80.0])
>>> time_unit(5400.0), count_unit(3_400_000)
(Unit(name='min', size=60.0), Unit(name='millions', size=1000000.0))
>>> moment(0.25), moment(90.0), count(12.34), count(1_240_000)
('250 ms', '90 s', '12.3', '1.24 million')
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.draw.svg import width
from thalweg.formatting import few_digits, time_span

MARKS = 6
"""An axis has at most about so many intervals."""
_SMALLEST = 1e-300
"""Below this, the logarithm of a step is not reliable."""
_LONGEST = 1e12
"""A time in seconds from which on it is written with an exponent: about 30,000 years."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that values of an axis are divided by."""

    name: str
    size: float


_TIMES = (Unit("d", 86_400.0), Unit("h", 3600.0), Unit("min", 60.0), Unit("s", 1.0), Unit("ms", 1e-3), Unit("µs", 1e-6),
          Unit("ns", 1e-9))  # fmt: skip
_SIZES = (Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3))
_COUNTS = (Unit("trillions", 1e12), Unit("billions", 1e9), Unit("millions", 1e6))


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from 0 to `most`, and the coordinates of both ends."""

    start: float
    end: float
    most: float

    def at(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (self.end - self.start) * (value / self._range)

    def marks(self, unit: Unit | None = None) -> list[float]:
        """Return the values at which the axis is marked: multiples of 1, 2 or 5 times a power of ten of the unit."""
        size = 1.0 if unit is None else unit.size
        step = _step(self._range / size, hours=unit is not None and unit.name == "h") * size
        return [n * step for n in range(math.floor(self._range / step * (1 + 1e-9)) + 1)]

    def labels(self, unit: Unit, size: float) -> list[tuple[float, str]]:
        """Return the marks of an axis from left to right, with texts as far as there is room in a font of this size."""
        marks = self.marks(unit)
        texts = [marked(value, unit) for value in marks]
        room = max(width(each, size) for each in texts) + size
        every = math.ceil(room / (self.at(marks[1]) - self.at(marks[0])))
        return [
            (value, each if n % every == 0 else "") for n, (value, each) in enumerate(zip(marks, texts, strict=True))
        ]

    @property
    def _range(self) -> float:
        """The largest value; 1 if there is none above 0, since an axis needs a length."""
        return self.most if self.most > _SMALLEST else 1.0


def time_unit(longest: float) -> Unit:
    """Return the unit for an axis of times up to this many seconds: the largest that goes into it twice."""
    seconds = Unit("s", 1.0)
    return seconds if longest >= _LONGEST else next((unit for unit in _TIMES if longest >= 2 * unit.size), seconds)


def count_unit(most: float) -> Unit:
    """Return the unit for an axis of counts up to this one."""
    if most >= 1e15:
        return Unit("", 1.0)
    return next((unit for unit in _COUNTS if most >= unit.size), Unit("", 1.0))


def byte_unit(most: float) -> Unit:
    """Return the unit for an axis of bytes up to this many."""
    return next((unit for unit in _SIZES if most >= unit.size), Unit("bytes", 1.0))


def marked(value: float, unit: Unit) -> str:
    """Format the value at a mark.

    >>> marked(0.30000000000000004, Unit("s", 1.0)), marked(12_000.0, Unit("", 1.0)), marked(1e300, Unit("", 1.0))
    ('0.3', '12,000', '1e+300')
    """
    return f"{value / unit.size:,.9g}"


def moment(seconds: float) -> str:
    """Format a time of so many seconds, rounded."""
    return f"{seconds:.3g} s" if seconds >= _LONGEST else time_span(round(seconds * 1e9), 1)


def count(number: float) -> str:
    """Format a number of results, rounded to about three digits from a million on."""
    if number >= 1e15:
        return f"{number:.3g}"
    unit = count_unit(float(f"{number:.3g}"))
    return (
        f"{number / unit.size:.3g} {unit.name.removesuffix('s')}"
        if unit.name
        else few_digits(number if number < 999.5 else round(number))
    )


def _step(most: float, *, hours: bool) -> float:
    """Return the distance of marks: 1, 2 or 5 times a power of ten; for hours, also parts of a day."""
    if hours and (part := next((part for part in (0.5, 1, 2, 3, 6, 12) if most / part <= MARKS), None)):
        return float(part)
    power = 10.0 ** math.floor(math.log10(most / MARKS))
    return next(n * power for n in (1, 2, 5, 10, 20) if most / (n * power) <= MARKS)
