"""The variants that are compared: Spark's own joins and ours, each with a suitable state store.

- `spark`: Spark's joins by hand, with its default state store, which holds everything on the heap.
- `spark-rocksdb`: the same with RocksDB and its changelog. Tried once with the other formats of Spark 4.3's join state
  too: see docs/benchmarks-joins.md.
- `ours`: `tw.join(...)` with default settings. `ours again`: the A/A control.
- The same into Parquet files: `spark files` by Spark's sink after Spark's join, `ours files` and its A/A control by the
  tasks of our join, `ours files by spark` by Spark's sink after our join.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.joins.spark.by_hand import joined
from bench.joins.spark.ours import IN_ROCKSDB, PROVIDERS, ours, ours_to_files
from bench.joins.spark.parquet_run import run_to_files
from bench.joins.spark.query_run import BatchProgress, run
from bench.joins.spark.stream_files import StreamFiles
from bench.spark_variants import REPORTED_WITHIN_S
from thalweg.events import JoinObserved, read

SPARK, ROCKSDB, OURS, AGAIN = "spark", "spark-rocksdb", "ours", "ours again"
SPARK_FILES, FILES, FILES_AGAIN, BY_SPARK = "spark files", "ours files", "ours files again", "ours files by spark"
ON_HEAP = {"spark.sql.streaming.stateStore.providerClass": f"{PROVIDERS}.HDFSBackedStateStoreProvider"}
JOIN_FORMAT = {"spark.sql.streaming.join.stateFormatVersion": "4"}
"""Designed to remove old rows faster; tried once, it was no slower than the default."""


@dataclass(frozen=True)
class Ran:
    """One run of one variant."""

    batches: list[BatchProgress]
    records: tuple[JoinObserved, ...] = ()
    """What our join reported for each batch, bucket and stream."""

    def window_bytes(self, batch: int) -> int:
        """The memory of all windows of our join in the workers when the batch was done."""
        return sum(record.window.bytes for record in self.records if record.origin.batch == batch)


@dataclass(frozen=True)
class SparkVariant:
    """A name, and the query over a scenario's files, which may write event records."""

    name: str
    build: Callable[[SparkSession, StreamFiles, Path], DataFrame]
    settings: dict[str, str] = field(default_factory=dict)
    reports: bool = False
    """Whether the query writes event records."""
    start: Callable[[SparkSession, StreamFiles, Path, Path, Path], StreamingQuery] | None = None
    """Starts a query that writes Parquet files, given a file for event records, a checkpoint and a folder; None if
    results are dropped."""

    def run(self, spark: SparkSession, files: StreamFiles) -> Ran:
        """Run it once, with its own checkpoint, which is deleted afterwards."""
        with tempfile.TemporaryDirectory(prefix="thalweg-bench-", dir=files.folder) as folder:
            events = Path(folder) / "events.jsonl"
            place, start = Path(folder) / "checkpoint", self.start
            if start is None:
                batches = run(spark, lambda: self.build(spark, files, events), self.settings, place)
            else:
                batches = run_to_files(
                    spark, partial(start, spark, files, events, place), self.settings, place, Path(folder) / "out",
                    files.scenario.aliases,
                )  # fmt: skip
            return Ran(batches, tuple(_event_records(events, len(batches))) if self.reports else ())


def by_hand(spark: SparkSession, files: StreamFiles, events: Path) -> DataFrame:
    """Return Spark's own join of the streams."""
    return joined(files.scenario, files.streams(spark))


def by_hand_to_files(spark: SparkSession, files: StreamFiles, events: Path, place: Path, out: Path) -> StreamingQuery:
    """Start Spark's own join, with Spark's sink."""
    writer = by_hand(spark, files, events).writeStream.format("parquet").trigger(availableNow=True)
    return writer.option("checkpointLocation", str(place)).start(str(out))


def _event_records(events: Path, batches: int) -> list[JoinObserved]:
    """Wait for and return the records of a query, which arrive a moment after it ends."""
    deadline = time.monotonic() + REPORTED_WITHIN_S
    before: list[JoinObserved] = []
    while True:
        records = [record for record in read(events) if isinstance(record, JoinObserved)] if events.exists() else []
        if records == before and len({record.origin.batch for record in records}) >= batches:
            return records
        assert time.monotonic() < deadline, "Spark did not deliver what the query observed"
        before = records
        time.sleep(0.1)


VARIANTS = {
    variant.name: variant
    for variant in (
        SparkVariant(SPARK, by_hand, ON_HEAP),
        SparkVariant(ROCKSDB, by_hand, {**IN_ROCKSDB, **JOIN_FORMAT}),
        SparkVariant(OURS, ours, IN_ROCKSDB, reports=True),
        SparkVariant(AGAIN, ours, IN_ROCKSDB, reports=True),
        SparkVariant(SPARK_FILES, by_hand, ON_HEAP, start=by_hand_to_files),
        SparkVariant(FILES, ours, IN_ROCKSDB, reports=True, start=partial(ours_to_files, "tasks")),
        SparkVariant(FILES_AGAIN, ours, IN_ROCKSDB, reports=True, start=partial(ours_to_files, "tasks")),
        SparkVariant(BY_SPARK, ours, IN_ROCKSDB, reports=True, start=partial(ours_to_files, "spark")),
    )
}
