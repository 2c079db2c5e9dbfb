"""A scenario's batches as Parquet files, one per stream and batch; Spark reads one per trigger."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench.joins.spark.scenario import StreamScenario


class StreamFiles:
    """The files of a scenario, written once; every query reads the same files."""

    def __init__(self, scenario: StreamScenario, batches: int, folder: Path) -> None:
        self.scenario = scenario
        self.batches = 0
        self.folder = folder
        for alias in scenario.aliases:
            (folder / alias).mkdir(parents=True)
        for _ in range(batches):
            self.add()

    def add(self) -> None:
        """Write one more batch."""
        number = self.batches
        self.batches += 1
        for alias in self.scenario.aliases:
            path = self.path(alias, number)
            pq.write_table(self.scenario.table(alias, number), path)
            os.utime(path, (number + 1, number + 1))  # files are read in the order of their times

    def path(self, alias: str, batch: int) -> Path:
        """Return the path of one file."""
        return self.folder / alias / f"{batch:05d}.parquet"

    def streams(self, spark: SparkSession) -> dict[str, DataFrame]:
        """Return the streams without watermarks, as users have them."""
        keys = self.scenario.draws
        return {
            alias: spark.readStream.schema(
                ", ".join(["id BIGINT", "ts TIMESTAMP", *(f"{name} BIGINT" for name in keys[alias])])
            )
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.folder / alias))
            for alias in keys
        }
