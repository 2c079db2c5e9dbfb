"""Bars of text with a resolution of one eighth of a character."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

UPWARD = " ▁▂▃▄▅▆▇█"
RIGHTWARD = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class ChartStyle:
    """The rich styles of columns, of values that are still missing, and of the mark."""

    columns: str = ""
    faint: str = ""
    mark: str = ""


PLAIN = ChartStyle()


def column_chart(
    values: Sequence[float], most: float, columns: int, lines: int, width: int, *,
    mark_at: int | None = None, style: ChartStyle = PLAIN,
) -> Text:  # fmt: skip
    """Return a chart with one column per value, as wide as fits. A dot is a value that is still missing; a mark is
    drawn before column `mark_at`.

    >>> print(column_chart([1.0, 4.0], most=4.0, columns=3, lines=2, width=10, mark_at=1).plain)
       ┊██
    ▄▄ ┊██ ·
    >>> print(column_chart([1.0, 4.0], most=4.0, columns=3, lines=1, width=5).plain)
    ▂█·
    """
    gap = " " if (width - 1) // columns > 1 else ""
    thick = min(max((width - 1) // columns - len(gap), 1), 3)
    rows = []
    for line in reversed(range(lines)):
        text = Text(no_wrap=True)
        for i in range(columns):
            if i == mark_at:
                text.append("┊", style.mark)
            if i < len(values):
                eighths = round(8 * lines * values[i] / most) - 8 * line
                text.append(UPWARD[min(max(eighths, 0), 8)] * thick + gap, style.columns)
            else:
                text.append(("·" if line == 0 else " ").ljust(thick + len(gap)), style.faint)
        text.rstrip()
        rows.append(text)
    return Text("\n").join(rows)


def share_bar(share: float, width: int) -> str:
    """Return a bar that fills a share of a width.

    >>> share_bar(0.5, 3)
    '█▌ '
    """
    full, rest = divmod(round(8 * width * share), 8)
    return ("█" * full + RIGHTWARD[rest]).ljust(width)[:width]
