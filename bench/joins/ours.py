"""Our join as a user calls it, and what it took."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import thalweg as tw
from bench.joins.checksum import Checksum
from bench.joins.streams import JoinScenario
from bench.rounds import Trial


class Stopwatch:
    """CPU and wall time from when it is started, without what is done while it is held."""

    def __init__(self) -> None:
        self.starts = 0
        self.start()

    def start(self) -> None:
        """Measure from this moment on."""
        self.starts += 1
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def held(self, began: tuple[float, float]) -> None:
        """What has passed since then does not count."""
        wall, cpu = self.now()
        self.wall += wall - began[0]
        self.cpu += cpu - began[1]

    @staticmethod
    def now() -> tuple[float, float]:
        """Return wall-clock time and CPU time."""
        return time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both, since the start."""
        wall, cpu = self.now()
        return wall - self.wall, cpu - self.cpu


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds are those since the watch was last started; so many of the results came before."""

    checksum: Checksum
    before: int
    wall: float
    cpu: float


def timed(scenario: JoinScenario, results: Iterable[pa.RecordBatch], watch: Stopwatch) -> Timed:
    """Take the results; looking at them is not timed."""
    checksum = Checksum(list(scenario.tables))
    before, starts = 0, watch.starts
    for batch in results:
        began = watch.now()
        if watch.starts > starts:
            before, starts = checksum.rows, watch.starts
        checksum.add(batch)
        watch.held(began)
    return Timed(checksum, before, *watch.read())


def joined(scenario: JoinScenario, policy: str, seed: int, **settings: Any) -> tuple[tw.Join, Timed]:
    """Return a join that has run, and what it took."""
    join = tw.join(
        scenario.on, scenario.length, "ts", lateness=no_lateness(scenario), policy=policy, seed=seed, **settings
    )
    watch = Stopwatch()
    return join, timed(scenario, join.over(**sources(scenario, watch)), watch)


def policy_trial(scenario: JoinScenario, policy: str, seed: int, **settings: Any) -> Trial:
    """Run a join. Probes are those of the report, by stream whose rows probe."""
    join, took = joined(scenario, policy, seed, **settings)
    streams = join.report().to_dict()["sections"][0]["streams"]
    looked = sum(counts["looked"] for counts in streams.values())
    return Trial(
        took.wall, took.cpu, took.checksum.result,
        {alias: sum(counts["evaluated"]) for alias, counts in streams.items()},
        {alias: sum(counts["profiled"]) for alias, counts in streams.items()},
        {"looked": looked, "timed_results": took.checksum.rows - took.before},
    )  # fmt: skip


def sources(scenario: JoinScenario, watch: Stopwatch) -> dict[str, Iterator[pa.RecordBatch]]:
    """Return the batches of each stream, which start the watch."""
    return {alias: _read(batches, scenario, watch) for alias, batches in scenario.batches.items()}


def no_lateness(scenario: JoinScenario) -> int | str:
    """Return a lateness of zero, in the unit of the window."""
    return 0 if isinstance(scenario.length, int) else "0 seconds"


def _read(batches: list[pa.RecordBatch], scenario: JoinScenario, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
    """The clock starts anew when windows are full: with the last stream that gets there."""
    rows = 0
    for batch in batches:
        if rows < scenario.filling <= rows + batch.num_rows:
            yield batch
            watch.start()
        else:
            yield batch
        rows += batch.num_rows
