"""A checkpoint with results of one join refuses another one at the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, files, rows
from tests.runtime.spark.sink.test_choice import PAIRS, configured, places, session
from thalweg.errors import QueryError
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.sink.sink_log import SinkLog

PINNED = "thalweg/results"


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
    assert "window of 5000000 ticks" in json.loads((tmp_path / "checkpoint" / PINNED).read_text())["join"]


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
    """Also those that the state does not depend on: readers would find both in one folder. A description that was lost
    is written again."""
    streams = files(tmp_path, {alias: [rows([0], ["x"])] for alias in "ab"})
    join, other = pair(select=["a.k", "a.id", "b.id"]), pair(select=["a.id", "b.id"])
    said = (
        "results with the columns a_k string, a_id bigint, b_id bigint, event_time timestamp, and not with a_id "
        "bigint, b_id bigint, event_time timestamp; start the query with the same columns"
    )
    started(spark, join, streams, tmp_path)
    for number in (1, 2):
        for each in streams.values():
            each.add(rows([number], ["x"], first_id=number))
        with pytest.raises(tw.CheckpointError, match=said):
            started(spark, other, streams, tmp_path)
        if number == 1:
            (tmp_path / "checkpoint" / PINNED).unlink()
            started(spark, join, streams, tmp_path)
            assert (tmp_path / "checkpoint" / PINNED).exists()
    started(spark, pair(select=["b.id", "a.id", "a.k"]), streams, tmp_path)  # in another order
    assert pairs_in(tmp_path) == [(a, b) for a in range(3) for b in range(3)]


@pytest.mark.parametrize("step", ["_clean_up", "add"])
def test_an_interrupted_first_commit_without_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """With partitionBy there is no file either. The next micro-batch of another join would have results."""
    streams = files(tmp_path, {"a": [rows([0])], "b": [rows([7])]})
    given: dict[str, Any] = {"options": {"partitionBy": ["a_k"]}}

    def full(*_: Any) -> None:
        raise QueryError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(SinkLog if step == "add" else BatchCommit, step, full)
        with pytest.raises(StreamingQueryException, match="the disk is full"):
            started(spark, pair(), streams, tmp_path, **given)
    with pytest.raises(tw.CheckpointError, match="written by another join"):
        started(spark, pair(window="9 seconds"), streams, tmp_path, **given)
    streams["a"].add(rows([8], first_id=1))
    streams["b"].add(rows([9], first_id=1))
    started(spark, pair(), streams, tmp_path, **given)
    found = duckdb.connect().execute(f"SELECT a_id, b_id FROM '{tmp_path}/out/**/*.parquet' ORDER BY ALL").fetchall()
    assert found == [(1, 0), (1, 1)]


@pytest.mark.parametrize("start", ["failed", "had no rows"])
def test_a_start_without_results_binds_no_columns(spark: SparkSession, tmp_path: Path, start: str) -> None:
    streams = files(tmp_path, {alias: [rows([0, 1])] for alias in "ab"})
    if start == "failed":
        with pytest.raises(StreamingQueryException, match="max_matches"):
            started(spark, pair(select=["a.k"], max_matches=1), streams, tmp_path, options={"partitionBy": ["a_k"]})
    else:
        for each in streams.values():
            (each.folder / "part-000.parquet").rename(each.folder / ".hidden")
        started(spark, pair(select=["a.k"]), streams, tmp_path, options={"partitionBy": ["a_k"]})
        for each in streams.values():
            (each.folder / ".hidden").rename(each.folder / "part-000.parquet")
    for number in (1, 2):
        started(spark, pair(), streams, tmp_path)
        assert len(pairs_in(tmp_path)) == 4 * number**2
        for each in streams.values():
            each.add(rows([2, 3], first_id=2))
    with pytest.raises(tw.CheckpointError, match="partitionBy"):
        started(spark, pair(), streams, tmp_path, options={"partitionBy": ["a_k"]})


def test_the_checkpoint_of_a_session_s_query(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    session(spark, streams).query(PAIRS).start(**places(tmp_path)).awaitTermination(120)
    with pytest.raises(tw.CheckpointError, match=r"(?s)belongs to another query, .*SELECT a.id AS a, .*its own checkp"):
        started(spark, pair(), streams, tmp_path)
    assert json.loads((tmp_path / "checkpoint" / PINNED).read_text())["join"] is None


def test_partition_columns_whose_names_differ_only_in_case(spark: SparkSession, tmp_path: Path) -> None:
    table = rows([0]).append_column("ID", pa.array(["p"]))
    streams = files(tmp_path, {"a": [table], "b": [rows([0])]})

    def run(*by: str) -> None:
        started(spark, pair(), streams, tmp_path, options={"partitionBy": list(by)})

    with configured(spark, "spark.sql.caseSensitive", "true"):
        run("a_id")
        with pytest.raises(tw.CheckpointError, match=r"partitionBy=\['a_id'\].*and not with .*partitionBy=\['a_ID'\]"):
            run("a_ID")
        run("a_id")
