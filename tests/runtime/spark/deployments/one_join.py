"""The join that must give the same rows wherever it runs: of finished files, and of streams of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from tests.runtime.spark.deployments.join_files import ALIASES, LATENESS, ON, SCHEMA, WINDOWS
from thalweg.report.explanation import SINK

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

SETTINGS = {
    # not that of the data, and one in which some times occur twice
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",  # as the documentation advises
}


def join(**settings: Any) -> tw.Join:
    return tw.join(on=ON, window=WINDOWS, time="ts", lateness=LATENESS, **settings)


def streams(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """A file of each a micro-batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return {alias: reader.parquet(str(folder / "in" / alias)) for alias in ALIASES}


def results(df: DataFrame) -> list[list[int]]:
    return sorted([row.a_id, row.b_id, row.c_id] for row in df.select("a_id", "b_id", "c_id").collect())


def start(spark: SparkSession, folder: Path, j: tw.Join) -> StreamingQuery:
    """To the end of what is there, into files."""
    sink = j(**streams(spark, folder)).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query: StreamingQuery = sink.option("path", str(folder / "out")).trigger(availableNow=True).start()
    return query


def found(spark: SparkSession, folder: Path) -> list[list[int]]:
    """As the sink's own log says: files that a killed driver left are not in it."""
    return results(spark.read.parquet(str(folder / "out")))


def counts(j: tw.Join, rows: int, seconds: float = 30.0) -> dict[str, Any]:
    """What the report says, once it knows of so many rows: what a stream observed arrives a moment later."""

    def counted() -> dict[str, Any]:
        report = j.report()
        by_stream = {
            alias: sum(section.streams[alias].stream.rows for section in report.sections if alias in section.streams)
            for alias in ALIASES
        }
        late = sum(stream.stream.late for section in report.sections for stream in section.streams.values())
        return {"rows": by_stream, "late": late, "results": sum(section.results for section in report.sections)}

    until = time.monotonic() + seconds
    while sum(counted()["rows"].values()) < rows and time.monotonic() < until:
        time.sleep(0.05)
    return counted()


def in_batch(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Their times as TIMESTAMP, of the session's zone."""
    j = join()
    frames = {alias: spark.read.schema(SCHEMA).parquet(str(folder / "in" / alias)) for alias in ALIASES}
    out = results(j(**{alias: df.withColumn("ts", df["ts"].cast("timestamp")) for alias, df in frames.items()}))
    return {"results": out, "counts": counts(j, 1)}


def in_stream(spark: SparkSession, folder: Path, rows: int) -> dict[str, Any]:
    """Written by tasks where they can, and otherwise by Spark."""
    j, given = join(), streams(spark, folder)
    query = j.start(path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", **given)
    try:
        assert query.awaitTermination(120), "the stream did not end"
    finally:
        query.stop()
    sink = j.explain(**given).lines(SINK)[0]
    return {"results": found(spark, folder), "counts": counts(j, rows), "sink": sink}


def refused(spark: SparkSession, folder: Path) -> str:
    """What is said of a watermark on a column that is gone: only the plan knows of it."""
    frames = streams(spark, folder)
    seen = frames["b"].withColumn("seen", frames["b"]["ts"].cast("timestamp")).withWatermark("seen", "1 second")
    try:
        join()(**{**frames, "b": seen.drop("seen")})
    except tw.PlanError as error:
        return str(error)
    return ""


def run(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Both, and what is refused."""
    rows = sum(spark.read.parquet(str(folder / "in" / alias)).count() for alias in ALIASES)
    return {
        "spark": spark.version,
        "session": type(spark).__module__,
        "rows": rows,
        "refused": refused(spark, folder),
        "batch": in_batch(spark, folder),
        "stream": in_stream(spark, folder, rows),
    }
