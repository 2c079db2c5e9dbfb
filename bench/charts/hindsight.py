"""The best plan of each part of a run, known in hindsight, and what it would have taken.

A run is cut into parts of a few seconds of event time. The best plan of a part is the pinned plan with the least CPU
time there, as the median over the rounds. Its CPU time in one round is that of this plan in the same round: taking the
least of each round instead would take the luckiest of several measurements. Changing plans costs nothing here, so no
policy reaches this. The memory is what the best plan of each part holds there, at its largest.

The CPU time of a run is `steady`: without that of its start. A chart is made once, before a query that runs for days,
and has a limit of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.plans.measured import Measured
from bench.plans.trial import PlanTrial

PARTS = 24
"""The number of parts of a run: of 5 seconds each."""


@dataclass(frozen=True)
class Hindsight:
    """The best plans of the parts of a run."""

    measured: Measured
    parts: int = PARTS

    @cached_property
    def plans(self) -> list[str]:
        """The best plan of each part."""
        whole = [name for name in self.measured.plans if not self.measured.stopped(name)]
        medians = {name: np.median([_cpu(t, self.parts) for t in self.measured.trials[name]], axis=0) for name in whole}
        return [min(whole, key=lambda name: float(medians[name][part])) for part in range(self.parts)]

    def cpu_over(self, name: str) -> float:
        """Return the median over the rounds of the CPU time of a variant over that of the best plans."""
        trials = self.measured.trials
        found = []
        for n, trial in enumerate(trials[name]):
            by_plan = {plan: _cpu(trials[plan][n], self.parts) for plan in set(self.plans)}
            found.append(steady(trial) / sum(by_plan[plan][part] for part, plan in enumerate(self.plans)))
        return statistics.median(found)

    def bytes_over(self, name: str) -> float:
        """Return the most bytes that a variant held over those of the best plans."""
        by_plan = {plan: _bytes(self.measured.trials[plan][-1], self.parts) for plan in set(self.plans)}
        return most_bytes(self.measured, name) / max(by_plan[plan][part] for part, plan in enumerate(self.plans))


def steady(trial: PlanTrial) -> float:
    """Return the CPU seconds of a run without those of its start."""
    return trial.cpu_seconds - trial.start_seconds


def most_bytes(measured: Measured, name: str) -> float:
    """Return the most bytes that a variant held at a report: the median over the rounds."""
    return float(statistics.median(max(trial.bytes_by_slice) for trial in measured.trials[name]))


def _cpu(trial: PlanTrial, parts: int) -> list[float]:
    return [float(each.sum()) for each in np.array_split(np.array(trial.cpu_by_slice), parts)]


def _bytes(trial: PlanTrial, parts: int) -> Sequence[int]:
    return [int(each.max()) for each in np.array_split(np.array(trial.bytes_by_slice), parts)]
