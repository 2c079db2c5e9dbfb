"""A scenario's batches as Parquet files, a file a stream and batch, which Spark reads one a trigger."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench.joins.spark.scenario import StreamScenario


class StreamFiles:
    """Written once; every query reads the same."""

    def __init__(self, scenario: StreamScenario, batches: int, folder: Path) -> None:
        self.scenario = scenario
        self.batches = batches
        self.folder = folder
        for alias in scenario.aliases:
            (folder / alias).mkdir(parents=True)
            for batch in range(batches):
                path = self.path(alias, batch)
                pq.write_table(scenario.table(alias, batch), path)
                os.utime(path, (batch + 1, batch + 1))  # files are read in the order of their times

    def path(self, alias: str, batch: int) -> Path:
        """Of one file."""
        return self.folder / alias / f"{batch:05d}.parquet"

    def streams(self, spark: SparkSession) -> dict[str, DataFrame]:
        """As users have them: without watermarks."""
        keys = self.scenario.draws
        return {
            alias: spark.readStream.schema(
                ", ".join(["id BIGINT", "ts TIMESTAMP", *(f"{name} BIGINT" for name in keys[alias])])
            )
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.folder / alias))
            for alias in keys
        }
