"""Results that tasks write: the rows that DuckDB finds in the finished data, for every reader of the folder."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.runtime.spark.deployments.join_files import ALIASES, expected_results, write_streams
from tests.runtime.spark.deployments.one_join import join, streams

Ids = list[list[int]]


def run(spark: SparkSession, folder: Path, j: tw.Join, **given: Any) -> StreamingQuery:
    """To the end of what is there."""
    query: StreamingQuery = j.start(
        path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", **given, **streams(spark, folder)
    )
    try:
        assert query.awaitTermination(120), "the stream did not end"
    finally:
        query.stop()
    return query


def by_spark(spark: SparkSession, out: Path) -> Ids:
    return sorted(map(list, spark.read.parquet(str(out)).select(*(f"{a}_id" for a in ALIASES)).collect()))


def by_spark_stream(spark: SparkSession, out: Path) -> Ids:
    df = spark.readStream.schema(spark.read.parquet(str(out)).schema).parquet(str(out))
    name = f"read_{out.parent.name}".replace("-", "_")
    query = df.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return sorted(map(list, spark.table(name).select(*(f"{a}_id" for a in ALIASES)).collect()))


def by_duckdb(spark: SparkSession, out: Path) -> Ids:
    query = f"SELECT a_id, b_id, c_id FROM read_parquet('{out}/**/*.parquet')"
    return sorted(map(list, duckdb.connect().execute(query).fetchall()))


def by_pandas(spark: SparkSession, out: Path) -> Ids:
    return sorted(pd.read_parquet(out)[[f"{a}_id" for a in ALIASES]].to_numpy().tolist())


def by_polars(spark: SparkSession, out: Path) -> Ids:
    return sorted(map(list, pl.read_parquet(f"{out}/**/*.parquet").select([f"{a}_id" for a in ALIASES]).rows()))


READERS: list[Callable[[SparkSession, Path], Ids]] = [by_spark, by_spark_stream, by_duckdb, by_pandas, by_polars]


def test_every_reader_sees_the_rows_that_duckdb_finds(spark: SparkSession, tmp_path: Path) -> None:
    write_streams(tmp_path / "in", 3)
    j = join()
    query = run(spark, tmp_path, j)
    expected = expected_results(tmp_path / "in")
    assert expected
    for reader in READERS:
        assert reader(spark, tmp_path / "out") == expected, reader.__name__
    written = [each["observedMetrics"]["thalweg_written"] for each in query.recentProgress]
    assert sum(each["rows"] for each in written) == len(expected)
    files = glob.glob(f"{tmp_path}/out/*.parquet")
    assert sum(each["files"] for each in written) == len(files)
    assert sum(each["bytes"] for each in written) == sum(Path(file).stat().st_size for file in files)
    hidden = sorted(path.name for path in (tmp_path / "out" / ".thalweg").iterdir())
    assert [name.partition(".")[2] for name in hidden] == ["json", ""], "the last list, and the query"
