"""A micro-batch that Spark runs again: its results are in the folder once, for every reader, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.deployments.join_files import expected_results, write_streams
from tests.runtime.spark.deployments.one_join import join
from tests.runtime.spark.sink.test_written_by_tasks import by_duckdb, by_spark, run
from tests.runtime.spark.test_replay import forget_last_commit
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.sink.sink_log import SinkLog
from thalweg.runtime.spark.sql.failures import sentence_of


class DriverEndsError(Exception):
    """As if the driver had ended here."""


def both(spark: SparkSession, folder: Path) -> list[list[int]]:
    """What both kinds of readers see, which must be the same."""
    seen = by_spark(spark, folder / "out")
    assert seen == by_duckdb(spark, folder / "out")
    return seen


def left(folder: Path) -> list[str]:
    """What is in the hidden folder, but for the list of the last micro-batch."""
    names = sorted(path.name for path in (folder / "out" / ".thalweg").iterdir())
    lists = [name for name in names if name.endswith(".json")]
    assert len(lists) == 1
    return [name for name in names if name not in lists]


def test_batches_that_are_run_again(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_streams(tmp_path / "in", 2)
    j = join()
    run(spark, tmp_path, j)
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")

    # the driver died after the log had the micro-batch
    forget_last_commit(tmp_path / "checkpoint")
    run(spark, tmp_path, j)
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")
    assert left(tmp_path) == ["query"]

    # it dies after the files were moved, and again before they are
    write_streams(tmp_path / "in", 1, first=2)

    def interrupted(*given: object) -> None:
        raise DriverEndsError("the driver ends")

    before = both(spark, tmp_path)
    for owner, step in ((SinkLog, "add"), (BatchCommit, "_move")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, step, interrupted)
            with pytest.raises(Exception, match="the driver ends"):
                run(spark, tmp_path, j)
        assert by_spark(spark, tmp_path / "out") == before
        seen = by_duckdb(spark, tmp_path / "out")
        assert len(set(map(tuple, seen))) == len(seen)
    write_streams(tmp_path / "in", 1, first=3)
    run(spark, tmp_path, j)
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")
    assert left(tmp_path) == ["query"]


def test_a_folder_that_vanishes_while_it_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_streams(tmp_path / "in", 2)
    commit = BatchCommit.commit

    def vanishing(self: BatchCommit, query: str, batch: int, files: list[object]) -> bool:
        if batch == 1:
            (tmp_path / "out").rename(tmp_path / "aside")
        return commit(self, query, batch, files)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(BatchCommit, "commit", vanishing)
        with pytest.raises(Exception, match="does not exist any more") as raised:
            run(spark, tmp_path, join())
    assert sentence_of(str(raised.value)).startswith(
        f"the folder {tmp_path}/out of the results does not exist any more"
    )
    assert not (tmp_path / "out").exists(), "nobody creates it again, where a disk may have been mounted"
    with pytest.raises(tw.PlanError, match=r"does not exist, but the checkpoint .* mount or restore"):
        run(spark, tmp_path, join())
    (tmp_path / "aside").rename(tmp_path / "out")
    run(spark, tmp_path, join())
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")
    assert left(tmp_path) == ["query"]
