"""Streams of files for joins on Spark: written in order, read one file a micro-batch, results in a file sink."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC as UTC_ZONE
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

BEGIN = datetime(2024, 3, 10, tzinfo=UTC_ZONE)
"""Second 0 of the times in tests."""
BEGIN_US = int(BEGIN.timestamp()) * 10**6
UTC = pa.timestamp("us", "UTC")
NTZ = pa.timestamp("us")


def rows(seconds: Sequence[float | None], keys: Sequence[Any] | None = None, *, first_id: int = 0) -> pa.Table:
    """With time `ts`, key `k` (1 everywhere unless given) and number `id`."""
    ticks = [None if s is None else BEGIN_US + round(s * 1e6) for s in seconds]
    return pa.table(
        {
            "ts": pa.array(ticks, pa.int64()).cast(UTC),
            "k": pa.array([1] * len(seconds), pa.int64()) if keys is None else pa.array(keys),
            "id": pa.array(range(first_id, first_id + len(seconds)), pa.int64()),
        }
    )


class Files:
    """A stream, as a folder of Parquet files. A micro-batch reads one of them, in the order in which they were added;
    an empty one makes a stream sit out a micro-batch."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self.schema, self.count = folder, schema, 0
        folder.mkdir(parents=True)

    def add(self, table: pa.Table) -> None:
        """Add a file to the stream."""
        assert table.schema == self.schema
        aside = self.folder / f".{self.count}"
        pq.write_table(table, aside)
        os.utime(aside, (1_000_000 + self.count, 1_000_000 + self.count))
        aside.rename(self.folder / f"part-{self.count:03}.parquet")
        self.count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        """What is there, and what will be."""
        return spark.readStream.schema(_of_spark(self.schema)).option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def finished(self, spark: SparkSession) -> DataFrame:
        """Return the present files as finished data."""
        return spark.read.schema(_of_spark(self.schema)).parquet(str(self.folder))


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Finished; timestamps without a zone are TIMESTAMP_NTZ."""
    return spark.createDataFrame(table, _of_spark(table.schema))


def _of_spark(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def files(folder: Path, batches: Mapping[str, Sequence[pa.Table]]) -> dict[str, Files]:
    """Streams of these files."""
    made = {}
    for alias, tables in batches.items():
        made[alias] = Files(folder / alias, tables[0].schema)
        for table in tables:
            made[alias].add(table)
    return made


def streaming(spark: SparkSession, streams: Mapping[str, Files]) -> dict[str, Any]:
    """Return the streams to be joined."""
    return {alias: each.stream(spark) for alias, each in streams.items()}


def start(df: DataFrame, folder: Path, name: str = "out") -> StreamingQuery:
    """A query that ends when everything that is there has been read."""
    return (
        df.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def run(df: DataFrame, folder: Path, name: str = "out", seconds: int = 120) -> None:
    """To the end of what is there."""
    query = start(df, folder, name)
    try:
        assert query.awaitTermination(seconds)
    finally:
        query.stop()


def results(spark: SparkSession, folder: Path, name: str = "out") -> pa.Table:
    """What the sink holds."""
    return spark.read.parquet(str(folder / name)).toArrow()


def ids(table: pa.Table, aliases: str) -> list[tuple[int, ...]]:
    """The numbers of the rows of each result; sorted, so that what comes twice is seen."""
    return sorted(zip(*(table[f"{alias}_id"].to_pylist() for alias in aliases), strict=True))
