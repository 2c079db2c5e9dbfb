"""One streaming query over all files of a scenario, batch by batch, and what Spark reports for each batch.

The sink is Spark's `noop`: every row is made and nothing is kept. Results are counted and summed on the way by
`observe`, the same for every variant, so that no run goes unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from bench.joins.spark.cpu_clock import CpuClock
from bench.joins.spark.expected import Results, checksum

ALWAYS = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",  # of a hundred batches and the last, empty one, too
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""No batch without rows at the end: inner joins give nothing there. And on a local disk Spark's usual way to write a
checkpoint starts a program for every file, which the file systems of clusters do not need: with it, a batch of ten rows
took 0.2 to 0.6 s more, Spark's joins the most."""
_CHECKED = "bench_checked"


@dataclass(frozen=True)
class BatchProgress:
    """What was measured of one micro-batch. Times are in milliseconds."""

    number: int
    rows: int
    results: Results
    durations: Mapping[str, int]
    begun: float
    """Seconds since 1970."""
    state_rows: int
    state_bytes: int
    """What Spark's state stores report, in memory and in RocksDB's files."""
    checkpoint_bytes: int = 0
    jvm_ms: float = 0.0
    python_ms: float = 0.0
    """CPU times of the JVM and of its Python workers."""
    written_bytes: int = 0
    """The size of the files of results, as a mean over the batches of a run; 0 if nothing is written."""

    @property
    def ms(self) -> int:
        """The wall time of the whole batch."""
        return self.durations["triggerExecution"]

    @property
    def cpu_ms(self) -> float:
        """The CPU time of the JVM and its Python workers."""
        return self.jvm_ms + self.python_ms

    @property
    def fixed_ms(self) -> int:
        """The time that is neither work nor planning: offsets, logs, commits."""
        return self.ms - self.durations.get("addBatch", 0) - self.durations.get("queryPlanning", 0)


def run(
    spark: SparkSession, build: Callable[[], DataFrame], settings: Mapping[str, str], checkpoint: Path
) -> list[BatchProgress]:
    """Run a query whose results are dropped to its end, with these settings of the session."""

    def start() -> StreamingQuery:
        results = build()
        aliases = [name.removesuffix("_id") for name in results.columns if name.endswith("_id")]
        return (
            results.observe(_CHECKED, F.count(F.lit(1)).alias("rows"), F.expr(f"{checksum(aliases)} AS value"))
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )

    return followed(spark, start, settings, checkpoint)


def followed(
    spark: SparkSession, start: Callable[[], StreamingQuery], settings: Mapping[str, str], checkpoint: Path
) -> list[BatchProgress]:
    """Start a query with these settings of the session, and return what Spark reports of its batches."""
    cores = {"spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    with CpuClock() as clock, configured(spark, {**ALWAYS, **cores, **settings}):
        query = start()
        query.awaitTermination()
    forget_state(spark)
    reported = [_batch(json.loads(progress.json)) for progress in query.recentProgress]
    batches = []
    for batch in (batch for batch in reported if batch.rows):
        jvm_ms, python_ms = clock.ms(batch.begun, batch.begun + batch.ms / 1000)
        batches.append(replace(batch, jvm_ms=jvm_ms, python_ms=python_ms))
    return with_checkpoint_bytes(batches, checkpoint)


def forget_state(spark: SparkSession) -> None:
    """Release the state of ended queries. Spark keeps it for a while; on the heap, it would slow the garbage collector
    in later runs."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
    jvm.System.gc()


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply these settings to the session within the block."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, usual in before.items():
            if usual is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, usual)


def with_checkpoint_bytes(batches: list[BatchProgress], checkpoint: Path) -> list[BatchProgress]:
    """Files belong to the batch in whose time they were last written: with fewer than 100 batches Spark deletes none.
    The checksums that Hadoop puts beside files on a local disk are left out."""
    found = ((path.stat(), path.name) for path in checkpoint.rglob("*") if path.is_file())
    files = [(stat.st_mtime, stat.st_size) for stat, name in found if not name.endswith(".crc")]
    counted = []
    for n, batch in enumerate(batches):
        until = batches[n + 1].begun if n + 1 < len(batches) else float("inf")
        size = sum(size for written, size in files if (batch.begun if n else 0.0) <= written < until)
        counted.append(replace(batch, checkpoint_bytes=size))
    return counted


def _batch(progress: dict[str, Any]) -> BatchProgress:
    operators = progress["stateOperators"]
    # RocksDB's size of files is reported once per store, though a batch lists the operator's stores together
    files = sum(operator["customMetrics"].get("rocksdbSstFileSize", 0) for operator in operators)
    checked = progress.get("observedMetrics", {}).get(_CHECKED, {})
    return BatchProgress(
        number=progress["batchId"],
        rows=progress["numInputRows"],
        results=(int(checked.get("rows") or 0), int(checked.get("value") or 0)),
        durations=progress["durationMs"],
        begun=datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp(),
        state_rows=sum(operator["numRowsTotal"] for operator in operators),
        state_bytes=sum(operator["memoryUsedBytes"] for operator in operators) + files,
    )
