"""Spark reads the log of a folder over compactions, and its own sink continues the folder from the same checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.deployments.join_files import expected_results, write_streams
from tests.runtime.spark.deployments.one_join import counts, join, start
from tests.runtime.spark.sink.test_written_by_tasks import by_duckdb, by_spark, by_spark_stream, run
from thalweg.runtime.sink.sink_log import SinkLog

INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"


@pytest.fixture
def compact_every_third(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(INTERVAL, "3")
    yield
    spark.conf.unset(INTERVAL)


@pytest.mark.usefixtures("compact_every_third")
def test_spark_s_sink_continues_the_folder(spark: SparkSession, tmp_path: Path) -> None:
    write_streams(tmp_path / "in", 4)
    j = join()
    run(spark, tmp_path, j)
    log = tmp_path / "out" / "_spark_metadata"
    assert (log / "2.compact").exists()
    expected = expected_results(tmp_path / "in")
    assert by_spark(spark, tmp_path / "out") == by_spark_stream(spark, tmp_path / "out") == expected
    assert counts(j, 3_000)["results"] == len(expected)  # the report counts as with Spark's sink
    before = max(int(file.name.partition(".")[0]) for file in log.glob("[0-9]*"))
    (tmp_path / "checkpoint" / "thalweg" / "sink").unlink()  # otherwise it goes on as it was begun

    write_streams(tmp_path / "in", 3, first=4)
    query = start(spark, tmp_path, j)
    assert query.awaitTermination(120)
    assert max(int(file.name.partition(".")[0]) for file in log.glob("[0-9]*")) >= before + 3
    expected = expected_results(tmp_path / "in")
    assert by_spark(spark, tmp_path / "out") == by_duckdb(spark, tmp_path / "out") == expected


def test_spark_s_sink_continues_after_an_interrupted_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the micro-batch are visible. Spark runs it again and writes others."""
    write_streams(tmp_path / "in", 3)
    j = join()

    def full(log: SinkLog, batch: int, files: list[str]) -> bool:
        if batch:
            raise OSError(28, "No space left on device")
        return add(log, batch, files)

    add = SinkLog.add
    with monkeypatch.context() as patched:
        patched.setattr(SinkLog, "add", full)
        with pytest.raises(StreamingQueryException, match="No space left"):
            run(spark, tmp_path, j)
    expected = expected_results(tmp_path / "in")
    visible = by_duckdb(spark, tmp_path / "out")
    assert len(by_spark(spark, tmp_path / "out")) < len(visible) < len(expected)
    (tmp_path / "checkpoint" / "thalweg" / "sink").unlink()
    with pytest.raises(tw.PlanError, match="sink='tasks' is not possible"):
        run(spark, tmp_path, j, sink="tasks")
    assert by_duckdb(spark, tmp_path / "out") == visible
    run(spark, tmp_path, j, sink="spark")
    assert by_spark(spark, tmp_path / "out") == by_duckdb(spark, tmp_path / "out") == expected
