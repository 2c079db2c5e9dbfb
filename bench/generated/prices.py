"""The cost of an update of a policy on the virtual clock: passing it an observation, until it returns.

How it was measured: around `FilterLoop._ask` in real runs in this process (`local.py`), in CPU time of the thread, with
Python 3.11 and numpy 2.4 on two cores that other processes used too. 44 chains of the development seeds 2 to 4 with 2
to 15 predicates ran under `auto`, 8 of them under every policy: 7,728 updates, 671 of them decisions of `auto`. Each
price was fitted by least absolute deviations; half of the updates are within 15 to 30 % of theirs. Predicates run
between two updates, so caches are cold: where predicates burn nothing, an update takes about 0.4 to 0.7 of this.
"""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one update: a base, a part per predicate, and one per predicate and profiled row in the window."""

    base_ns: float
    predicate_ns: float
    cell_ns: float = 0.0

    def ns(self, predicates: int, rows: int = 0) -> float:
        """Return the price for this number of predicates and of profiled rows in the window."""
        return self.base_ns + predicates * (self.predicate_ns + rows * self.cell_ns)


DECISION = Price(600_000, 60_000, 45)
"""An update in which `auto` looks for another order, a trial and what to profile, thoroughly or not."""
UPDATE = {
    AUTO: Price(210_000, 5_600),  # without a decision
    "a-greedy": Price(170_000, 22_000),
    "sweep": Price(145_000, 5_000),
    "independent": Price(120_000, 23_000),
    "local-swaps": Price(120_000, 7_500),
    "velox-rank": Price(60_000, 7_500),
    "duckdb-swap": Price(63_000, 3_000),
}
"""The price by policy. The number of rows in the window made no difference here."""
