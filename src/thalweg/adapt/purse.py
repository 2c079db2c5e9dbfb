"""What adapting may spend, and what things cost: the book-keeping of `auto`.

Answers: how much may be spent now, how many profile tuples that pays for, with which probability rows may be profiled
steadily, and how many rows should pass between two looks.
Guarantee: what is spent on profiling, on deciding, and lost by trials is at most `budget` times all time, plus a loan
of `LOAN_NS` at the beginning (which never exceeds `EARLY` of the time until then) and what the first tuples cost.
Cost: a dozen operations per update. Each new measurement counts for a quarter (`LATEST`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.adapt.policy import Seen

LEAST_BUDGET = 1e-9
"""Less is taken for this much, which is practically nothing."""
LATEST = 0.25
LOAN_NS, EARLY = 12e6, 0.5
"""At the beginning nothing is known and every row may cost a hundred times what it should: learning may then take half
of the time, up to this much in all."""
WORTH_THE_LOAN = 0.1
"""The share of the cost that must be to gain for all of it."""
SAVED = 384
"""Profile tuples that can be saved up for."""
LOOKS = 0.25
"""The share of the budget that looking for drift may take."""
WARM = 2
"""Updates in which caches are filled; they count for nothing."""
MARGIN = 0.9
"""Of the budget is planned with: what things will cost is never known exactly."""
LOOK_NS = 50_000.0
"""What a look costs, until it is measured."""
USUAL_ROW_NS = 1_000.0
"""And a row."""
LEAST_NS = 1_000.0
"""What a profile tuple costs besides its filters, about."""
SHOW_NS = 60_000.0
"""What profiling costs besides, however few tuples there are, until it is measured."""


@dataclass(slots=True)
class Credit:
    """What may be spent: of one policy, or of several that share a budget."""

    budget: float
    loan_ns: float = LOAN_NS
    time_ns: float = 0.0
    """All time so far."""
    spent_ns: float = 0.0
    show_ns: float = SHOW_NS
    """Of profiling some tuples and judging by them, besides evaluating them."""
    sharers: int = 1
    """Policies that spend from it."""
    of_a_join: bool = False
    """The join books the time of all its streams, and its loan stays as it is."""

    @property
    def earned_ns(self) -> float:
        """What could be spent so far."""
        return MARGIN * self.budget * self.time_ns + min(self.loan_ns, EARLY * self.time_ns)


class Purse:
    """The credit and the prices of one worker."""

    def __init__(self, budget: float) -> None:
        self.budget = max(budget, LEAST_BUDGET)
        self.credit = Credit(self.budget)
        self._most_lent_ns = LOAN_NS  # a worker that takes over has had its loan
        self.each_ns = LEAST_NS
        """Of profiling one tuple more."""
        self.calls_ns = 0.0
        """Of the calls that profiling makes, however few tuples there are."""
        self.row_ns = math.nan
        """Of ordinary work."""
        self.time_ns = 0.0
        """All time so far, here."""
        self.serves_all = False
        """Whether what is learned here serves all who share the credit."""
        self.trials_ns = 0.0
        """What trials have lost."""
        self._look_ns = LOOK_NS  # of an update without tuples
        self._shown_ns = math.nan  # what the tuples of the last update took beyond their filters
        self._updates = self._rows = 0  # and rows of the last update

    @property
    def opened(self) -> bool:
        """Whether anything is known of prices."""
        return not math.isnan(self.row_ns)

    def set_prices(self, evaluating_ns: float, calls_ns: float) -> None:
        """What evaluating one tuple more takes, and what the calls take whatever their size."""
        self.each_ns, self.calls_ns = evaluating_ns + LEAST_NS, calls_ns

    @property
    def show_ns(self) -> float:
        """Of profiling some tuples and judging by them, however few."""
        return self.calls_ns + self.credit.show_ns

    @property
    def available_ns(self) -> float:
        """What may be spent now; negative: adapting is in debt."""
        return self.credit.earned_ns - self.credit.spent_ns

    def account(self, seen: Seen, rows: int) -> None:
        """Take what was done since the last update, on so many rows."""
        spent = seen.profiling_ns + seen.reoptimizing_ns
        self._updates += 1
        self.time_ns += seen.working_ns + spent
        if not self.credit.of_a_join:
            self.credit.time_ns += seen.working_ns + spent
        if self._updates > WARM:
            self.credit.spent_ns += spent + seen.trial_loss_ns
            self.trials_ns += seen.trial_loss_ns
        if rows:
            # what many rows showed is not outweighed by few, as at the beginning
            weight = max(rows / (rows + self._rows), LATEST)
            self.row_ns = _mixed(self.row_ns, max(seen.working_ns - seen.trial_ns, 1) / rows, weight)
            self._rows = rows
        # the time of the last update is known now: it was for the tuples it judged, or for a look
        if not math.isnan(self._shown_ns):
            shown_ns = max(self._shown_ns + seen.reoptimizing_ns, 0.0)
            self.credit.show_ns = _mixed(self.credit.show_ns, shown_ns)
        elif self._updates > WARM + 1:
            self._look_ns = _mixed(self._look_ns, seen.reoptimizing_ns)
        self._shown_ns = math.nan
        if len(seen.profile):
            self._shown_ns = seen.profiling_ns - self.each_ns * len(seen.profile) - self.calls_ns
        # what is not spent is not saved indefinitely
        credit = self.credit
        most = credit.sharers * (2.0 * self.show_ns + SAVED * self.each_ns) + credit.loan_ns
        credit.spent_ns = max(credit.spent_ns, credit.earned_ns - most)

    def lend(self, gain: float) -> None:
        """Where at most this share of the cost can be gained, less is lent: there is less to learn."""
        if not self.credit.of_a_join:
            self.credit.loan_ns = self._most_lent_ns * min(max(gain, 0.0) / WORTH_THE_LOAN, 1.0)

    def tuples_at_once(self, decisions: int = 1) -> int:
        """How many can be paid for now, with so many decisions."""
        return max(int((self.available_ns - decisions * self.show_ns) / self.each_ns), 0)

    def steadily(self, share: float, dropped: float, together: int) -> float:
        """The probability of profiling a dropped row that takes this share of the budget; 0 when in debt, and while no
        price is known."""
        if self.available_ns < 0.0 or not self.opened:
            return 0.0
        tuple_ns = self.each_ns + self.show_ns / together
        return min(share * self.budget * self.row_ns / (tuple_ns * max(dropped, 0.001)), 1.0)

    def look_rows(self) -> float:
        """So many rows between looks that looking takes its share of the budget. What is seen late costs all who are
        served by it, so looking may cost more then; the sum of both is least by the square root."""
        row_ns = max(self.row_ns, 1.0) if self.opened else USUAL_ROW_NS
        served = math.sqrt(max(self.credit.time_ns / max(self.time_ns, 1.0), 1.0)) if self.serves_all else 1.0
        return self._look_ns / (LOOKS * self.budget * row_ns * served)

    def snapshot(self) -> list[float] | None:
        """The prices of a row, of a profile tuple, and of profiling at all."""
        return [self.row_ns, self.each_ns, self.credit.show_ns] if self.opened else None

    def restore(self, prices: list[float] | None) -> None:
        """Go on with another worker's prices: nothing is lent a second time."""
        self.row_ns, self.each_ns = math.nan, LEAST_NS
        if prices is not None:
            self.row_ns, self.each_ns, self.credit.show_ns = (float(ns) for ns in prices)
            self.credit.loan_ns, self._most_lent_ns, self._updates = 0.0, 0.0, WARM


def _mixed(old: float, new: float, weight: float = LATEST) -> float:
    return new if math.isnan(old) else old + weight * (new - old)
