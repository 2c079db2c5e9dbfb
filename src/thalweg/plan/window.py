"""Windows of a query: over a stream's rows, and of the groups of an aggregate. Lengths are in microseconds.

>>> print(StreamWindow(length_us=90_000_000), StreamWindow(rows=1000), StreamWindow(length_us=0))
[RANGE 90 SECONDS] [ROWS 1000] [NOW]
>>> print(GroupWindow(600_000_000, 60_000_000), GroupWindow(600_000_000, 600_000_000))
HOP(10 MINUTES, 1 MINUTE) TUMBLE(10 MINUTES)
"""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.plan.window_length import UNITS_NS


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
