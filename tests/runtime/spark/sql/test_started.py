"""Queries that are started: sinks, handles, names, and what a checkpoint is bound to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, files, rows
from tests.runtime.spark.waiting import wait_until
from thalweg.session.handle import StreamRun

JOIN = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k WINDOW 5 SECONDS"


def on_spark(spark: SparkSession, streams: dict[str, Files], **statistics: dict[str, Any]) -> tw.Session:
    s = tw.session(spark)
    for name, each in streams.items():
        s.stream(name, each.stream(spark), time="ts", **statistics.get(name, {}))
    return s


def found(folder: Path) -> list[tuple[Any, ...]]:
    table = pq.read_table(folder)
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_restart_goes_on_and_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 3])], "b": [rows([1])]})
    run: dict[str, Any] = {
        "path": str(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "availableNow",
    }
    first = on_spark(spark, streams).query(JOIN, name="pairs").start(**run)
    first.awaitTermination()
    assert found(tmp_path / "out") == [(0, 0), (1, 0)]
    streams["a"].add(rows([6], first_id=2))
    streams["b"].add(rows([4, 20], first_id=1))
    # other words for the same, and statistics that would put b first: the plan is the one it was begun with
    known = {"statistics": {"rows_per_second": 10, "distinct": {"k": 5}}}
    less = {"statistics": {"rows_per_second": 1, "distinct": {"k": 50}}}
    again = on_spark(spark, streams, a=known, b=less).query(
        "select A.id as a, B.id as b  from A, B where A.k = B.k window 5 seconds"
    )
    assert again.plan.join is not None
    assert again.plan.join.order == ("b", "a")
    spark.conf.set("spark.thalweg.policy", "static")  # a policy from outside is not bound to the checkpoint
    try:
        second = again.start(**run)
    finally:
        spark.conf.unset("spark.thalweg.policy")
    second.awaitTermination()
    assert "(static)" in str(second.explain())
    assert second.id == first.id
    assert found(tmp_path / "out") == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    other = on_spark(spark, streams).query(JOIN.replace("5 SECONDS", "6 SECONDS"))
    with pytest.raises(
        tw.CheckpointError, match=r"(?s)another query.*it had '.* 5 S.*'; now there is '.* 6 S.*'\)\n.*its own"
    ):
        other.start(**run)


def test_checkpoints_of_the_spark_configuration_are_bound_too(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 3])]})
    s = on_spark(spark, streams)
    run: dict[str, Any] = {"path": str(tmp_path / "out"), "trigger": "availableNow"}
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "all"))
    try:
        s.query("SELECT id FROM a", name="ids").start(**run).awaitTermination()
        streams["a"].add(rows([4], first_id=2))
        s.query("SELECT id FROM a", name="ids").start(**run).awaitTermination()
        assert found(tmp_path / "out") == [(0,), (1,), (2,)]
        with pytest.raises(tw.CheckpointError, match="another query"):
            s.query("SELECT k AS id FROM a", name="ids").start(**run)
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")


def test_a_handle_is_asked_as_spark_s_own(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 3])], "b": [rows([1])]})
    s = on_spark(spark, streams)
    query = s.query(JOIN, name="pairs")
    handle = query.start(format="memory", checkpoint=str(tmp_path / "checkpoint"))
    try:
        assert handle.isActive
        assert handle.name == "pairs"
        assert isinstance(handle, StreamRun)
        handle.streaming_query.processAllAvailable()
        assert sorted(map(tuple, spark.table("pairs").collect())) == [(0, 0), (1, 0)]
        assert handle.exception() is None
        assert handle.awaitTermination(0.01) is False
        assert handle.lastProgress["numInputRows"] >= 0
        with pytest.raises(tw.PlanError, match="'pairs' is already running"):
            s.query(JOIN, name="pairs").start(format="noop")
        wait_until(lambda: "2 results" in str(handle.report()), "the report of both results")
        assert "counted: 2 results" in str(handle.explain())
        assert {type(record).__name__ for record in handle.events()} >= {"JoinObserved"}
    finally:
        handle.stop()
    assert not handle.isActive
    again = s.query(JOIN, name="pairs")  # type: ignore[unreachable]  # mypy: as if stop() left isActive as it was
    again.start(format="noop", trigger={"availableNow": True}).awaitTermination()


def test_a_sink_that_needs_a_checkpoint_says_so(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    query = on_spark(spark, streams).query("SELECT id FROM a")
    with pytest.raises(tw.PlanError, match="checkpoint="):
        query.start(path=str(tmp_path / "out"))
    with pytest.raises(tw.PlanError, match="a place for the results"):
        query.start()


def test_a_query_that_fails_tells_why(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 1])]})
    handle = (
        on_spark(spark, streams).query("SELECT 1 / (id - 1) AS x FROM a").start(format="noop", trigger="availableNow")
    )
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        handle.awaitTermination()
    assert "DIVIDE_BY_ZERO" in str(handle.exception())


def test_finished_data_are_written_once(spark: SparkSession, tmp_path: Path) -> None:
    s = tw.session(spark)
    s.stream("a", files(tmp_path, {"a": [rows([0, 1, 2])]})["a"].finished(spark), time="ts")
    handle = s.query("SELECT id FROM a WHERE id > 0").start(path=str(tmp_path / "out"))
    assert handle.awaitTermination(60) is True
    assert found(tmp_path / "out") == [(1,), (2,)]
    with pytest.raises(tw.PlanError, match="is only for Spark streams"):
        s.query("SELECT id FROM a").start(path=str(tmp_path / "again"), checkpoint=str(tmp_path / "checkpoint"))
    s.query("SELECT id FROM a").start(format="noop").awaitTermination()
    with pytest.raises(tw.PlanError, match=r"path=\.\.\., or format='noop'$"):
        s.query("SELECT id FROM a").start()


def test_spark_without_ansi_or_in_another_zone_is_told(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    s = on_spark(spark, streams)
    try:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        with pytest.raises(tw.PlanError, match=r"spark.sql.ansi.enabled', True"):
            s.query("SELECT id FROM a")
        spark.conf.set("spark.sql.ansi.enabled", "true")
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        s.query("SELECT id FROM a").dataframe()
        with pytest.raises(tw.PlanError, match=r"hour would be evaluated.*'UTC'"):
            s.query("SELECT hour(ts) AS h FROM a")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_start_that_fails_leaves_the_checkpoint_free(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 1])]})
    checkpoint = str(tmp_path / "checkpoint")
    with pytest.raises(tw.PlanError, match=r"(?s)Spark refuses this query.*options of start\(\)"):
        on_spark(spark, streams).query("SELECT id FROM a").start(format="nonsense", checkpoint=checkpoint)
    run: dict[str, Any] = {"path": str(tmp_path / "out"), "checkpoint": checkpoint, "trigger": "availableNow"}
    on_spark(spark, streams).query("SELECT id + 1 AS id FROM a").start(**run).awaitTermination()
    assert found(tmp_path / "out") == [(1,), (2,)]


def test_functions_of_literals_run_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    s = tw.session(spark)
    s.stream("a", files(tmp_path, {"a": [rows([0, 1, 2])]})["a"].finished(spark), time="ts")
    s.function("inc", _inc, "bigint")
    got = s.query("SELECT inc(1) AS y, inc(id) AS z FROM a").dataframe().collect()
    assert sorted(map(tuple, got)) == [(2, 1), (2, 2), (2, 3)]


def _inc(number: int) -> int:
    return number + 1


def test_finished_data_are_refused_if_a_window_would_be_lost(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])], "b": [rows([0])]})
    s = tw.session(spark)
    s.stream("a", streams["a"].stream(spark), time="ts")
    s.stream("b", streams["b"].finished(spark), time="ts")
    with pytest.raises(tw.SqlError, match=r"column 37: b is a finished DataFrame, but a .*s\.table\('b', df\)"):
        s.query(JOIN)
    assert s.query("SELECT id FROM b").dataframe().count() == 1


def test_a_checkpoint_that_is_in_use_is_not_taken_from_a_query(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    s = on_spark(spark, streams)
    place = str(tmp_path / "checkpoint")
    first = s.query("SELECT id FROM a", name="one").start(format="noop", checkpoint=place)
    try:
        same: Any  # a Path works too
        for same in (
            place,
            f"{place}/",
            f"file:{place}",
            f"file://{place}",
            place.replace("/check", "//check"),
            Path(place),
        ):
            with pytest.raises(tw.PlanError, match=r"the query one is running with the checkpoint"):
                s.query("SELECT id FROM a", name="two").start(format="noop", checkpoint=same)
        with pytest.raises(tw.PlanError, match="'ONE' is already running"):
            s.query("SELECT id FROM a", name="ONE").start(format="noop")
        assert first.isActive
    finally:
        first.stop()
    assert repr(first) == "<query one: ended>"
    with pytest.raises(tw.PlanError, match="is the folder of the results"):
        s.query("SELECT id FROM a").start(path=place, checkpoint=place)


@pytest.mark.parametrize("trigger", ["10 parsecs", "-1 seconds", {"foo": 1}, 5])
def test_a_trigger_that_is_none_is_told(spark: SparkSession, tmp_path: Path, trigger: Any) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    with pytest.raises(tw.PlanError, match=r"trigger=.*use '10 seconds', 'availableNow'"):
        on_spark(spark, streams).query("SELECT id FROM a").start(format="noop", trigger=trigger)


def test_what_spark_raises_in_a_run_is_an_error_of_ours(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0, 1])]})
    s = on_spark(spark, streams)
    s.function("inverse", lambda number: 1 // number, "bigint")
    s.function("lines", _lines, "bigint")
    told = {
        "SELECT 1 / id AS x FROM a": r"^DIVIDE_BY_ZERO: Division by zero; write x / nullif\(y, 0\)$",
        "SELECT inverse(id) AS x FROM a": r"^function 'inverse' raised ZeroDivisionError: .* filter them out in WHERE$",
        "SELECT lines(id) AS x FROM a": r"(?s)^function 'lines' raised ValueError: one\n\ntwo.*given 0; .* in WHERE$",
        "SELECT CAST(concat('a. ', CAST(id AS STRING)) AS INT) AS x FROM a": r"^CAST_INVALID_INPUT: .*'a\. 0'.*; drop",
        "SELECT id FROM a WHERE inverse(id) > 0": r"^condition 'inverse\(a.id\) > 0' raised ZeroDivisionError",
    }
    for text, words in told.items():
        handle = s.query(text).start(format="noop", trigger="availableNow")
        with pytest.raises(tw.QueryError, match=words):
            handle.awaitTermination()
        assert isinstance(handle.exception(), tw.QueryError)
        assert repr(handle).endswith("failed>")
    finished = tw.session(spark)
    finished.stream("a", streams["a"].finished(spark), time="ts")
    out = str(tmp_path / "out")
    finished.query("SELECT id FROM a").start(path=out).awaitTermination()
    with pytest.raises(tw.QueryError, match=r"PATH_ALREADY_EXISTS: .*options=\{'mode': 'overwrite'\}"):
        finished.query("SELECT id FROM a").start(path=out).awaitTermination()
    finished.query("SELECT id FROM a").start(path=out, options={"mode": "overwrite"}).awaitTermination()


def test_a_watermark_that_a_stream_brings_is_what_explain_tells(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {"a": [rows([0])]})
    s = tw.session(spark)
    s.stream("a", streams["a"].stream(spark).withWatermark("ts", "10 seconds"), time="ts", lateness="1 hour")
    assert "up to 10 seconds out of order" in str(s.query("SELECT id FROM a").explain())


def _lines(number: int) -> int:
    raise ValueError("one\n\ntwo")


def test_a_result_without_rows_can_be_asked_about(spark: SparkSession, tmp_path: Path) -> None:
    """Spark finds on the way that nothing is left to do, and drops what would have counted."""
    s = tw.session(spark)
    s.stream("a", files(tmp_path, {"a": [rows([0, 1])]})["a"].finished(spark), time="ts")
    s.function("no", lambda k: False, "boolean")
    q = s.query("SELECT k, count(*) AS n FROM a [RANGE 1 HOUR] WHERE no(k) GROUP BY k")
    assert q.dataframe().collect() == []
    assert "Aggregate" in str(q.explain())
    assert str(q.report())


def test_filters_in_a_fixed_order_are_not_called_adaptive(spark: SparkSession, tmp_path: Path) -> None:
    s = tw.session(spark)
    s.stream("a", files(tmp_path, {"a": [rows([0])]})["a"].finished(spark), time="ts")
    s.function("odd", lambda k: k % 2 == 1, "boolean", safe=True)
    one_of_each = s.query("SELECT id FROM a WHERE odd(k) AND id > 0").explain()
    assert one_of_each.adapts == ("nothing: only one order is possible",)
    assert "Filter in the JVM first" in str(one_of_each)
    two = s.query("SELECT id FROM a WHERE odd(k) AND id > 0 AND odd(id)").explain()
    assert two.adapts == ("the order of the 2 filters of a outside the JVM",)
    assert "Filter adaptive (auto)" in str(two)
