"""A micro-batch of a join that Spark runs again, and again: the windows are those from before it, its results are in
the sink once, and it counts once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.deployments.join_files import ALIASES, ROWS_A_FILE, expected_results, write_streams
from tests.runtime.spark.deployments.one_join import found, join, start
from tests.runtime.spark.test_replay import forget_last_commit
from tests.runtime.spark.waiting import wait_until
from thalweg.events import JoinObserved, from_json, read
from thalweg.report import JoinReport, JoinTally

NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


@pytest.fixture
def only_batches_with_rows(spark: SparkSession) -> Iterator[None]:
    """So that the last one is one that can be seen."""
    spark.conf.set(NO_DATA, "false")
    yield
    spark.conf.unset(NO_DATA)


def run(spark: SparkSession, folder: Path, j: tw.Join) -> None:
    query = start(spark, folder, j)
    try:
        assert query.awaitTermination(120), "the stream did not end"
    finally:
        query.stop()


def forget_in_sink(folder: Path, batch: int) -> None:
    """As a driver that was killed before the sink had all files leaves it."""
    (folder / "out" / "_spark_metadata" / str(batch)).unlink()
    (folder / "out" / "_spark_metadata" / f".{batch}.crc").unlink(missing_ok=True)


def from_file(events: Path) -> JoinReport:
    tally = JoinTally()
    for record in read(events):
        tally.add(record)
    return tally.report()


def totals(report: JoinReport) -> tuple[dict[str, int], int]:
    rows = {alias: sum(section.streams[alias].stream.rows for section in report.sections) for alias in ALIASES}
    return rows, sum(section.results for section in report.sections)


def each_once(folder: Path, files: int) -> tuple[dict[str, int], int]:
    return dict.fromkeys(ALIASES, files * ROWS_A_FILE), len(expected_results(folder / "in"))


def starts_of(events: Path, batch: int) -> list[str | None]:
    """The runs that reported a micro-batch, in the order of the lines."""
    told = map(from_json, events.read_text().splitlines())
    return list(dict.fromkeys(r.origin.start for r in told if isinstance(r, JoinObserved) and r.origin.batch == batch))


@pytest.mark.slow
@pytest.mark.timeout(400)  # up to four starts of a query, on a machine that may be busy
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_batch_that_is_run_again_and_again(
    spark: SparkSession, tmp_path: Path, only_batches_with_rows: None, times: int
) -> None:
    write_streams(tmp_path / "in", 3)
    events, checkpoint = tmp_path / "events.jsonl", tmp_path / "checkpoint"
    first = join(events=events)
    run(spark, tmp_path, first)
    assert found(spark, tmp_path) == expected_results(tmp_path / "in")

    # the driver died before the sink had the results: the same windows again, in workers whose copies have seen it
    assert forget_last_commit(checkpoint) == 2
    forget_in_sink(tmp_path, 2)
    assert len(found(spark, tmp_path)) < len(expected_results(tmp_path / "in"))
    run(spark, tmp_path, first)
    assert found(spark, tmp_path) == expected_results(tmp_path / "in")
    wait_until(lambda: len(starts_of(events, 2)) == 2, "word of the second time")
    wait_until(lambda: totals(first.report()) == each_once(tmp_path, 3), "each row once in the report")
    wait_until(lambda: totals(from_file(events)) == each_once(tmp_path, 3), "each row once in the file")

    if times == 1:
        return
    # it died when the sink had them: Spark passes the batch over
    assert forget_last_commit(checkpoint) == 2
    run(spark, tmp_path, join(events=events))
    assert found(spark, tmp_path) == expected_results(tmp_path / "in")

    # and a third time, with more data after it
    assert forget_last_commit(checkpoint) == 2
    forget_in_sink(tmp_path, 2)
    write_streams(tmp_path / "in", 2, first=3)
    last = join(events=events)
    run(spark, tmp_path, last)
    assert found(spark, tmp_path) == expected_results(tmp_path / "in")
    wait_until(lambda: totals(from_file(events)) == each_once(tmp_path, 5), "each row once in the file")
    assert len(starts_of(events, 2)) == 3
    assert totals(last.report())[0] == dict.fromkeys(ALIASES, 3 * ROWS_A_FILE)
