"""A condition that can raise sees on Spark the rows it sees in this process: those that earlier conditions pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows

TIMES = pa.array([0, 1, 2, 3, 70], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
S = pa.table({"ts": TIMES, "k": pa.array([1, 1, 3, 3, 1], pa.int64()), "x": pa.array([1, 2, 0, 0, 5], pa.int64())})
T = pa.table({"k": pa.array([1, 2, 0], pa.int64()), "y": pa.array([1, 0, 2], pa.int64())})

QUERIES = [
    "SELECT s.x, t.y FROM s, t WHERE s.k = t.k AND 1 / t.y > 0",
    "SELECT s.x, t.y FROM s, t WHERE s.k = t.k AND t.y = 1 AND 1 / s.x > 0",
    "SELECT s.x, t.y FROM s, t WHERE 10 / s.k > 3 AND s.k = t.k",  # t has a zero among its keys, s has none
    "SELECT s.x, t.y FROM s JOIN t ON s.k = t.k AND s.k = 1 DIV t.y",
    "SELECT s.x, t.y FROM s, t WHERE s.k = t.k AND (1 DIV s.x = t.y OR 1 DIV t.y > 5)",
    "SELECT x, count(*) AS n FROM s GROUP BY x, TUMBLE(1 MINUTE) HAVING count(*) < 2 AND 6 DIV x > 2",
    "SELECT s.x, count(*) AS n FROM s, t WHERE s.k = t.k AND 1 / t.y > 0 GROUP BY s.x, TUMBLE(1 MINUTE) "
    "HAVING count(*) < 2 AND 6 DIV s.x > 2",
]


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("text", QUERIES)
def test_guards_hold_on_spark(spark: SparkSession, text: str) -> None:
    here, there = tw.session(), tw.session(spark)
    here.stream("s", S, time="ts")
    here.table("t", T)
    there.stream("s", spark.createDataFrame(S), time="ts")
    there.table("t", spark.createDataFrame(T))
    expected = sorted_rows(here.query(text).dataframe())
    assert expected
    assert sorted_rows(there.query(text).dataframe().toArrow()) == expected
    theirs = text.replace("DIV", "//").replace(", TUMBLE(1 MINUTE)", ", time_bucket(INTERVAL 1 MINUTE, ts)")
    s, t = S.set_column(0, "ts", S["ts"].cast(pa.timestamp("us"))), T
    # DuckDB gives NULL where others raise, which no condition takes for true
    with duckdb.connect(":memory:", config={"error_on_division_by_zero": "false"}) as other:
        other.register("s", s)
        other.register("t", t)
        assert sorted(other.sql(theirs).fetchall()) == expected


def test_a_key_that_is_the_time_keeps_its_watermark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would give out no group of a stream without one."""
    streams = files(tmp_path, {"a": [rows([0, 1, 1], [1, 1, 5]), rows([200], [1])]})
    s = tw.session(spark)
    s.stream("a", streams["a"].stream(spark), time="ts")
    s.table("t", streams["a"].finished(spark).select("ts", "k"))
    text = "SELECT count(*) AS n FROM a, t WHERE 10 DIV a.k > 3 AND a.k = t.k AND a.ts = t.ts GROUP BY TUMBLE(1 MINUTE)"
    places: dict[str, Any] = {
        "path": str(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "availableNow",
    }
    s.query(text).start(**places).awaitTermination()
    assert [row.n for row in spark.read.parquet(places["path"]).collect()] == [2]
