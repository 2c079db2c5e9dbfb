"""How far the computed times of plans are from what they took.

Answers: `factor(plan)`, by what the computed time of a plan is multiplied.
How: computed times err in two ways. What all plans have in common changes with the rates and with the machine: the
`level`, a mean over the last reports of the plan in force. What belongs to one plan is learned when the join changes to
it: in its first reports the level is still that of the plan before, so the rest of the error is its own. Thus a plan is
never compared by what it took in other circumstances. The level may change within a few reports, so an error of less
than `LIKELY` says nothing about the plan, and of a larger one only the rest counts.
Guarantee: as long as no plan errs by more than that, the factors of all plans are equal, so only computed times decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.stats.decayed_mean import DecayedMean

SETTLING = 2
"""The number of reports after a change from which the error of the new plan is learned."""
LIKELY = 2.0
"""Plans differ in their errors by up to this factor although computed times are right on average."""
LEVEL_ROUNDS, LEVEL_DECAY = 4, 0.5
"""The level follows quickly, because it changes with the rates."""


class PlanTimes:
    """Factors between computed and measured times, of one join or of one bucket of it."""

    def __init__(self) -> None:
        self._level = DecayedMean(LEVEL_ROUNDS, LEVEL_DECAY)
        self._own: dict[str, DecayedMean] = {}
        """By plan, its error over that of the plan that the join began with."""
        self._plan = ""
        self._reports = 0
        """The number of reports of the plan in force."""

    def add(self, plan: str, taken: float, computed: float) -> None:
        """Add the time that a plan took between two reports, and what is computed for the same rows."""
        if taken <= 0 or computed <= 0:
            return
        if plan != self._plan:
            self._plan, self._reports = plan, 0
        self._reports += 1
        level = self._level.mean if self._level.of else None
        own = self._own.setdefault(plan, DecayedMean())
        if level is not None and len(self._own) > 1 and self._reports <= SETTLING:
            own.add(taken, computed * level)
            return
        if not own.of:
            own.add(1.0)  # the plan that the join began with
        self._level.add(taken, computed * _beyond(own.mean))

    def factor(self, plan: str) -> float:
        """Return the factor of a plan. One that has not run yet has that of the plan in force."""
        level = self._level.mean if self._level.of else 1.0
        own = self._own.get(plan) or self._own.get(self._plan)
        return level * (_beyond(own.mean) if own is not None and own.of else 1.0)

    def snapshot(self) -> dict[str, Any]:
        """Return what was learned, as values for JSON."""
        return {
            "level": self._level.rounds, "own": {plan: mean.rounds for plan, mean in self._own.items()},
            "plan": self._plan, "reports": self._reports,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue with what another join has learned."""
        self._level.restore(snapshot["level"])
        for plan, rounds in snapshot["own"].items():
            self._own.setdefault(plan, DecayedMean()).restore(rounds)
        self._plan, self._reports = snapshot["plan"], snapshot["reports"]


def _beyond(error: float) -> float:
    """Return the part of an error that is more than likely.

    >>> [_beyond(error) for error in (0.25, 0.7, 1.9, 5.0)]
    [0.5, 1.0, 1.0, 2.5]
    """
    return error / LIKELY if error > LIKELY else min(error * LIKELY, 1.0)
