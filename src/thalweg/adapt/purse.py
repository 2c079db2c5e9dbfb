"""What adapting may spend, and what things cost: the book-keeping of `auto`.

Answers: how many profile tuples can be paid for at once, with which probability rows may be profiled steadily, and how
many rows should pass between two looks for drift.
Guarantee: credit grows by the budget's share of all time and shrinks by what was spent; nothing steady is bought on
credit. Only the tuples to begin with are free: some whatever they cost, more when they are cheap.
Cost: a dozen operations an update. Each new measurement counts for a quarter.
"""

from __future__ import annotations

import math

from thalweg.adapt.policy import Seen

FIRST, START, GRACE, GRACE_NS = 8, 128, 100_000, 5e6
"""Profile tuples at the beginning: some whatever they cost, more when they cost no more than the budget of that many
rows, or than some milliseconds."""
SAVED = 384
"""Profile tuples that can be saved up for."""
TOGETHER = 96
"""Profile tuples worth one look: their fixed cost is shared."""
LOOKS = 0.25
"""The share of the budget that looking for drift may take."""
WARM = 2
"""Updates in which caches are filled; they count for nothing."""
MARGIN = 0.9
"""Of the budget is planned with: what things will cost is never known exactly."""
LOOK_NS = 50_000.0
"""What a look costs, until it is measured."""
LEAST_NS = 1_000.0
"""What a profile tuple costs besides its filters, about."""
LEAST_ROWS, MOST_ROWS = 1024, 1 << 24
"""Between two looks."""


class Purse:
    """The credit and the prices of one worker."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.free = START
        """Tuples that cost nothing yet."""
        self.each_ns = LEAST_NS
        """Of profiling one tuple more."""
        self.row_ns = math.nan
        """Of ordinary work."""
        self.dropped = 1.0
        """Share of the rows."""
        self._fixed_ns = math.nan  # of profiling some tuples and judging them, however few
        self._look_ns = LOOK_NS  # of an update without tuples
        self._shown_ns = math.nan  # what the tuples of the last update took beyond their filters
        self._updates = 0
        self._credit_ns = 0.0

    @property
    def opened(self) -> bool:
        """Whether anything is known of prices: a first few tuples have been profiled."""
        return not math.isnan(self._fixed_ns + self.row_ns)

    def account(self, seen: Seen, rows: int) -> None:
        """Take what was done since the last update, on so many rows."""
        spent = seen.profiling_ns + seen.reoptimizing_ns
        self._updates += 1
        if self._updates > WARM:
            free = seen.profiling_ns if self.free else 0
            self._credit_ns += MARGIN * self.budget * (seen.working_ns + spent) - spent + free
        if rows:
            self.row_ns = _mixed(self.row_ns, max(seen.working_ns, 1) / rows)
            dropped = int((seen.evaluated - seen.passed).sum())
            self.dropped = _mixed(self.dropped, max(dropped / rows, 0.001))
        # the time of the last update is known now: it was for the tuples it judged, or for a look
        if not math.isnan(self._shown_ns):
            self._fixed_ns = _mixed(self._fixed_ns, max(self._shown_ns + seen.reoptimizing_ns, 0.0))
        elif self._updates > 1:
            self._look_ns = _mixed(self._look_ns, seen.reoptimizing_ns)
        self._shown_ns = math.nan
        if len(seen.profile):
            self._shown_ns = seen.profiling_ns - self.each_ns * len(seen.profile)
            if math.isnan(self._fixed_ns):
                self._fixed_ns = max(self._shown_ns, 0.0)
        if not math.isnan(self._fixed_ns):
            self._credit_ns = min(self._credit_ns, 2 * self._fixed_ns + SAVED * self.each_ns)

    def tuples_at_once(self) -> int:
        """How many can be paid for now."""
        if self._fixed_ns + START * self.each_ns > max(self.budget * self.row_ns * GRACE, GRACE_NS):
            self.free = 0  # too dear to begin with more
        return max(int((self._credit_ns - self._fixed_ns) / self.each_ns), self.free)

    def steadily(self, share: float) -> float:
        """The probability of profiling a dropped row that takes this share of the budget; 0 when in debt."""
        if self._credit_ns < 0.0:
            return 0.0
        tuple_ns = self.each_ns + self._fixed_ns / TOGETHER
        return min(share * self.budget * self.row_ns / (tuple_ns * self.dropped), 1.0)

    def rows_between_looks(self) -> int:
        """So many that looking takes its share of the budget."""
        rows = int(self._look_ns / (LOOKS * self.budget * max(self.row_ns, 1.0)))
        return min(max(rows, LEAST_ROWS), MOST_ROWS)

    def snapshot(self) -> list[float] | None:
        """The prices of a row, of a profile tuple, and of profiling at all."""
        return [self.row_ns, self.each_ns, self._fixed_ns] if self.opened else None

    def restore(self, prices: list[float] | None) -> None:
        """Go on with another worker's prices: nothing is free a second time."""
        self.row_ns, self.each_ns, self._fixed_ns = math.nan, LEAST_NS, math.nan
        if prices is not None:
            self.row_ns, self.each_ns, self._fixed_ns = (float(ns) for ns in prices)
            self.free, self._updates = 0, WARM


def _mixed(old: float, new: float) -> float:
    return new if math.isnan(old) else 0.75 * old + 0.25 * new
