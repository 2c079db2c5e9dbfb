"""How filters or a join have followed their chart since the last report: rounds, moves, and how good the choices were.

>>> looked_up = LookedUp()
>>> looked_up.add(moved=True, is_outside=False)
>>> looked_up.judge(hit=False, regret=1.5)
>>> looked_up.judge(hit=True, regret=1.0)
>>> looked_up.taken()
{'rounds': 1, 'moves': 1, 'judged': 2, 'hits': 1, 'regret': 1.25}
>>> looked_up.taken()
{}

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
5.1, which defines moves and fidelity.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class LookedUp:
    """The counts of one worker. In a round it looks its plan up once."""

    rounds: int = 0
    moves: int = 0
    """Rounds in which the values were in another region than before."""
    outside: int = 0
    """Rounds in which they were outside the chart."""
    judged: int = 0
    """Rounds in which the plan in force was compared with the best one for what was observed."""
    hits: int = 0
    """Of these, rounds in which it was that one."""
    regret: float = 0.0
    """The sum over these of by how many times it was worse."""
    shares: tuple[float, ...] = ()
    """Of filters, the latest estimates of the share of all rows that each passes."""

    def add(self, *, moved: bool, is_outside: bool, shares: tuple[float, ...] = ()) -> None:
        """Count a look-up, and whether it was in another region than the one before, or outside the chart. `shares`: of
        filters, the shares that were looked up."""
        self.rounds += 1
        self.shares = shares
        self.moves += moved
        self.outside += is_outside

    def judge(self, *, hit: bool, regret: float) -> None:
        """Count a comparison of the plan in force with the best one."""
        self.judged += 1
        self.hits += hit
        self.regret += regret

    def taken(self) -> dict[str, Any]:
        """Return the fields of a record, without those that are 0, and begin anew. `regret` is the mean of the rounds
        that were judged."""
        found = {name: value for name, value in asdict(self).items() if value}
        if self.judged:
            found["regret"] = self.regret / self.judged
        self.rounds = self.moves = self.outside = self.judged = self.hits = 0
        self.regret, self.shares = 0.0, ()
        return found
