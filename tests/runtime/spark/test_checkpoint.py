"""The parts of a checkpoint, as files that Hadoop's file systems read and write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.runtime.checkpoint_parts import FORMAT, RESULTS, SINK, Results, Sink
from thalweg.runtime.spark.checkpoint import Checkpoint

RESULT = Results("one join", (("a", "bigint"), ("B", "string")), ())


def test_a_part_is_written_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    """In place of a damaged one too, and of the folder that it is where there is no JVM to call."""
    checkpoint = Checkpoint(spark, str(tmp_path))
    path = tmp_path / "thalweg" / "results"
    content = {"format": FORMAT, "join": "one join", "columns": [["a", "bigint"], ["B", "string"]], "partition_by": []}

    def write() -> None:
        assert checkpoint.read(RESULTS) is None
        checkpoint.write(RESULTS, RESULT)
        assert checkpoint.read(RESULTS) == RESULT
        assert {each.name for each in path.parent.iterdir()} == {"results", ".results.crc"}
        assert json.loads(path.read_text()) == content

    path.mkdir(parents=True)
    (path / "part-0.txt").write_text(RESULTS.text_of(RESULT) + "\n")
    assert checkpoint.read(RESULTS) == RESULT
    (path / "part-0.txt").write_text("{")
    write()
    path.write_text(path.read_text().replace("one", "two"))  # its checksum is that of the first
    write()


def test_a_part_that_cannot_be_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        tw.PlanError, match=rf"cannot write '{tmp_path}/file/thalweg/results': .*; free space on its disk, or let"
    ):
        Checkpoint(spark, f"{tmp_path}/file/").write(RESULTS, RESULT)


def test_a_checksum_that_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    """And a file without one that is damaged."""
    checkpoint, sink = Checkpoint(spark, str(tmp_path)), Sink("/out", ("a",))
    checkpoint.create(SINK, sink)
    assert checkpoint.read(SINK) == sink
    (tmp_path / "thalweg" / "sink").write_text("hello")
    with pytest.raises(tw.CheckpointError, match=r"/thalweg/sink of the checkpoint is damaged: its checksum, in a fil"):
        checkpoint.read(SINK)
    (tmp_path / "thalweg" / ".sink.crc").unlink()
    with pytest.raises(tw.CheckpointError, match=r"/thalweg/sink of the checkpoint is damaged; restore it"):
        checkpoint.read(SINK)


def test_two_starts_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """The second one is refused, and changes nothing. A start that was killed has left an empty file."""
    checkpoint, sink = Checkpoint(spark, str(tmp_path)), Sink("/out", ("a",))
    (tmp_path / "thalweg").mkdir()
    (tmp_path / "thalweg" / "sink").touch()
    checkpoint.create(SINK, sink)
    with pytest.raises(tw.PlanError, match="another query is being started with it, or it cannot be written; give"):
        checkpoint.create(SINK, Sink("/other", ()))
    assert checkpoint.read(SINK) == sink
    checkpoint.remove(SINK)
    assert checkpoint.read(SINK) is None


@pytest.mark.parametrize("name", ["thalweg", "thalweg/part-00000-0.txt", "thalweg-sink"])
def test_a_checkpoint_of_an_earlier_format(spark: SparkSession, tmp_path: Path, name: str) -> None:
    checkpoint = tmp_path / "checkpoint"
    path = checkpoint / name
    path.parent.mkdir(parents=True)
    path.touch()
    place = checkpoint / path.relative_to(checkpoint).parts[0]
    s = tw.session(spark)
    s.stream("ticks", spark.readStream.format("rate").load(), time="timestamp")
    with pytest.raises(
        tw.CheckpointError, match=f"^the file {place} of the checkpoint has an earlier format, but this version reads"
    ):
        s.query("SELECT value FROM ticks").start(format="noop", checkpoint=checkpoint)
    assert [*checkpoint.iterdir()] == [place]
