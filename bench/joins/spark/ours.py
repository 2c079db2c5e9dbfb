"""Our join as a user writes it who records events: its results, and a query that writes them to Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from bench.joins.spark.stream_files import StreamFiles

PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
IN_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": f"{PROVIDERS}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def join_of(files: StreamFiles, events: Path) -> tw.Join:
    """Return the join of a scenario."""
    scenario = files.scenario
    return tw.join(on=scenario.on, window=scenario.window, time="ts", events=events)


def ours(spark: SparkSession, files: StreamFiles, events: Path) -> DataFrame:
    """Return the results of the join."""
    made: DataFrame = join_of(files, events)(**files.streams(spark))
    return made


def ours_to_files(
    sink: str, spark: SparkSession, files: StreamFiles, events: Path, place: Path, out: Path
) -> StreamingQuery:
    """Start the query, whose tasks or whose Spark write the results."""
    streams = dict[str, Any](files.streams(spark))
    started: StreamingQuery = join_of(files, events).start(
        path=out, checkpoint=place, trigger="availableNow", sink=sink, **streams
    )
    return started
