"""`q.late()` on Spark: the rows of a join that came late or had no time, and what is said where Spark keeps none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows

JOINED = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND small(a.id) WINDOW 5 SECONDS"


def session(spark: SparkSession, tmp_path: Path) -> tw.Session:
    """Files are micro-batches. After the second one the watermark is at 20 seconds."""
    streams = files(tmp_path, {
        "a": [rows([0, 1]), rows([20, None], first_id=2), rows([3, 21, 4], first_id=4)],
        "b": [rows([0]), rows([20], first_id=1), rows([19, 22], first_id=2)],
    })  # fmt: skip
    s = tw.session(spark)
    for name, each in streams.items():
        s.stream(name, each.stream(spark), time="ts")
    s.function("small", lambda number: 1 / (number - 9) < 0 and number != 6, returns="boolean")
    return s


def test_late_rows_of_a_started_join(spark: SparkSession, tmp_path: Path) -> None:
    late = session(spark, tmp_path).query(JOINED).late()
    assert late.isStreaming
    assert late.columns == ["a_ts", "a_k", "a_id", "b_ts", "b_k", "b_id", "lost"]
    writer = late.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.start(str(tmp_path / "late"), "parquet").awaitTermination()
    found = spark.read.parquet(str(tmp_path / "late")).toArrow().to_pylist()
    # by hand: 3 of a and 2 of b came below 20; 4 of a is late as well, but its filter drops it
    assert sorted((row["lost"], row["a_id"], row["b_id"]) for row in found) == [
        ("a: late", 4, None), ("a: no time", 3, None), ("b: late", None, 2),
    ]  # fmt: skip


def test_spark_keeps_no_late_rows_of_groups(spark: SparkSession, tmp_path: Path) -> None:
    s = session(spark, tmp_path)
    with pytest.raises(tw.PlanError, match=r"only counts them \(numRowsDroppedByWatermark"):
        s.query("SELECT count(*) AS n FROM a GROUP BY TUMBLE(1 MINUTE)").late()


def test_nothing_is_late_where_nothing_is_kept(spark: SparkSession) -> None:
    s = tw.session(spark)
    s.stream("a", spark.createDataFrame(rows([5, 1])), time="ts")
    for text in ("SELECT id FROM a", "SELECT count(*) AS n FROM a GROUP BY TUMBLE(1 MINUTE)"):
        late = s.query(text).late()
        assert late.columns == ["ts", "k", "id", "lost"]
        assert late.count() == 0


def test_rows_without_a_time_are_not_joined_with_tables(spark: SparkSession, tmp_path: Path) -> None:
    given = rows([0, None, 2, None])
    streams = files(tmp_path, {"a": [given.slice(0, 2), given.slice(2)]})
    for name, data in (("finished", spark.createDataFrame(given)), ("stream", streams["a"].stream(spark))):
        s = tw.session(spark)
        s.stream("a", data, time="ts")
        s.table("t", spark.createDataFrame(given.select(["k"]).slice(0, 1)))
        query = s.query("SELECT a.id FROM a, t WHERE a.k = t.k")
        assert [row["id"] for row in collected(query.dataframe(), tmp_path / name)] == [0, 2]
        lost = [(row["a_id"], row["lost"]) for row in collected(query.late(), tmp_path / f"late {name}")]
        assert lost == [(1, "a: no time"), (3, "a: no time")]
    grouped = session_of(spark, given).query("SELECT count(*) AS n FROM a WHERE id < 3 GROUP BY TUMBLE(1 MINUTE)")
    assert [(row["id"], row["lost"]) for row in grouped.late().toArrow().to_pylist()] == [(1, "a: no time")]


def session_of(spark: SparkSession, given: pa.Table) -> tw.Session:
    s = tw.session(spark)
    s.stream("a", spark.createDataFrame(given), time="ts")
    return s


def collected(df: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """The rows of a DataFrame, or of a stream that runs once, in the order of their first column."""
    if df.isStreaming:
        writer = df.writeStream.option("checkpointLocation", f"{folder} checkpoint").trigger(availableNow=True)
        writer.start(str(folder), "parquet").awaitTermination()
        df = df.sparkSession.read.parquet(str(folder))
    found: list[dict[str, Any]] = df.toArrow().to_pylist()
    return sorted(found, key=lambda row: [value for name, value in row.items() if name.endswith("id")])
