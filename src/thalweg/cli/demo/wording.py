"""Formats how far a predicate has moved in the order."""

from __future__ import annotations


def moved(written: int, place: int) -> str:
    """Return how far a predicate is from the position where it was written.

    >>> moved(6, 1), moved(1, 3), moved(2, 2)
    ('▲ 5', '▼ 2', '·')
    """
    if written == place:
        return "·"
    return f"▲ {written - place}" if place < written else f"▼ {place - written}"
