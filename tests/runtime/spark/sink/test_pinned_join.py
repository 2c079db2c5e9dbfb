"""A checkpoint belongs to one join: another one is refused at the start, with either sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, files, rows

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


@pytest.mark.parametrize("sink", ["tasks", "spark"])
def test_another_join_is_refused_at_the_start(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    streams = files(tmp_path, {alias: [rows([0, 1])] for alias in "ab"})
    started(spark, pair(), streams, tmp_path, sink=sink)
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


def test_nothing_is_pinned_by_a_start_that_fails_and_a_checkpoint_without_batches_is_free(
    spark: SparkSession, tmp_path: Path
) -> None:
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    with pytest.raises(tw.PlanError):
        started(spark, pair(), streams, tmp_path, trigger="every now and then")
    checkpoint = tmp_path / "checkpoint"
    assert not (checkpoint / PINNED).exists()
    checkpoint.mkdir(exist_ok=True)
    (checkpoint / PINNED).write_text(json.dumps({"query": "what a process wrote that was killed at its start"}))
    started(spark, pair(), streams, tmp_path)
    assert pairs_in(tmp_path) == [(0, 0)]
    assert "window of 5000000 ticks" in json.loads((checkpoint / PINNED).read_text())["query"]


def test_a_checkpoint_of_an_earlier_version_continues(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    started(spark, pair(), streams, tmp_path)
    (tmp_path / "checkpoint" / PINNED).unlink()
    for each in streams.values():
        each.add(rows([1], first_id=1))
    started(spark, pair(), streams, tmp_path)
    assert pairs_in(tmp_path) == [(0, 0), (0, 1), (1, 0), (1, 1)]
