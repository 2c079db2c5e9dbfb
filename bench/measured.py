"""The results of one scenario in one place: a JSON line per variant, and the numbers that targets need."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.local_variants import AGAIN, HINDSIGHT
from bench.rounds import Trial, Trials, Variant, ratio, ratios, seconds
from bench.scenario import Scenario


@dataclass(frozen=True)
class Measured:
    """The trials of a scenario. `where` is "spark" (wall times) or "local" (CPU times of this process)."""

    scenario: Scenario
    where: str
    variants: tuple[Variant, ...]
    trials: Trials

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield one line per variant. Ratios divide its time by that of the other variant: below 1 is faster."""
        names = [variant.name for variant in self.variants]
        for variant in self.variants:
            trials = self.trials[variant.name]
            typical = self._typical(variant.name)
            times = [seconds(trial) for trial in trials]
            yield {
                "bench": "filters",
                "scenario": self.scenario.name,
                "where": self.where,
                "variant": variant.name,
                "settings": variant.settings,
                "rows": self.scenario.table.num_rows,
                "rounds": len(trials),
                "clock": "wall" if self.where == "spark" else "cpu",
                "seconds_median": round(statistics.median(times), 4),
                "spread": [round(min(times), 4), round(max(times), 4)],
                "wall_seconds_median": round(statistics.median(trial.seconds for trial in trials), 4),
                "ratio_to": {
                    name: round(ratio(self.trials, variant.name, name), 4)
                    for name in names
                    if name not in (variant.name, AGAIN)
                },
                "aa_spread": [round(value, 4) for value in self.aa_spread()],
                "evaluations": typical.evaluated,
                "profiled": typical.profiled,
                "evaluations_are": "derived" if variant.derived else "counted",
                "cost_weighted_units": round(self.weighted(variant.name), 1),
                "cost_weighted_units_per_row": round(self.weighted(variant.name) / self.scenario.table.num_rows, 4),
            }

    def aa_spread(self) -> tuple[float, float]:
        """Return the least and the greatest ratio of hindsight to itself: differences within them are noise."""
        same = ratios(self.trials, AGAIN, HINDSIGHT)
        return min(same), max(same)

    def weighted(self, name: str) -> float:
        """Return the cost-weighted sum of evaluations, including profiling: the median of the rounds."""
        return statistics.median(self._weighted(trial) for trial in self.trials[name])

    def best_of_ours(self, to: str) -> tuple[str, float]:
        """Return the policy with the least time in relation to that of `to`, and the ratio."""
        return min(((name, ratio(self.trials, name, to)) for name in self.ours()), key=lambda found: found[1])

    def ratio(self, name: str, to: str) -> float:
        """Return the median of the ratios of all rounds: below 1 is faster."""
        return ratio(self.trials, name, to)

    def least_work_of_ours(self) -> tuple[str, float]:
        """Return the policy with the least cost-weighted sum, and the sum."""
        return min(((name, self.weighted(name)) for name in self.ours()), key=lambda found: found[1])

    def ours(self) -> list[str]:
        """Return the policies from which the best of ours is chosen."""
        return [variant.name for variant in self.variants if variant.ours]

    def _weighted(self, trial: Trial) -> float:
        return self.scenario.weighted(trial.evaluated) + self.scenario.weighted(trial.profiled)

    def _typical(self, name: str) -> Trial:
        """Return the trial with the median work. Its counts are of one run, so they add up."""
        return sorted(self.trials[name], key=self._weighted)[(len(self.trials[name]) - 1) // 2]
