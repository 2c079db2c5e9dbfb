"""Folders that are named in several ways, and files of a checkpoint that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, rows
from tests.runtime.spark.sink.test_choice import PAIRS, found, pairs, places, session


def run(spark: SparkSession, streams: dict[str, Files], **given: Any) -> None:
    session(spark, streams).query(PAIRS).start(**given).awaitTermination(120)


@pytest.mark.parametrize("by", [[], ["a"]], ids=["one folder", "partitioned"])
def test_a_folder_that_a_link_names(spark: SparkSession, tmp_path: Path, by: list[str]) -> None:
    """Spark's readers see only the files that the log has by the name that they read. So all are under the first."""
    streams = pairs(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for number, name in enumerate(("link", "out", "link")):
        if number:
            streams["a"].add(rows([20 * number], first_id=10 * number))
            streams["b"].add(rows([20 * number], first_id=10 * number))
        run(
            spark,
            streams,
            **{**places(tmp_path), "path": tmp_path / name, "options": {"partitionBy": by} if by else {}},
        )
        seen = spark.read.parquet(str(tmp_path / "link")).select("a", "b").collect()
        assert sorted(map(tuple, seen)) == found(tmp_path)
    assert {(10, 10), (20, 20)} < set(found(tmp_path))


def test_a_checkpoint_whose_sink_was_lost(spark: SparkSession, tmp_path: Path) -> None:
    """As a disk may leave its file that lost its power. Spark's sink would write the results of a micro-batch again."""
    streams, given = pairs(tmp_path), places(tmp_path)
    run(spark, streams, **given)
    before = found(tmp_path)
    (tmp_path / "checkpoint" / "thalweg" / ".sink.crc").unlink()
    (tmp_path / "checkpoint" / "thalweg" / "sink").write_text("")
    for sink in (None, "spark", "tasks"):
        with pytest.raises(tw.CheckpointError, match="/thalweg/sink of the checkpoint is empty; restore it"):
            run(spark, streams, **given, sink=sink)
    assert found(tmp_path) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("file://host/x", "Spark cannot open 'file://host/x': Wrong FS"),
        ("hdfs://no such host/x", "Spark cannot open"),
        ("\udcff", "has bytes that are not UTF-8"),
        ("nothing", "is a link to nothing; give a folder"),
        ("link", "is a file; give a folder"),
    ],
)
def test_paths_that_cannot_be_opened(spark: SparkSession, tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "nothing").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    given = tmp_path / path if path in ("nothing", "link") else path
    with pytest.raises(tw.PlanError, match=said):
        run(spark, pairs(tmp_path), **{**places(tmp_path), "path": given})
