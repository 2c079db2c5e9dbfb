"""Who writes the results, and why; what the checkpoint fixes; what is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import NTZ, Files, files, frame, rows
from thalweg.report.explanation import SINK
from thalweg.runtime.spark.checkpoint import Checkpoint
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.sink.choice import choose_sink
from thalweg.runtime.spark.sink.request import SinkRequest

PAIRS = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k WINDOW 5 SECONDS"


def pairs(folder: Path) -> dict[str, Files]:
    return files(folder, {"a": [rows([0, 3]), rows([7], first_id=2)], "b": [rows([1]), rows([8], first_id=1)]})


def session(spark: SparkSession, streams: dict[str, Files]) -> tw.Session:
    s = tw.session(spark)
    for name, each in streams.items():
        s.stream(name, each.stream(spark), time="ts")
    return s


def places(folder: Path) -> dict[str, Any]:
    return {"path": folder / "out", "checkpoint": folder / "checkpoint", "trigger": "availableNow"}


def found(folder: Path) -> list[tuple[Any, ...]]:
    query = f"SELECT a, b FROM read_parquet('{folder}/out/**/*.parquet') ORDER BY ALL"
    return duckdb.connect().execute(query).fetchall()


@contextmanager
def configured(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def reason(spark: SparkSession, folder: Path, obstacle: str | None = None, **given: Any) -> str:
    """Why Spark's sink is chosen; empty if tasks write."""
    asked: dict[str, Any] = {
        "kind": "parquet",
        "path": str(folder / "o"),
        "options": {},
        "checkpoint": Checkpoint(spark, str(folder / "c")),
        "sink": None,
    }
    choice = choose_sink(spark, SinkRequest.of(**(asked | given)), obstacle)
    return "" if choice.by_tasks else choice.why


def test_the_rule(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reason(spark, tmp_path) == ""
    assert reason(spark, tmp_path, path=f"file://{tmp_path}/o") == ""
    options: dict[str, Any] = {"compression": "zstd", "maxRecordsPerFile": "10", "partitionBy": "day, country"}
    assert reason(spark, tmp_path, options=options) == ""
    assert "format is json" in reason(spark, tmp_path, kind="json")
    assert "not on a local disk" in reason(spark, tmp_path, path="hdfs://127.0.0.1:9/o")
    assert "no path=" in reason(spark, tmp_path, path=None)
    assert reason(spark, tmp_path, path=None, options={"PATH": str(tmp_path / "o")}) == ""
    with pytest.raises(tw.PlanError, match=r"path=.* and the option path='other' differ; give only one"):
        reason(spark, tmp_path, options={"path": "other"})
    assert "no checkpoint=" in reason(spark, tmp_path, checkpoint=None)
    assert "the option retention" in reason(spark, tmp_path, options={"retention": "1h"})
    for codec in ("LZ4", "brotli"):
        assert f"cannot compress with {codec.lower()}" in reason(spark, tmp_path, options={"compression": codec})
    assert "sink='spark'" in reason(spark, tmp_path, sink="spark")
    assert reason(spark, tmp_path, "groups need Spark") == "groups need Spark"
    with configured(spark, "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS"):
        assert "outputTimestampType is TIMESTAMP_MILLIS" in reason(spark, tmp_path)
    with configured(spark, "spark.sql.parquet.int96TimestampConversion", "true"):
        assert "int96TimestampConversion is true" in reason(spark, tmp_path)
    with configured(spark, "spark.sql.parquet.compression.codec", "lz4"):
        assert "tasks cannot compress with lz4" in reason(spark, tmp_path)
    with monkeypatch.context() as patched:
        patched.setenv("PYSPARK_PIN_THREAD", "false")
        assert "PYSPARK_PIN_THREAD=false" in reason(spark, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        assert reason(spark, tmp_path) == "tasks do not write on Windows"
    with encrypted(spark):
        assert "Parquet encryption is configured" in reason(spark, tmp_path)
    with pytest.raises(tw.PlanError, match=r"sink='tasks' is not possible: the format is csv"):
        reason(spark, tmp_path, kind="csv", sink="tasks")
    with pytest.raises(tw.PlanError, match=r"sink='jvm': use 'tasks'"):
        reason(spark, tmp_path, sink="jvm")
    for wrong in (["a", "a"], 5, None, [5], ""):
        with pytest.raises(tw.PlanError, match=r"partitionBy=.*: give the names of columns, each once"):
            reason(spark, tmp_path, options={"partitionBy": wrong})
    (tmp_path / "file").touch()
    with pytest.raises(tw.PlanError, match=r"/file' is a file; give a folder"):
        reason(spark, tmp_path, path=str(tmp_path / "file"))
    (tmp_path / "damaged" / ".thalweg" / "query").mkdir(parents=True)
    (tmp_path / "damaged" / "part.parquet").touch()
    with pytest.raises(
        tw.PlanError, match=r"/damaged' is a folder that cannot be read and written: Is a directory; give another"
    ):
        reason(spark, tmp_path, path=str(tmp_path / "damaged"))
    with pytest.raises(tw.PlanError, match=r"cannot open 'nowhere://x/y': No FileSystem for scheme .*; correct"):
        reason(spark, tmp_path, path="nowhere://x/y")
    for kind in ("tasks", "spark", None):
        with pytest.raises(tw.PlanError, match=r"compression='zst' is not a codec of Parquet files; use one of none, "):
            reason(spark, tmp_path, options={"compression": "zst"}, sink=kind)
        with pytest.raises(tw.PlanError, match=r"maxRecordsPerFile='many' is not a whole number"):
            reason(spark, tmp_path, options={"maxRecordsPerFile": "many"}, sink=kind)


@contextmanager
def encrypted(spark: SparkSession) -> Iterator[None]:
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("parquet.crypto.factory.class", "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory")
    try:
        yield
    finally:
        hadoop.unset("parquet.crypto.factory.class")


def test_another_query_into_a_folder_of_tasks_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Also if Spark's sink would write: it would take the micro-batches of the first query for its own."""
    s, run = session(spark, pairs(tmp_path)), places(tmp_path)
    s.query(PAIRS).start(**run).awaitTermination()
    before = found(tmp_path)
    for given in ({"sink": "spark"}, {"options": {"compression": "lz4"}}, {"format": "json"}):
        with pytest.raises(tw.PlanError, match=r"has results of another query .* another checkpoint; give it a new"):
            s.query(PAIRS).start(**run | {"checkpoint": tmp_path / "other"}, **given)
    in_options: dict[str, Any] = {"path": None, "format": "parquet", "options": {"Path": str(tmp_path / "out")}}
    with pytest.raises(tw.PlanError, match=r"has results of another query"):
        s.query(PAIRS).start(**run | in_options | {"checkpoint": tmp_path / "other"})
    with pytest.raises(tw.PlanError, match=r"is inside a folder that the sink manages"):
        s.query(PAIRS).start(**run | {"path": tmp_path / "new", "checkpoint": tmp_path / "new" / ".thalweg" / "0"})
    assert found(tmp_path) == before


@pytest.mark.parametrize("sink", ["tasks", "spark"])
def test_a_folder_that_was_emptied_is_as_good_as_new(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    """As `rm -r out/* checkpoint` leaves it, which removes no hidden files."""
    s, run = session(spark, pairs(tmp_path)), places(tmp_path)
    s.query(PAIRS).start(**run).awaitTermination()
    for path in (*tmp_path.glob("out/[!.]*"), tmp_path / "checkpoint"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    s.query(PAIRS).start(**run, sink=sink).awaitTermination()
    assert found(tmp_path) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    assert sorted(tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect()) == found(tmp_path)


@pytest.mark.parametrize("sink", ["tasks", "spark"])
def test_results_in_the_folder_of_a_source_are_refused(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    streams = pairs(tmp_path / "in")
    for folder in ("in/a", "in/./b/"):
        with pytest.raises(tw.PlanError, match=r"path=.* is the folder that a stream of this query reads; give"):
            session(spark, streams).query(PAIRS).start(
                path=f"{tmp_path}/{folder}", checkpoint=tmp_path / "checkpoint", sink=sink
            )
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["a", "b"]
    assert not (tmp_path / "checkpoint").exists()
    for folder in ("in", "in/ab", "in/a/deeper"):
        run: dict[str, Any] = {
            "path": f"{tmp_path}/{folder}",
            "checkpoint": f"{tmp_path}/checkpoint of {Path(folder).name}",
        }
        session(spark, streams).query(PAIRS).start(**run, trigger="availableNow", sink=sink).awaitTermination()
        assert spark.read.parquet(run["path"]).count() == 4


def test_a_first_micro_batch_without_results(spark: SparkSession, tmp_path: Path) -> None:
    """A folder can be read before there are results: as with Spark's sink, there is a file with the columns."""
    streams = pairs(tmp_path)
    streams["b"] = files(tmp_path / "of later", {"b": [rows([90])]})["b"]
    sinks: dict[str, Any] = {}
    for sink in ("tasks", "spark"):
        run = places(tmp_path) | {"path": tmp_path / sink, "checkpoint": tmp_path / f"{sink}-checkpoint"}
        session(spark, streams).query(PAIRS).start(**run, sink=sink).awaitTermination()
        sinks[sink] = spark.read.parquet(str(tmp_path / sink))
        assert sinks[sink].collect() == []
    assert sinks["tasks"].schema == sinks["spark"].schema
    assert duckdb.connect().execute(f"SELECT a, b FROM read_parquet('{tmp_path}/tasks/*.parquet')").fetchall() == []


def test_a_checkpoint_goes_on_as_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    streams = pairs(tmp_path)
    s, run = session(spark, streams), places(tmp_path)
    handle = s.query(PAIRS).start(**run)
    handle.awaitTermination()
    assert found(tmp_path) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    explained = handle.explain().lines(SINK)
    assert explained[0].startswith(f"the tasks that find results write them to {tmp_path}/out: they are Parquet files")
    assert explained[1] == "at most 2 files per micro-batch, one per bucket"
    with pytest.raises(tw.CheckpointError, match=r"whose tasks write its results, and continues that way; leave"):
        s.query(PAIRS).start(**run, sink="spark")
    with pytest.raises(tw.CheckpointError, match=r"belongs to results in .*/out, and not in .*/new; start"):
        s.query(PAIRS).start(**run | {"path": tmp_path / "new"})
    with pytest.raises(tw.CheckpointError, match=r"with partitionBy=\[\], and not with \['a'\]"):
        s.query(PAIRS).start(**run, options={"partitionBy": "a"})
    with pytest.raises(tw.PlanError, match="has results of another query"):
        s.query(PAIRS).start(**run | {"checkpoint": tmp_path / "new"})
    streams["b"].add(rows([9], first_id=2))
    streams["a"].add(rows([30], first_id=3))
    again = s.query(PAIRS).start(**run)
    again.awaitTermination()
    assert "its checkpoint was created this way" in again.explain().lines(SINK)[0]
    assert found(tmp_path) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]


def test_a_start_that_was_killed_while_it_wrote_its_choice(spark: SparkSession, tmp_path: Path) -> None:
    s, run = session(spark, pairs(tmp_path)), places(tmp_path)
    (tmp_path / "checkpoint" / "thalweg").mkdir(parents=True)
    (tmp_path / "checkpoint" / "thalweg" / "sink").touch()
    s.query(PAIRS).start(**run, sink="tasks").awaitTermination()
    assert found(tmp_path) == [(0, 0), (1, 0), (1, 1), (2, 1)]


def test_spark_s_own_sink(spark: SparkSession, tmp_path: Path) -> None:
    """It can be asked for, its checkpoint goes on with it, and partitionBy is not lost."""
    streams = pairs(tmp_path)
    s, run = session(spark, streams), places(tmp_path)
    s.query(PAIRS).start(**run, sink="spark", options={"partitionBy": "a"}).awaitTermination()
    again = s.query(PAIRS).start(**run, options={"partitionBy": "a"})
    again.awaitTermination()
    with pytest.raises(tw.PlanError, match=r"continues with it; leave sink= out .*, or give .* a new checkpoint and a"):
        s.query(PAIRS).start(**run, sink="tasks", options={"partitionBy": "a"})
    (sentence,) = again.explain().lines(SINK)
    assert sentence.startswith("Spark's own sink writes the results: its checkpoint has no file thalweg/sink, so")
    assert {file.parent.name for file in tmp_path.glob("out/**/*.parquet")} == {"a=0", "a=1", "a=2"}
    assert sorted(pq.read_table(tmp_path / "out")["b"].to_pylist()) == [0, 0, 1, 1]


def test_a_table_is_read_once_although_tasks_cannot_write_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    as_usual = attach._read

    def counted(alias: str, *rest: Any) -> pa.Table:
        read.append(alias)
        return as_usual(alias, *rest)

    monkeypatch.setattr(attach, "_read", counted)
    stream: Any = pairs(tmp_path / "in")["a"].stream(spark)
    table = rows([0]).drop_columns("ts")
    table = table.append_column("since", pa.array([0]).cast(NTZ))  # beside TIMESTAMP, tasks cannot write it
    j = tw.join(on="a.k = b.k", window={"a": "5 seconds"}, time={"a": "ts"})
    query = j.start(**places(tmp_path), a=stream, b=frame(spark, table))
    assert query.awaitTermination(60)
    (sentence,) = j.explain(a=stream, b=frame(spark, table)).lines(SINK)
    assert "columns of TIMESTAMP and of TIMESTAMP_NTZ" in sentence
    assert spark.read.parquet(str(tmp_path / "out")).count() == 3
    assert read == ["b"]


def test_arguments_of_a_join_that_is_started(spark: SparkSession, tmp_path: Path) -> None:
    frames: dict[str, Any] = {name: each.stream(spark) for name, each in pairs(tmp_path).items()}
    j, run = tw.join(on="a.k = b.k", window="5 seconds", time="ts"), places(tmp_path)
    with pytest.raises(tw.PlanError, match=r"there is no column 'day'; the columns are a_ts, a_k"):
        j.start(**run, options={"partitionBy": "day"}, **frames)
    with pytest.raises(tw.PlanError, match=r"partitionBy=\['a_k', 'A_K'\] has a column twice; name it once"):
        j.start(**run, options={"partitionBy": ["a_k", "A_K"]}, **frames)
    with pytest.raises(tw.PlanError, match=r"trigger='auto' is for queries of a session"):
        j.start(**run | {"trigger": "auto"}, **frames)
    with pytest.raises(tw.PlanError, match=r"needs a place for the results"):
        j.start(**frames)
    with pytest.raises(tw.PlanError, match=r"needs checkpoint="):
        j.start(path=tmp_path / "out", **frames)
    query = session(spark, pairs(tmp_path / "of session")).query(PAIRS)
    starts: list[Any] = [lambda **given: j.start(**given, **frames), query.start]
    for start in starts:
        for again in ("partitionby", "PartitionBy"):
            with pytest.raises(tw.PlanError, match=rf"options: 'partitionBy' and '{again}' are the same option"):
                start(**run, options={"partitionBy": "a_k", again: "b_k"})
        with pytest.raises(tw.PlanError, match=r"'checkpointLocation' and 'checkpointlocation' are the same option"):
            start(path=run["path"], options={"checkpointLocation": "one", "checkpointlocation": "other"})
        with pytest.raises(tw.PlanError, match=r"options: 1 is not the name of an option"):
            start(**run, options={1: "x"})
    for wrong in (5, b"out", "", "a\0b"):
        with pytest.raises(tw.PlanError, match=r"path=.* is not the name of a folder; give a str or a pathlib.Path"):
            j.start(**run | {"path": wrong}, **frames)
        with pytest.raises(tw.PlanError, match=r"checkpoint=.* is not the name of a folder"):
            query.start(**run | {"checkpoint": wrong})
        with pytest.raises(tw.PlanError, match=r"checkpointLocation=.* is not the name of a folder"):
            j.start(path=run["path"], options={"checkpointLocation": wrong}, **frames)
        with pytest.raises(tw.PlanError, match=r"the option path=.* is not the name of a folder"):
            j.start(format="parquet", checkpoint=run["checkpoint"], options={"path": wrong}, **frames)
    finished: Any = files(tmp_path / "finished", {"a": [rows([0])]})["a"].finished(spark)
    with pytest.raises(tw.PlanError, match=r"needs a streaming DataFrame"):
        j.start(**run, a=finished, b=finished)
    with pytest.raises(tw.PlanError, match=r"'name' is an argument of start, so no stream can have this name"):
        tw.join(on="a.k = name.k", window="5 seconds", time="ts").start(**run, a=frames["a"])
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("sink", ["tasks", "spark"])
def test_a_folder_belongs_to_the_first_query_that_is_started(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    """Two queries with two checkpoints would write rows twice, or leave out those of each other."""
    streams = pairs(tmp_path)
    first = session(spark, streams).query(PAIRS).start(**{**places(tmp_path), "trigger": "1 hour"}, sink=sink)
    try:
        with pytest.raises(tw.PlanError, match=r"/out' is the folder of the query [-0-9a-f]*, which is running; give"):
            session(spark, streams).query(PAIRS).start(**{**places(tmp_path), "checkpoint": tmp_path / "other"})
    finally:
        first.stop()


def test_results_of_spark_s_sink_elsewhere(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a store that is no disk of this machine, where only Spark can look."""
    monkeypatch.setattr("thalweg.runtime.spark.sink.choice.folder_of", lambda *given: "s3a://bucket/out")
    s, run = session(spark, pairs(tmp_path)), places(tmp_path)
    s.query(PAIRS).start(**run).awaitTermination(120)
    s.query(PAIRS).start(**run).awaitTermination(120)
    assert not (tmp_path / "out" / ".thalweg").exists()
    with pytest.raises(tw.PlanError, match="has results of another query"):
        s.query(PAIRS).start(**run | {"checkpoint": tmp_path / "other"})
    assert found(tmp_path) == [(0, 0), (1, 0), (1, 1), (2, 1)]


def test_a_folder_of_a_query_without_results_is_free(spark: SparkSession, tmp_path: Path) -> None:
    """It was started by mistake, and has ended."""
    streams = files(tmp_path, {alias: [rows([0])] for alias in "ab"})
    for each in streams.values():
        (each.folder / "part-000.parquet").rename(each.folder / ".hidden")
    session(spark, streams).query(PAIRS).start(**places(tmp_path)).awaitTermination(120)
    for each in streams.values():
        (each.folder / ".hidden").rename(each.folder / "part-000.parquet")
    given = {**places(tmp_path), "checkpoint": tmp_path / "other"}
    session(spark, streams).query(PAIRS).start(**given).awaitTermination(120)
    assert found(tmp_path) == [(0, 0)]
    with pytest.raises(tw.PlanError, match="or the checkpoint of these results"):
        session(spark, streams).query(PAIRS).start(**{**given, "checkpoint": tmp_path / "third"})


def test_a_folder_whose_owner_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "o" / ".thalweg").mkdir(parents=True)
    (tmp_path / "o" / "_spark_metadata").mkdir()
    (tmp_path / "o" / ".thalweg" / "query").write_text("hello")
    assert reason(spark, tmp_path) == ""  # without results
    (tmp_path / "o" / ".thalweg" / "query").write_text("hello")
    (tmp_path / "o" / "_spark_metadata" / "0").write_text("v1")
    with pytest.raises(tw.CheckpointError, match=r"/o/.thalweg/query, which names .* is damaged; remove it"):
        reason(spark, tmp_path)


@pytest.mark.parametrize("name", ["compresion", "partition_by", "max_records_per_file"])
def test_a_misspelled_option_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spark's sink would ignore it."""
    with pytest.raises(tw.PlanError, match=f"'{name}' is not an option of Parquet files .did you mean '[a-zA-Z]*'"):
        reason(spark, tmp_path, options={name: "1"})
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["checkpointLocation", "partitionBy", "queryName", "outputMode"])
def test_arguments_of_spark_s_writer_have_other_names_here(tmp_path: Path, name: str) -> None:
    j = tw.join(on="a.k = b.k", window="5 seconds", time="ts")
    given: dict[str, Any] = {name: "x"}
    with pytest.raises(tw.PlanError, match=rf"start\(\) has no argument {name}: "):
        j.start(path=tmp_path / "out", **given)


def test_explain_says_how_many_files_there_will_be(spark: SparkSession, tmp_path: Path) -> None:
    streams = pairs(tmp_path)
    run: dict[str, Any] = {**places(tmp_path), "trigger": "10 seconds"}
    options: dict[str, Any] = {"partitionBy": ["a", "c"], "maxRecordsPerFile": 100}
    handle = session(spark, streams).query(PAIRS.replace("FROM", ", b.k AS c FROM")).start(**run, options=options)
    try:
        assert handle.explain().lines(SINK)[1] == (
            "at most 2 files per micro-batch for each combination of values of a and c, one per bucket, more if a file "
            "would have more than 100 rows; with this trigger, up to 720 per hour for each combination of values of a "
            "and c"
        )
        assert isinstance(handle.recentProgress, list)
    finally:
        handle.stop()
