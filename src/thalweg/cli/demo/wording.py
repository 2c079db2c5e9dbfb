"""Numbers in words, the same in every view."""

from __future__ import annotations


def number(value: float) -> str:
    """A whole number with separators.

    >>> number(1234567.8)
    '1,234,568'
    """
    return f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share; small ones keep a digit.

    >>> percent(0.5), percent(0.0123), percent(0.0001), percent(None)
    ('50 %', '1.2 %', '0.0 %', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def moved(written: int, place: int) -> str:
    """Where a predicate stands against where it was written.

    >>> moved(6, 1), moved(1, 3), moved(2, 2)
    ('▲ 5', '▼ 2', '·')
    """
    if written == place:
        return "·"
    return f"▲ {written - place}" if place < written else f"▼ {place - written}"
