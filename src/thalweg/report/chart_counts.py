"""How filters or a join followed their chart: the counts of all workers, and the sentence of the report.

>>> counts = ChartCounts(rounds=12, moves=3, judged=10, hits=8, regret=10.5)
>>> counts.sentence()
'chart: 12 rounds, 3 moves to another region; fidelity 80 %, regret 1.05 in 10 rounds that were judged'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.events import Observed, PlanObserved
from thalweg.formatting import few_digits, percent, plural


@dataclass(slots=True)
class ChartCounts:
    """The counts of one run. In a round, one worker looks its plan up: that of a join, or the order of filters."""

    rounds: int = 0
    moves: int = 0
    """Rounds in which the values moved to another region."""
    outside: int = 0
    """Rounds in which the values were outside the chart."""
    judged: int = 0
    """Rounds in which the plan in force was compared with the best one for what was observed."""
    hits: int = 0
    """Of these, rounds in which it was that one."""
    regret: float = 0.0
    """The sum of by how many times it was worse."""

    def add(self, record: Observed | PlanObserved) -> None:
        """Add what one worker did since its last record."""
        self.rounds += record.rounds
        self.moves += record.moves
        self.outside += record.outside
        if record.regret is None:
            return
        if isinstance(record, Observed):
            judged, hits = record.judged, record.hits
        else:  # a report of a join judges one round
            judged, hits = int(record.hit is not None), int(record.hit or False)
        self.judged += judged
        self.hits += hits
        self.regret += judged * record.regret

    def take_in(self, later: ChartCounts) -> None:
        """Add the counts of a later part of the same run."""
        for name in ("rounds", "moves", "outside", "judged", "hits", "regret"):
            setattr(self, name, getattr(self, name) + getattr(later, name))

    @property
    def fidelity(self) -> float | None:
        """The share of rounds in which the plan in force was the best one; None if none was judged."""
        return self.hits / self.judged if self.judged else None

    @property
    def mean_regret(self) -> float | None:
        """By how many times the plan in force was worse than the best one, on average; 1 is the best."""
        return self.regret / self.judged if self.judged else None

    def sentence(self) -> str:
        """Return what the report says about the chart."""
        text = f"chart: {plural(self.rounds, 'round')}, {plural(self.moves, 'move')} to another region"
        if self.outside:
            text += f", {self.outside:,} outside the chart"
        if self.fidelity is not None and self.mean_regret is not None:
            judged = f"in {plural(self.judged, 'round')} that {'was' if self.judged == 1 else 'were'} judged"
            text += f"; fidelity {percent(self.fidelity)}, regret {few_digits(self.mean_regret)} {judged}"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        return {
            "rounds": self.rounds, "moves": self.moves, "outside": self.outside, "judged": self.judged,
            "fidelity": self.fidelity, "regret": self.mean_regret,
        }  # fmt: skip
