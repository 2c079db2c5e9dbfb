"""Chooses how many rows a slice has.

Short slices react quickly, and a bad order costs little. Long slices pay the fixed costs of calls and of slicing less
often. Slices therefore begin with `FIRST_ROWS` rows, while the cost of a row is unknown and may be a millisecond, and
then grow. Each update makes them at most `GROWTH` times as long; more than twice as long only if a slice then takes at
most as long as everything before it, by the upper bounds of the costs. They stop growing when checking for drift takes
its share of the budget, unless fixed costs call for longer slices. When the data moves, slices begin again at about
`URGENT_NS`.

Guarantee: unless fixed costs call for more, a slice takes at most `SLIP_NS` even if ten times as many rows as expected
reach every filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.profiling_budget import ProfilingBudget
from thalweg.cost.filter_order import CostModel, OrderCosts

FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 16, 64, 16_384
GROWTH = 8
"""Each update makes slices at most this many times as long."""
URGENT_NS = 2e6
"""The time a slice should take if the data has just moved; a few slices are enough for a decision."""
SLIP_NS, SLIP, LEAK = 20e6, 10.0, 0.01
"""The maximum time of a slice if this many times the expected rows reach each filter, plus this share of all rows."""
FIXED_SHARE = 0.01
"""If possible, slices are long enough that the fixed cost of calls is at most this share."""
SLICE_NS = 30_000.0
"""The approximate cost of a slice besides its calls."""

Numbers = NDArray[np.float64]


class SliceLength:
    """The length of the slices of one worker."""

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
        """Shorten the slices, because the data has moved. `row_ns`: the recent time per row."""
        self._begun_ns = now_ns
        self.rows = int(min(self.rows, max(URGENT_NS / max(row_ns, 1.0), LEAST_ROWS)))

    def take_care(self, now_ns: float) -> None:
        """Begin with few rows and double, because the expected costs are not reliable."""
        self._begun_ns, self._careful = now_ns, True
        self.rows = min(self.rows, LEAST_ROWS)

    def aim(
        self,
        cost_model: CostModel,
        walk: OrderCosts,
        most_ns: Numbers,
        profiling_budget: ProfilingBudget,
        rows_since: int,
    ) -> None:
        """Set the length to reach, for an order. `most_ns`: the upper bounds of the costs per row. `rows_since`: the
        number of rows since the data moved, or since the start."""
        order = list(walk.order)
        costs = cost_model.costs[order]
        fixed = SLICE_NS + float(cost_model.fixed[order][walk.reach * self.rows > 0.5].sum())
        by_fixed = fixed / (FIXED_SHARE * max(float(costs @ walk.reach), 1.0))
        by_slip = SLIP_NS / max(float(costs @ np.minimum(SLIP * walk.reach + LEAK, 1.0)), 1.0)
        short = min(profiling_budget.look_rows(), by_slip)
        self.goal = int(min(max(short, min(by_fixed, max(rows_since / 2.0, 8.0 * short)), LEAST_ROWS), MOST_ROWS))
        self._most_row_ns = float(most_ns[order] @ walk.reach)

    def grow(self, now_ns: float) -> None:
        """Set the length of the next slice."""
        by_time = max(now_ns - self._begun_ns, URGENT_NS / 2.0) / max(self._most_row_ns, 1.0)
        self.rows = int(min(self.goal, (2 if self._careful else GROWTH) * self.rows, max(by_time, 2 * self.rows)))
        self._careful &= not self.settled
