"""How long data stays as it is: whether it is worth following.

Each move of the data tells how many rows the time between two moves has. Where that is too short to learn anything
before the next move, following only adds the cost of being late: such data is volatile, and is judged as a whole.
"""

from __future__ import annotations

import math

from thalweg.adapt.purse import Purse

LEAST_MOVES = 4
"""Fewer moves say little about how often they come."""
LEARNS, LOOKS = 48, 16
"""Profiled rows that must be affordable between two moves, and looks that must fit in."""


class Regimes:
    """The moves of one worker's data."""

    def __init__(self) -> None:
        self.moves = 0
        self.moved_at = 0
        """Rows seen at the last move."""
        self._lasts = math.nan  # rows between moves, the latest counting half

    def move(self, rows: int) -> None:
        """The data has moved, after so many rows in all."""
        lasted = max(rows - self.moved_at, 1)
        self._lasts = lasted if math.isnan(self._lasts) else math.sqrt(self._lasts * lasted)
        self.moved_at = rows
        self.moves += 1

    def volatile(self, rows: int, purse: Purse) -> bool:
        """Whether data moves so often that what it is now is not learned before it moves again."""
        if self.moves < LEAST_MOVES:
            return False
        lasts = max(self._lasts, rows - self.moved_at)
        earned_ns = purse.budget * purse.row_ns * lasts
        return lasts < LOOKS * purse.look_rows() or earned_ns < LEARNS * purse.each_ns + purse.show_ns
