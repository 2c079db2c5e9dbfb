"""Measures how long the data stays the same, to decide whether its changes are worth following.

Whenever the data moves, the number of rows since the previous move is recorded. If the moves come too soon to learn
anything in between, following them only costs time, because every new order comes too late. Such data is volatile, and
one order is chosen for all of it.
"""

from __future__ import annotations

import math

from thalweg.adapt.purse import Purse

LEAST_MOVES = 4
"""Fewer moves are not enough to know how often the data moves."""
LEAST_TUPLES, LEAST_CHECKS = 48, 16
"""How many profiled rows the budget must pay for between two moves, and how many checks for drift must fit in."""


class Regimes:
    """When the data of one worker has moved."""

    def __init__(self) -> None:
        self.moves = 0
        self.moved_at = 0
        """Rows seen at the last move."""
        self._lasts = math.nan  # rows between two moves: a geometric mean in which the latest counts half

    def move(self, rows: int) -> None:
        """Record that the data has moved, after this many rows in total."""
        lasted = max(rows - self.moved_at, 1)
        self._lasts = lasted if math.isnan(self._lasts) else math.sqrt(self._lasts * lasted)
        self.moved_at = rows
        self.moves += 1

    def volatile(self, rows: int, purse: Purse) -> bool:
        """Whether the data moves too often to learn anything before the next move."""
        if self.moves < LEAST_MOVES:
            return False
        lasts = max(self._lasts, rows - self.moved_at)
        earned_ns = purse.budget * purse.row_ns * lasts
        return lasts < LEAST_CHECKS * purse.look_rows() or earned_ns < LEAST_TUPLES * purse.each_ns + purse.show_ns
