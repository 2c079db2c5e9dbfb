"""The results of one scenario: a JSON line per variant, and the numbers that targets need."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.joins.spark.agenda import UNSTEADY
from bench.joins.spark.expected import Results
from bench.joins.spark.query_run import BatchProgress
from bench.joins.spark.scenario import StreamScenario
from bench.joins.spark.slope import Slope, slope_of
from bench.joins.spark.variants import AGAIN, FILES, FILES_AGAIN, OURS, ROCKSDB, SPARK, VARIANTS, Ran

BENCH = "joins on spark"


@dataclass(frozen=True)
class Measured:
    """The runs of a scenario. Times are wall times of whole batches, as Spark reports them."""

    scenario: StreamScenario
    runs: dict[str, list[Ran]]
    """The runs of each variant, one per round."""
    expected: list[Results]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield one line per variant. Ratios divide its time by the other's in the same round: below 1 is faster."""
        results = sum(rows for rows, _ in self.expected[UNSTEADY:])
        for name, rounds in self.runs.items():
            times = [batch.ms for batch in self.steady(name)]
            slope = self.slope(name)
            yield {
                "bench": BENCH,
                "scenario": self.scenario.name,
                "about": self.scenario.about,
                "variant": name,
                "settings": VARIANTS[name].settings,
                "streams": len(self.scenario.aliases),
                "batch_rows": self.scenario.batch_rows,
                "rounds": len(rounds),
                "batches": len(rounds[0].batches),
                "left_out": UNSTEADY,
                "results_per_row": round(results / self.scenario.batch_rows / len(self.expected[UNSTEADY:]), 3),
                "batch_ms_median": statistics.median(times),
                "spread": [min(times), max(times)],
                "rows_per_second": round(self.rows_per_second(name)),
                "cpu_ms": round(self.median(name, lambda batch: batch.cpu_ms)),
                "python_cpu_ms": round(self.median(name, lambda batch: batch.python_ms)),
                "work_ms": self.median(name, lambda batch: batch.durations.get("addBatch", 0)),
                "planning_ms": self.median(name, lambda batch: batch.durations.get("queryPlanning", 0)),
                "fixed_ms": self.median(name, lambda batch: batch.fixed_ms),
                "durations_ms": {
                    part: self.median(name, partial(_duration, part))
                    for part in rounds[0].batches[-1].durations
                },
                **({"aa_spread": [round(value, 4) for value in aa]} if (aa := self.aa()) else {}),
                "checkpoint_bytes_per_batch": round(self.checkpoint_bytes(name)),
                "written_bytes_per_batch": round(self.written_bytes(name)),
                "state_rows": self.steady(name)[-1].state_rows,
                "state_bytes": self.median(name, lambda batch: batch.state_bytes),
                **({"window_bytes": run.window_bytes(run.batches[-1].number)} if (run := rounds[-1]).records else {}),
                "ratio_to": {to: [round(value, 4) for value in self.ratio(name, to)] for to in self.runs if to != name},
                "cpu_ratio_to": {to: round(self.cpu_ratio(name, to), 4) for to in self.runs if to != name},
                **({"slope_ms_per_batch": round(slope.ms, 3), "slope_error": round(slope.error, 3)} if slope else {}),
                "times_ms": [[batch.ms for batch in ran.batches] for ran in rounds],
            }  # fmt: skip

    def steady(self, name: str) -> list[BatchProgress]:
        """Return the batches of all rounds that count."""
        return [batch for ran in self.runs[name] for batch in ran.batches[UNSTEADY:]]

    def median(self, name: str, what: Callable[[BatchProgress], float]) -> float:
        """Return the median over the batches that count."""
        return statistics.median(what(batch) for batch in self.steady(name))

    def rows_per_second(self, name: str) -> float:
        """Return the rows per second of all streams together, in the median batch."""
        return 1000 * self.scenario.batch_rows / self.median(name, lambda batch: batch.ms)

    def checkpoint_bytes(self, name: str) -> float:
        """Return the mean of the batches that count, because snapshots are written only in some batches."""
        return statistics.mean(batch.checkpoint_bytes for batch in self.steady(name))

    def written_bytes(self, name: str) -> float:
        """Return the mean size of the files of results of a batch; 0 if nothing is written."""
        return statistics.mean(batch.written_bytes for batch in self.steady(name))

    def ratio(self, name: str, to: str) -> tuple[float, float, float]:
        """Return the median, least and greatest ratio of all rounds: below 1 is faster."""
        found = [
            _median_ms(mine) / _median_ms(other) for mine, other in zip(self.runs[name], self.runs[to], strict=True)
        ]
        return statistics.median(found), min(found), max(found)

    def cpu_ratio(self, name: str, to: str) -> float:
        """Return the ratio of the CPU times of the median batches."""
        return self.median(name, lambda batch: batch.cpu_ms) / self.median(to, lambda batch: batch.cpu_ms)

    def fastest_of_spark(self) -> str | None:
        """Return the faster variant of Spark's own joins; None if none of them ran."""
        return min((name for name in (SPARK, ROCKSDB) if name in self.runs), key=self._ms, default=None)

    def aa(self) -> tuple[float, float] | None:
        """Return the least and the greatest ratio of ours to itself: differences within them are noise."""
        pairs = ((AGAIN, OURS), (FILES_AGAIN, FILES))
        return next((self.ratio(again, ours)[1:] for again, ours in pairs if again in self.runs), None)

    def slope(self, name: str) -> Slope | None:
        """Return the slope of the last round; None if it is too short."""
        return slope_of([batch.ms for batch in self.runs[name][-1].batches[UNSTEADY:]])

    def _ms(self, name: str) -> float:
        return self.median(name, lambda batch: batch.ms)


def _duration(part: str, batch: BatchProgress) -> float:
    """Milliseconds that one part of a micro-batch took, by Spark's name for it."""
    return batch.durations.get(part, 0)


def _median_ms(ran: Ran) -> float:
    return statistics.median(batch.ms for batch in ran.batches[UNSTEADY:])
