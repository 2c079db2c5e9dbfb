"""Checkpoints and results on Spark: a folder is the same however its path is written, and by whom."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, files, rows
from tests.runtime.spark.waiting import wait_until


def on_spark(spark: SparkSession, streams: dict[str, Files]) -> tw.Session:
    s = tw.session(spark)
    for name, each in streams.items():
        s.stream(name, each.stream(spark), time="ts")
    return s


def jvm_folder(spark: SparkSession) -> str:
    """By which Spark resolves a relative path; the test may run in another one."""
    jvm = spark._jvm
    assert jvm is not None
    return str(jvm.java.lang.System.getProperty("user.dir"))


def test_a_checkpoint_in_use_is_refused_however_it_is_written(spark: SparkSession, tmp_path: Path) -> None:
    """Also for another session of Thalweg, another session of Spark, and where plain Spark uses it."""
    streams = files(tmp_path, {"a": [rows([0])]})
    place = tmp_path / "a checkpoint [1]"
    (tmp_path / "link").symlink_to(tmp_path)
    one = on_spark(spark, streams).query("SELECT id FROM a", name="one")
    first = one.start(format="noop", checkpoint=place)
    relative = os.path.relpath(place, jvm_folder(spark))
    others = {
        "relative": (spark, relative),
        "dots": (spark, str(tmp_path / "x" / ".." / place.name)),
        "link": (spark, str(tmp_path / "link" / place.name)),
        "new session": (spark.newSession(), str(place)),
    }
    try:
        for session, same in others.values():
            query = on_spark(session, streams).query("SELECT id FROM a", name="two")
            with pytest.raises(tw.PlanError, match=r"the query one is running with the checkpoint .*stop it first"):
                query.start(format="noop", checkpoint=same)
        with pytest.raises(tw.PlanError, match=r"the query one is running"):
            query.start(format="noop", options={"checkpointlocation": str(place)})
        assert first.isActive
    finally:
        first.stop()
    again = on_spark(spark, streams).query("SELECT id FROM a", name="two")
    run: dict[str, Any] = {"format": "noop", "trigger": "availableNow"}
    handle = again.start(checkpoint=relative, **run)  # a stopped query gives it free
    handle.awaitTermination()
    assert handle.id == first.id


def test_a_query_that_failed_gives_its_checkpoint_free(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    s = on_spark(spark, streams)
    run: dict[str, Any] = {"format": "noop", "trigger": "availableNow", "checkpoint": tmp_path / "checkpoint"}
    for _ in range(2):
        with pytest.raises(tw.QueryError, match="DIVIDE_BY_ZERO"):
            s.query("SELECT 1 / id AS x FROM a", name="fails").start(**run).awaitTermination()


def test_a_checkpoint_of_plain_spark_in_use_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    place = str(tmp_path / "checkpoint")
    plain = streams["a"].stream(spark).writeStream.format("noop").option("checkpointLocation", place).start()
    try:
        with pytest.raises(tw.PlanError, match=f"the query {plain.id} is running"):
            on_spark(spark, streams).query("SELECT id FROM a").start(format="noop", checkpoint=place)
        assert plain.isActive
    finally:
        plain.stop()


@pytest.mark.parametrize(
    ("path", "checkpoint", "says"),
    [
        ("out", "{abs}/out", "is the folder of the results"),
        ("file:{abs}/out/", "{abs}/x/../out", "is the folder of the results"),
        ("{abs}/link/out", "file://{abs}/out", "is the folder of the results"),
        ("{abs}/out", "out/checkpoint", "inside the folder of the results"),
        ("out/data", "{abs}/out", "is inside the checkpoint"),
    ],
)
def test_results_and_checkpoint_in_one_folder_are_refused(
    spark: SparkSession, tmp_path: Path, path: str, checkpoint: str, says: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    here = os.path.relpath(tmp_path, jvm_folder(spark))
    path, checkpoint = (
        place.format(abs=tmp_path) if "{abs}" in place else f"{here}/{place}" for place in (path, checkpoint)
    )
    query = on_spark(spark, files(tmp_path, {"a": [rows([0])]})).query("SELECT id FROM a")
    for given in ({"path": path}, {"format": "parquet", "options": {"Path": path}}):
        with pytest.raises(tw.PlanError, match=says):
            query.start(checkpoint=checkpoint, **given)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "link"]


def test_a_hidden_checkpoint_among_the_results_is_none_of_them(spark: SparkSession, tmp_path: Path) -> None:
    query = on_spark(spark, files(tmp_path, {"a": [rows([0, 1])]})).query("SELECT id FROM a")
    run: dict[str, Any] = {
        "path": tmp_path / "out",
        "checkpoint": tmp_path / "out" / "_checkpoint",
        "trigger": "availableNow",
    }
    query.start(**run).awaitTermination()
    assert sorted(pq.read_table(tmp_path / "out").column("id").to_pylist()) == [0, 1]


def _very_slow(number: int) -> int:
    time.sleep(20)
    return number


def test_a_job_on_finished_data_can_be_stopped(spark: SparkSession, tmp_path: Path) -> None:
    s = tw.session(spark)
    s.stream("a", files(tmp_path, {"a": [rows([0, 1, 2])]})["a"].finished(spark), time="ts")
    s.function("very_slow", _very_slow, "bigint")
    out: Any = tmp_path / "out"  # a Path works too
    handle = s.query("SELECT very_slow(id) AS id FROM a").start(path=out)
    tracker = spark.sparkContext.statusTracker()
    wait_until(lambda: bool(tracker.getActiveJobsIds()), "a job")
    begun = time.monotonic()
    handle.stop()
    assert time.monotonic() - begun < 20  # three rows would take a minute
    assert not handle.isActive
    assert handle.exception() is None
    assert not list(tmp_path.glob("out/*.parquet"))
    again: Any = tmp_path / "again"
    s.query("SELECT id FROM a").start(path=again).awaitTermination()
