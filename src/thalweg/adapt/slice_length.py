"""How many rows a slice should have.

Short slices react soon and can go wrong only a little; long ones pay the fixed cost of calls, and of slicing, less
often. So slices begin with `FIRST_ROWS` rows, when a row may cost a millisecond for all one knows, and grow: each
update makes them at most `GROWTH` times as long; more than twice only where a slice then takes at most as long as
everything before it, by what filters may cost at most. They end where looking for drift takes its share of the budget,
unless fixed costs ask for longer ones. When the data moves, they begin again at about `URGENT_NS`.

Guarantee: apart from fixed costs that ask for more, a slice takes at most `SLIP_NS` if ten times as many rows as
expected get to every filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.outlook import Outlook, Walk
from thalweg.adapt.purse import Purse

FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 16, 64, 16_384
GROWTH = 8
"""Each update makes slices at most so many times as long."""
URGENT_NS = 2e6
"""What a slice should take when the data has just moved: a few make a decision."""
SLIP_NS, SLIP, LEAK = 20e6, 10.0, 0.01
"""The time of a slice at most, if to each filter so many times the expected rows get, and this share of all besides."""
FIXED_SHARE = 0.01
"""Slices are so long that the fixed cost of calls is at most this share, where that can be had."""
SLICE_NS = 30_000.0
"""What a slice costs besides its calls, about."""

Numbers = NDArray[np.float64]


class SliceLength:
    """For one worker."""

    def __init__(self) -> None:
        self.rows = FIRST_ROWS
        self.goal = MOST_ROWS
        self._most_row_ns = 0.0
        self._begun_ns = 0.0
        self._careful = False

    @property
    def settled(self) -> bool:
        """Whether slices have reached the length they should have."""
        return self.rows >= self.goal

    def urge(self, now_ns: float, row_ns: float) -> None:
        """The data has moved, and a row took so long lately."""
        self._begun_ns = now_ns
        self.rows = int(min(self.rows, max(URGENT_NS / max(row_ns, 1.0), LEAST_ROWS)))

    def take_care(self, now_ns: float) -> None:
        """What rows will cost is not to be relied on: begin with few, and double."""
        self._begun_ns, self._careful = now_ns, True
        self.rows = min(self.rows, LEAST_ROWS)

    def aim(self, outlook: Outlook, walk: Walk, most_ns: Numbers, purse: Purse, rows_since: int) -> None:
        """Set the length to reach, for an order. `most_ns`: what a row may cost each filter at most. `rows_since`: rows
        seen since the data moved, or since the start."""
        order = list(walk.order)
        costs = outlook.costs[order]
        fixed = SLICE_NS + float(outlook.fixed[order][walk.reach * self.rows > 0.5].sum())
        by_fixed = fixed / (FIXED_SHARE * max(float(costs @ walk.reach), 1.0))
        by_slip = SLIP_NS / max(float(costs @ np.minimum(SLIP * walk.reach + LEAK, 1.0)), 1.0)
        short = min(purse.look_rows(), by_slip)
        self.goal = int(min(max(short, min(by_fixed, max(rows_since / 2.0, 8.0 * short)), LEAST_ROWS), MOST_ROWS))
        self._most_row_ns = float(most_ns[order] @ walk.reach)

    def grow(self, now_ns: float) -> None:
        """Set the length of the next slice."""
        by_time = max(now_ns - self._begun_ns, URGENT_NS / 2.0) / max(self._most_row_ns, 1.0)
        self.rows = int(min(self.goal, (2 if self._careful else GROWTH) * self.rows, max(by_time, 2 * self.rows)))
        self._careful &= not self.settled
