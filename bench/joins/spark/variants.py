"""What is compared: Spark's own joins and ours, each with the state store that suits it.

- `spark`: Spark's joins by hand, with its default state store, which holds everything on the heap.
- `spark-rocksdb`: the same with RocksDB and its changelog. Tried once with the other formats of Spark 4.3's join state
  too: see docs/benchmarks-joins.md.
- `ours`: `tw.join(...)` as it comes. `ours again`: the A/A control.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from bench.joins.spark.by_hand import joined
from bench.joins.spark.query_run import BatchTold, run
from bench.joins.spark.stream_files import StreamFiles

SPARK, ROCKSDB, OURS, AGAIN = "spark", "spark-rocksdb", "ours", "ours again"
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
ON_HEAP = {"spark.sql.streaming.stateStore.providerClass": f"{_PROVIDERS}.HDFSBackedStateStoreProvider"}
IN_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": f"{_PROVIDERS}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
JOIN_FORMAT = {"spark.sql.streaming.join.stateFormatVersion": "4"}
"""The format of Spark's join state that was the fastest with RocksDB."""


@dataclass(frozen=True)
class Ran:
    """One run of one variant."""

    batches: list[BatchTold]
    window_bytes: int | None = None
    """Of ours: what all windows hold in the workers' memory at the end."""
    kernel_ms: float | None = None
    """Of ours: what its loops told, all workers together, for all batches."""


@dataclass(frozen=True)
class SparkVariant:
    """A name, and the query over a scenario's files."""

    name: str
    build: Callable[[SparkSession, StreamFiles], tuple[DataFrame, tw.Join | None]]
    settings: dict[str, str] = field(default_factory=dict)

    def run(self, spark: SparkSession, files: StreamFiles) -> Ran:
        """Once, with a checkpoint of its own that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="thalweg-bench-", dir=files.folder) as folder:
            results, join = self.build(spark, files)
            batches = run(spark, results, self.settings, Path(folder))
        return Ran(batches, *_told(join)) if join is not None else Ran(batches)


def by_hand(spark: SparkSession, files: StreamFiles) -> tuple[DataFrame, None]:
    """Spark's own."""
    return joined(files.scenario, files.streams(spark)), None


def ours(spark: SparkSession, files: StreamFiles) -> tuple[DataFrame, tw.Join]:
    """As a user writes it."""
    scenario = files.scenario
    join = tw.join(on=scenario.on, window=scenario.window, time="ts")
    return join(**files.streams(spark)), join


def _told(join: tw.Join) -> tuple[int, float]:
    sections = join.report().sections
    streams = [stream for section in sections for stream in section.streams.values()]
    return sum(stream.window_bytes for stream in streams), sum(stream.total_ns for stream in streams) / 1e6


VARIANTS = {
    variant.name: variant
    for variant in (
        SparkVariant(SPARK, by_hand, ON_HEAP),
        SparkVariant(ROCKSDB, by_hand, {**IN_ROCKSDB, **JOIN_FORMAT}),
        SparkVariant(OURS, ours, IN_ROCKSDB),
        SparkVariant(AGAIN, ours, IN_ROCKSDB),
    )
}
