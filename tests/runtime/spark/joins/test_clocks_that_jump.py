"""Clocks that go back an hour or forward a year, under a stream: the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.start_plans import start_knowing_nothing
from tests.runtime.spark.joins.streams import BEGIN_US, files, ids, results, rows, streaming
from tests.runtime.spark.waiting import wait_until
from thalweg.events import BatchTimed
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_packing import Packing
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.join_state import KeptJoin
from thalweg.runtime.spark import stream_watch
from thalweg.runtime.spark.joins.bucket_round import BatchTimes, run_round
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import JoinTask

SECOND, HOUR, YEAR = 1_000, 3_600_000, 365 * 86_400_000
"""In milliseconds."""
JUMPS = (0, YEAR, -HOUR, YEAR)
"""By how much the clock is wrong, by micro-batch."""
SECONDS: dict[str, list[list[float]]] = {"a": [[0, 3], [4, 8], [12], [15, 16]], "b": [[1], [6, 7], [10, 13], [14]]}
"""The times of the rows, by micro-batch: no row is late."""


def by_hand() -> list[tuple[int, int]]:
    """Results of a window of five seconds."""
    times = {alias: [second for batch in batches for second in batch] for alias, batches in SECONDS.items()}
    return sorted((i, j) for i, s in enumerate(times["a"]) for j, t in enumerate(times["b"]) if abs(s - t) <= 5)


def task() -> JoinTask:
    plan = JoinPlan.of("a.k = b.k", "5 seconds", "ts", "0 seconds")
    binding = JoinBinding.of(plan, {"a": rows([0]).schema, "b": rows([0]).schema})
    spread = Partitioning.of(plan.graph)
    settings = JoinSettings()
    return JoinTask(
        binding, settings, (0,), spread, "join", {}, start_knowing_nothing(plan, settings, 1),
        max_ahead=86_400 * 10**6, idle_after=60 * SECOND,
    )  # fmt: skip


class Bucket:
    """A bucket of a running query, with a clock that a test sets."""

    def __init__(self) -> None:
        self.task, self.active = task(), dict[str, int]()
        self.kept = KeptJoin.open(DictChunks(), "query", None, lambda: self.task.loop(snapshots=True))
        self._ids = {"a": 0, "b": 0}

    def round(self, now_ms: int, **seconds: list[float]) -> list[tuple[int, int]]:
        """Run a micro-batch with rows of these times. Return the numbers of the joined rows."""
        frames = []
        for alias, times in seconds.items():
            if times:
                table = rows(times, first_id=self._ids[alias])
                packing = Packing(self.task.binding, alias, None, (0,))
                frames += [batch.to_pandas() for batch in packing.pack(table.to_batches())]
                self._ids[alias] += len(times)
        clock = BatchTimes(now_ms, 0)
        found = list(run_round(self.task, self.kept, iter(frames), clock, self.active))
        return [pair for batch in found for pair in zip(*(batch[f"{x}_id"].to_pylist() for x in "ab"), strict=True)]


@pytest.mark.parametrize("year", [2024, 1970, 2262])
def test_a_clock_that_jumps_changes_no_row(year: int) -> None:
    """1970: a computer without a battery."""
    bucket, now = Bucket(), pd.Timestamp(f"{year}-03-10", tz="UTC").value // 10**6
    found = []
    for n, jump in enumerate(JUMPS):
        found += bucket.round(now + n * SECOND + jump, **{alias: batches[n] for alias, batches in SECONDS.items()})
    assert sorted(found) == by_hand()
    assert all(stream.stream.late == 0 for stream in bucket.kept.loop.intake.counts.values())


def test_a_stream_is_let_go_soon_after_the_clock_was_set_back() -> None:
    """The hour that comes a second time does not count."""
    bucket, now = Bucket(), BEGIN_US // 1000

    def mark() -> float:
        query = bucket.kept.loop.watermarks.query
        return ((query or 0) - BEGIN_US) / 10**6

    bucket.round(now, a=[1.0], b=[1.0])
    bucket.round(now - HOUR, a=[2.0], b=[])
    assert mark() == 1
    bucket.round(now - HOUR + 59 * SECOND, a=[50.0], b=[])
    assert mark() == 1
    bucket.round(now - HOUR + 61 * SECOND, a=[60.0], b=[])
    assert mark() == 60


def test_a_stream_whose_clock_jumps(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of Spark's timers, and that of its progress."""
    before, timed = JoinProcessor.handleInputRows, stream_watch._timed
    jumps = JUMPS

    def jumping(self: Any, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        from pyspark import TaskContext

        class Jumped:
            def getCurrentProcessingTimeInMs(self) -> int:  # noqa: N802
                task: Any = TaskContext.get()
                batch = int(task.getLocalProperty("streaming.sql.batchId"))
                return int(timerValues.getCurrentProcessingTimeInMs()) + jumps[batch % len(jumps)]

            def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
                return int(timerValues.getCurrentWatermarkInMs())

        yield from before(self, key, rows, Jumped())

    def wrong(progress: Any) -> BatchTimed:
        record = timed(progress)
        assert record.origin.batch is not None
        seen.append(record.origin.batch)
        jump = JUMPS[record.origin.batch % len(JUMPS)] / 1000
        return replace(record, at=record.at + jump, seconds=record.seconds + max(jump, 0.0))

    seen: list[int] = []
    monkeypatch.setattr(JoinProcessor, "handleInputRows", jumping)
    monkeypatch.setattr(stream_watch, "_timed", wrong)
    cut = {}
    for alias, batches in SECONDS.items():
        starts = [sum(map(len, batches[:n])) for n in range(len(batches))]
        cut[alias] = [rows(each, first_id=first) for each, first in zip(batches, starts, strict=True)]
    streams = streaming(spark, files(tmp_path, cut))
    s = tw.session(spark)
    for alias, df in streams.items():
        s.stream(alias, df, time="ts")
    query = s.query(
        "SELECT a.id AS a_id, b.id AS b_id FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k",
        idle_after="1 hour",
    )
    place: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    query.start(trigger="availableNow", **place).awaitTermination(120)
    wait_until(lambda: len(seen) >= len(JUMPS), "times of all micro-batches")
    query.start(trigger="auto", **place).stop()  # chooses an interval from what is known
    assert query._batch_times is not None
    assert query._batch_times.sums[2] < YEAR / 1000, "no micro-batch took a year"
    assert ids(results(spark, tmp_path), "ab") == by_hand()
