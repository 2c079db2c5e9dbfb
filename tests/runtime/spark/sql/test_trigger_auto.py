"""`trigger="auto"`: the first start runs as Spark does, the next one in the interval that follows from its times."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.waiting import wait_until
from thalweg import PlanError
from thalweg.events import BatchTimed
from thalweg.runtime.checkpoint_parts import TIMES
from thalweg.runtime.spark import stream_watch
from thalweg.runtime.spark.checkpoint import Checkpoint
from thalweg.runtime.spark.sql.start import automatic_trigger
from thalweg.stats.batch_time import BatchTimes

TEXT = "SELECT value FROM ticks WHERE value % 2 = 0"


def session(spark: SparkSession) -> tw.Session:
    s = tw.session(spark)
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 500).load()
    s.stream("ticks", ticks, time="timestamp")
    return s


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_second_start_takes_the_interval_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    given: dict[str, Any] = {"format": "noop", "checkpoint": checkpoint, "trigger": "auto", "busy": 0.2}
    q = session(spark).query(TEXT)
    run = q.start(**given)
    try:
        wait_until(lambda: _counted(q) >= 4, "four micro-batches are timed")
        wait_until(lambda: Checkpoint(spark, checkpoint).read(TIMES) is not None, "their times are stored")
    finally:
        run.stop()
    timed = [record for record in run.events() if isinstance(record, BatchTimed)]
    assert len(timed) >= 4
    assert all(record.seconds > 0 for record in timed)
    assert "micro-batches" in str(q.report())
    stored = Checkpoint(spark, checkpoint).read(TIMES)
    assert stored is not None
    assert stored.batches >= 4
    # sizes of micro-batches may be too similar on an idle machine, so the times of the next start are given
    times = BatchTimes()
    for n, rows in enumerate((1, 1_000, 500, 2_000, 1_000, 1_500)):
        times.add("before", at=n * 2.0, rows=rows, seconds=0.4 + 1e-5 * rows)
    again = session(spark).query(TEXT)
    again._batch_times = times
    expected = automatic_trigger(times, 0.2)
    assert expected is not None
    milliseconds = float(expected["processingTime"].split()[0])
    assert 1_500 < milliseconds < 3_000
    text = str(again.explain())
    assert "Micro-batches" in text
    assert "chosen" in text
    run = again.start(**given)
    try:
        wait_until(lambda: len(_begun(run)) >= 3, "three micro-batches have run")
    finally:
        run.stop()
    begun = _begun(run)
    assert (begun[2] - begun[1]) * 1000 == pytest.approx(milliseconds, rel=0.15)


def _counted(q: tw.ContinuousQuery) -> int:
    times = q.report().batch_times
    return 0 if times is None else times.batches


def _begun(run: Any) -> list[float]:
    """When the micro-batches began, in seconds."""
    return [datetime.fromisoformat(each["timestamp"]).timestamp() for each in run.streaming_query.recentProgress]


def test_nothing_known_is_no_trigger() -> None:
    assert automatic_trigger(BatchTimes(), 0.7) is None
    slow = BatchTimes()
    for n, rows in enumerate((1, 200, 100, 200, 300)):
        slow.add("s", at=float(n), rows=rows, seconds=0.1 + 0.01 * rows)
    assert slow.rate is not None
    assert automatic_trigger(slow, 0.7) is None  # rows alone take longer


def test_wrong_triggers_are_refused(spark: SparkSession) -> None:
    q = session(spark).query(TEXT)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"trigger": "auto", "busy": 1.0}, "busy=1.0: must be a share of the time above 0 and below 1"),
        ({"trigger": "5 seconds", "busy": 0.5}, "busy=0.5 is only for trigger='auto'"),
    ]
    for given, message in wrong:
        with pytest.raises(PlanError) as caught:
            q.start(format="noop", **given)
        assert message in str(caught.value)
    finished = tw.session(spark)
    finished.stream("ticks", spark.range(3).selectExpr("id AS value", "timestamp'2026-01-01' AS ts"), time="ts")
    with pytest.raises(PlanError, match="trigger='auto' is only for Spark streams; remove it"):
        finished.query(TEXT).start(format="noop", trigger="auto")


def test_a_start_that_has_ended_is_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    run = session(spark).query(TEXT).start(format="noop")
    start = str(run.streaming_query.runId)  # type: ignore[attr-defined]
    listener = stream_watch._listener(spark)
    assert start in listener.batches
    run.stop()
    wait_until(lambda: start not in listener.batches, "the start is forgotten")
