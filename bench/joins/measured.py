"""The results of one scenario: a JSON line per variant, and the numbers that targets need."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.joins.agenda import AGAIN, AUTO, STATIC
from bench.joins.streams import JoinScenario
from bench.rounds import Trials, Variant, ratio, ratios, seconds


@dataclass(frozen=True)
class Measured:
    """The trials of a scenario. Times are CPU times of this process."""

    scenario: JoinScenario
    variants: tuple[Variant, ...]
    trials: Trials
    expected: tuple[int, int]
    window_bytes: int | None = None
    """The memory of all windows at their largest; None if it was not measured."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield one line per variant. Ratios divide its time by that of the other variant: below 1 is faster."""
        for variant in self.variants:
            trials = self.trials[variant.name]
            times = [seconds(trial) for trial in trials]
            counts = trials[0].counts
            yield {
                "bench": "joins",
                "scenario": self.scenario.name,
                "about": self.scenario.about,
                "variant": variant.name,
                "settings": variant.settings,
                "streams": len(self.scenario.tables),
                "rows": self.scenario.rows,
                "all_rows": sum(table.num_rows for table in self.scenario.tables.values()),
                "batch_rows": self.scenario.batch_rows,
                "results": self.expected[0],
                "rounds": len(trials),
                "clock": "cpu",
                "seconds_median": round(statistics.median(times), 4),
                "spread": [round(min(times), 4), round(max(times), 4)],
                "wall_seconds_median": round(statistics.median(trial.seconds for trial in trials), 4),
                "rows_per_second": round(self.rows_per_second(variant.name)),
                "ns_per_row": round(1e9 / self.rows_per_second(variant.name), 1),
                "ratio_to": {
                    other.name: round(ratio(self.trials, variant.name, other.name), 4)
                    for other in self.variants
                    if other.name not in (variant.name, AGAIN)
                },
                "aa_spread": [round(value, 4) for value in self.aa_spread()],
                **({"probes": self.probes(variant.name), "profiled": self.profiled(variant.name)}
                   if trials[0].evaluated else {}),
                **counts,
                **({} if self.window_bytes is None else {"window_bytes": self.window_bytes}),
            }  # fmt: skip

    def rows_per_second(self, name: str) -> float:
        """Return the rows per second of all streams together, in the median round."""
        return self.scenario.rows / statistics.median(seconds(trial) for trial in self.trials[name])

    def aa_spread(self) -> tuple[float, float]:
        """Return the least and the greatest ratio of `auto` to itself: differences within them are noise."""
        same = ratios(self.trials, AGAIN, AUTO)
        return min(same), max(same)

    def probes(self, name: str) -> int:
        """Return the probes of all streams, including profiling: the median of the rounds."""
        return int(statistics.median(sum(t.evaluated.values()) + sum(t.profiled.values()) for t in self.trials[name]))

    def profiled(self, name: str) -> int:
        """Return the probes that were made for profiling."""
        return int(statistics.median(sum(trial.profiled.values()) for trial in self.trials[name]))

    def fewest_probes(self) -> tuple[str, int]:
        """Return our policy with the fewest probes, including profiling."""
        adaptive = [v.name for v in self.variants if v.ours and v.name not in (AGAIN, STATIC)]
        return min(((name, self.probes(name)) for name in adaptive), key=lambda found: found[1])

    def ratio(self, name: str, to: str) -> float:
        """Return the median of the ratios of all rounds: below 1 is faster."""
        return ratio(self.trials, name, to)

    def trees(self) -> list[str]:
        """Return the trees that ran, the fastest first."""
        found = [variant.name for variant in self.variants if "shape" in variant.settings]
        return sorted(found, key=lambda name: statistics.median(map(seconds, self.trials[name])))
