"""Accounts for the time that `auto` spends on adapting.

Answers: how much may be spent now, how many profile tuples that pays for, with which probability rows may be profiled
steadily, and how many rows should pass between two checks for drift.
Guarantee: the time spent on profiling and deciding, plus the time lost by trials, is at most `budget` times the total
time, plus a loan of `LOAN_NS` at the beginning (which never exceeds the share `EARLY` of the time until then) and the
cost of the first tuples.
Cost: a dozen operations per update. Each new measurement has a weight of one quarter (`LATEST`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.adapt.policy import Observation

LEAST_BUDGET = 1e-9
"""The smallest budget; a smaller one counts as this much, which is practically nothing."""
LATEST = 0.25
LOAN_NS, EARLY = 12e6, 0.5
"""At the beginning nothing is known, and every row may cost a hundred times what it should. Learning may then take half
of the time, up to this much in total."""
WORTH_THE_LOAN = 0.1
"""The full loan is granted if at least this share of the cost can be saved."""
SAVED = 384
"""The number of profile tuples for which unspent budget is kept."""
LOOKS = 0.25
"""The share of the budget that checking for drift may take."""
WARM = 2
"""The number of first updates that are not counted, because they fill caches."""
MARGIN = 0.9
"""The share of the budget that is planned with, because future costs are never known exactly."""
LOOK_NS = 50_000.0
"""The assumed cost of a check for drift, until it is measured."""
USUAL_ROW_NS = 1_000.0
"""The assumed cost of a row, until it is measured."""
LEAST_NS = 1_000.0
"""The approximate cost of a profile tuple besides its filters."""
SHOW_NS = 60_000.0
"""The assumed fixed cost of profiling, however few tuples there are, until it is measured."""


@dataclass(slots=True)
class PooledBudget:
    """The credit of one policy, or of several policies that share a budget."""

    budget: float
    loan_ns: float = LOAN_NS
    time_ns: float = 0.0
    """The total time so far."""
    spent_ns: float = 0.0
    show_ns: float = SHOW_NS
    """The cost of profiling a few tuples and deciding on them, besides evaluating them."""
    sharers: int = 1
    """The number of policies that spend from this credit."""
    of_a_join: bool = False
    """Whether a join accounts for the time of all its streams; its loan then stays as it is."""

    @property
    def earned_ns(self) -> float:
        """The time that could be spent so far, whether it was spent or not."""
        return MARGIN * self.budget * self.time_ns + min(self.loan_ns, EARLY * self.time_ns)


class ProfilingBudget:
    """The credit and the measured costs of one worker."""

    def __init__(self, budget: float) -> None:
        self.budget = max(budget, LEAST_BUDGET)
        self.credit = PooledBudget(self.budget)
        self._most_lent_ns = LOAN_NS  # 0 after `restore`: the other worker has had the loan
        self.each_ns = LEAST_NS
        """The cost of profiling one more tuple."""
        self.calls_ns = 0.0
        """The fixed cost of the calls that profiling makes, however few tuples there are."""
        self.row_ns = math.nan
        """The cost of a row in ordinary work."""
        self.time_ns = 0.0
        """The total time of this worker so far."""
        self.serves_all = False
        """Whether all policies that share the credit use what is learned here."""
        self.trials_ns = 0.0
        """The time that trials have lost."""
        self._look_ns = LOOK_NS  # the time of an update without tuples
        self._shown_ns = math.nan  # the time of the last update's tuples besides their filters
        self._updates = self._rows = 0  # the number of updates, and the rows of the last one

    @property
    def opened(self) -> bool:
        """Whether any cost has been measured yet."""
        return not math.isnan(self.row_ns)

    def set_prices(self, evaluating_ns: float, calls_ns: float) -> None:
        """Set the cost of evaluating one more tuple, and the fixed cost of the calls."""
        self.each_ns, self.calls_ns = evaluating_ns + LEAST_NS, calls_ns

    @property
    def show_ns(self) -> float:
        """The fixed cost of profiling tuples and deciding on them, however few there are."""
        return self.calls_ns + self.credit.show_ns

    @property
    def available_ns(self) -> float:
        """The time that may be spent now; negative if the budget is overspent."""
        return self.credit.earned_ns - self.credit.spent_ns

    def account(self, seen: Observation, rows: int) -> None:
        """Account for what was done since the last update, on this many rows."""
        spent = seen.profiling_ns + seen.reoptimizing_ns
        self._updates += 1
        self.time_ns += seen.working_ns + spent
        if not self.credit.of_a_join:
            self.credit.time_ns += seen.working_ns + spent
        if self._updates > WARM:
            self.credit.spent_ns += spent + seen.trial_loss_ns
            self.trials_ns += seen.trial_loss_ns
        if rows:
            # weighted by rows, so that a few rows do not outweigh many, as they would at the beginning
            weight = max(rows / (rows + self._rows), LATEST)
            self.row_ns = _mixed(self.row_ns, max(seen.working_ns - seen.trial_ns, 1) / rows, weight)
            self._rows = rows
        # the time of the last update is known now: it was spent on its tuples, or on a check for drift
        if not math.isnan(self._shown_ns):
            shown_ns = max(self._shown_ns + seen.reoptimizing_ns, 0.0)
            self.credit.show_ns = _mixed(self.credit.show_ns, shown_ns)
        elif self._updates > WARM + 1:
            self._look_ns = _mixed(self._look_ns, seen.reoptimizing_ns)
        self._shown_ns = math.nan
        if len(seen.profile):
            self._shown_ns = seen.profiling_ns - self.each_ns * len(seen.profile) - self.calls_ns
        # unspent budget is not kept indefinitely
        credit = self.credit
        most = credit.sharers * (2.0 * self.show_ns + SAVED * self.each_ns) + credit.loan_ns
        credit.spent_ns = max(credit.spent_ns, credit.earned_ns - most)

    def lend(self, gain: float) -> None:
        """Reduce the loan if at most this share of the cost can be saved, because there is less to learn."""
        if not self.credit.of_a_join:
            self.credit.loan_ns = self._most_lent_ns * min(max(gain, 0.0) / WORTH_THE_LOAN, 1.0)

    def tuples_at_once(self, decisions: int = 1) -> int:
        """Return how many profile tuples can be paid for now, together with this many decisions."""
        return max(int((self.available_ns - decisions * self.show_ns) / self.each_ns), 0)

    def steadily(self, share: float, dropped: float, together: int) -> float:
        """Return the probability of profiling a dropped row that takes this share of the budget; 0 if the budget is
        overspent, and while no cost has been measured."""
        if self.available_ns < 0.0 or not self.opened:
            return 0.0
        tuple_ns = self.each_ns + self.show_ns / together
        return min(share * self.budget * self.row_ns / (tuple_ns * max(dropped, 0.001)), 1.0)

    def look_rows(self) -> float:
        """Return the number of rows between two checks for drift, so that checking takes its share of the budget.

        If others use what is learned here, late detection costs all of them, so checks may cost more. The square root
        minimizes the sum of both costs.
        """
        row_ns = max(self.row_ns, 1.0) if self.opened else USUAL_ROW_NS
        served = math.sqrt(max(self.credit.time_ns / max(self.time_ns, 1.0), 1.0)) if self.serves_all else 1.0
        return self._look_ns / (LOOKS * self.budget * row_ns * served)

    def snapshot(self) -> list[float] | None:
        """Return the costs of a row and of a profile tuple, and the fixed cost of profiling."""
        return [self.row_ns, self.each_ns, self.credit.show_ns] if self.opened else None

    def restore(self, prices: list[float] | None) -> None:
        """Continue with another worker's costs, without a second loan."""
        self.row_ns, self.each_ns = math.nan, LEAST_NS
        if prices is not None:
            self.row_ns, self.each_ns, self.credit.show_ns = (float(ns) for ns in prices)
            self.credit.loan_ns, self._most_lent_ns, self._updates = 0.0, 0.0, WARM


def _mixed(old: float, new: float, weight: float = LATEST) -> float:
    return new if math.isnan(old) else old + weight * (new - old)
