"""A checkpoint with results of one join refuses another one at the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, files, rows
from tests.runtime.spark.sink.test_choice import PAIRS, places, session
from thalweg.errors import QueryError
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.spark.sink.pinned_join import PinnedJoin

PINNED = "thalweg-join"


def pair(**given: Any) -> tw.Join:
    return tw.join(**{"on": "a.k = b.k", "window": "5 seconds", "time": "ts", "buckets": 2, **given})


def started(spark: SparkSession, join: tw.Join, streams: dict[str, Files], folder: Path, **given: Any) -> None:
    """Run a join until it has read all files."""
    data: dict[str, Any] = {name: each.stream(spark) for name, each in streams.items()}
    places: dict[str, Any] = {"path": folder / "out", "checkpoint": folder / "checkpoint", "trigger": "availableNow"}
    assert join.start(**{**places, **given}, **data).awaitTermination(120)


def pairs_in(folder: Path) -> list[tuple[Any, ...]]:
    """Return the ids of the results, sorted."""
    return duckdb.connect().execute(f"SELECT a_id, b_id FROM '{folder}/out/*.parquet' ORDER BY ALL").fetchall()


def test_another_join_is_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [rows([0, 1])] for alias in "ab"})
    started(spark, pair(), streams, tmp_path)
    before = pairs_in(tmp_path)
    for each in streams.values():
        each.add(rows([2], first_id=2))
    for said, changed in (
        ("it had 'a: window of 5 s, .*now there is 'a: window of 6 s, .*as it was, with buckets=2", {"window": "6 s"}),
        ("it had 'buckets=2 by a.k = b.k'; now there is 'buckets=3", {"buckets": 3}),
        ("it had 'a: .*stored .*id int64.*now there is 'a: [^']*stored k int64'", {"select": ["a.k", "b.*"]}),
    ):
        with pytest.raises(tw.CheckpointError, match=f"written by another join: {said}"):
            started(spark, pair(**changed), streams, tmp_path)
    assert pairs_in(tmp_path) == before
    # what is not part of its state may change
    started(spark, pair(lateness="1 second", policy="static"), streams, tmp_path)
    assert pairs_in(tmp_path) == [(a, b) for a in range(3) for b in range(3)]


def test_a_join_whose_tasks_have_failed_binds_no_other(spark: SparkSession, tmp_path: Path) -> None:
    """It was started by mistake, or cannot run: nothing was committed."""
    streams = files(tmp_path, {alias: [rows([0, 1])] for alias in "ab"})
    with pytest.raises(StreamingQueryException, match="max_matches"):
        started(spark, pair(window="9 seconds", max_matches=1), streams, tmp_path)
    assert not (tmp_path / "checkpoint" / PINNED).exists()
    started(spark, pair(), streams, tmp_path)
    assert len(pairs_in(tmp_path)) == 4
    assert "window of 5000000 ticks" in json.loads((tmp_path / "checkpoint" / PINNED).read_text())["query"]


@pytest.mark.parametrize("step", ["_move", "_clean_up"], ids=["before files are visible", "after the log"])
def test_a_join_whose_first_commit_was_interrupted_binds_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Spark has no state of it, but the list of its results is written, and would be taken for those of another."""
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})

    def full(*_: Any) -> None:
        raise QueryError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(BatchCommit, step, full)
        with pytest.raises(StreamingQueryException, match="the disk is full"):
            started(spark, pair(), streams, tmp_path)
    with pytest.raises(tw.CheckpointError, match="written by another join"):
        started(spark, pair(window="9 seconds"), streams, tmp_path)
    started(spark, pair(), streams, tmp_path)
    assert pairs_in(tmp_path) == [(0, 0)]


def test_other_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Also those that the state does not depend on: readers would find both in one folder."""
    streams = files(tmp_path, {alias: [rows([0], ["x"])] for alias in "ab"})
    started(spark, pair(select=["a.k", "a.id", "b.id"]), streams, tmp_path)
    for each in streams.values():
        each.add(rows([1], ["x"], first_id=1))
    with pytest.raises(
        tw.CheckpointError,
        match="results with the columns a_k string, a_id bigint, b_id bigint, event_time timestamp, and not with a_id "
        "bigint, b_id bigint, event_time timestamp; start the query with the same columns",
    ):
        started(spark, pair(select=["a.id", "b.id"]), streams, tmp_path)
    started(spark, pair(select=["b.id", "a.id", "a.k"]), streams, tmp_path)  # in another order
    assert pairs_in(tmp_path) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"query": 5}'])
def test_a_damaged_description_is_written_again(spark: SparkSession, tmp_path: Path, content: str) -> None:
    """The state has it too."""
    (tmp_path / PINNED).write_text(content)
    one, other = (PinnedJoin(spark, str(tmp_path), query, 1_000) for query in ("one join", "another join"))
    other.check()
    one.keep()
    one.check()
    with pytest.raises(tw.CheckpointError, match="it had 'one join'; now there is 'another join'"):
        other.check()


def test_a_description_is_written_once_and_whole(spark: SparkSession, tmp_path: Path) -> None:
    one, other = (PinnedJoin(spark, str(tmp_path), query, 1_000) for query in ("one join", "another join"))
    one.keep()
    other.keep()
    one.check()
    with pytest.raises(tw.CheckpointError, match="it had 'one join'; now there is 'another join'"):
        other.check()
    assert {path.name for path in tmp_path.iterdir()} == {PINNED, f".{PINNED}.crc"}
    (tmp_path / PINNED).write_text('{"query": "another join"}')  # its checksum is that of the first
    again = PinnedJoin(spark, str(tmp_path), "one join", 1_000)
    again.keep()
    again.check()
    assert json.loads((tmp_path / PINNED).read_text()) == {"query": "one join"}


def test_a_description_that_cannot_be_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    pinned = PinnedJoin(spark, str(tmp_path / "file"), "a join", 1_000)
    with pytest.raises(tw.PlanError, match=rf"cannot write '{tmp_path}/file/{PINNED}': .*; free space on its disk, or"):
        pinned.keep()


def test_the_checkpoint_of_a_session_s_query(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    session(spark, streams).query(PAIRS).start(**places(tmp_path)).awaitTermination(120)
    with pytest.raises(tw.CheckpointError, match=r"(?s)belongs to another query, .*SELECT a.id AS a, .*its own checkp"):
        started(spark, pair(), streams, tmp_path)
    assert not (tmp_path / "checkpoint" / PINNED).exists()


def test_a_checkpoint_of_an_earlier_version_continues(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    started(spark, pair(), streams, tmp_path)
    (tmp_path / "checkpoint" / PINNED).unlink()
    for each in streams.values():
        each.add(rows([1], first_id=1))
    started(spark, pair(), streams, tmp_path)
    assert pairs_in(tmp_path) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert (tmp_path / "checkpoint" / PINNED).exists()
