"""Many small batches of one query that writes files: whether time, files and memory stay the same.

Two streams of Spark's `rate-micro-batch` source with the same values are joined, so every value is one result. Batches
follow each other without a pause. Times are those of a sample of the batches, CPU times those of all processes.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from bench.joins.spark.cpu_clock import spent
from bench.joins.spark.measured import BENCH
from bench.joins.spark.ours import IN_ROCKSDB
from bench.joins.spark.query_run import ALWAYS, configured
from bench.joins.spark.slope import ERRORS, slope_of
from bench.rounds import WrongResultError, progress

ROWS, PARTS = 20, 10
"""Rows of a stream in a batch, and the number of parts of a run that are compared."""
STEP_MS = 1_000
"""Event time of a batch; windows are two of them."""
BEGIN_MS = 1_700_000_000_000
FLAT = 1.1
"""The most by which the last part may exceed the second one. The first one compiles, and fills what is bounded."""


def endure(spark: SparkSession, batches: int) -> Iterator[dict[str, Any]]:
    """Run a query for so many batches. Yield one line per part, and the targets."""
    cores = {"spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    parts: list[dict[str, Any]] = []
    times: list[float] = []
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder,
        configured(spark, {**ALWAYS, **cores, **IN_ROCKSDB, "spark.sql.streaming.numRecentProgressUpdates": "5"}),
    ):
        out = Path(folder) / "out"
        streams: dict[str, Any] = {alias: _stream(spark) for alias in "ab"}
        j = tw.join(on="a.value = b.value", window=f"{2 * STEP_MS} milliseconds", time="timestamp", max_ahead=None)
        query: StreamingQuery = j.start(path=out, checkpoint=Path(folder) / "checkpoint", sink="tasks", **streams)
        try:
            for number in range(PARTS):
                before, begun = sum(spent()), _batch(query)
                taken = _until(query, batches * (number + 1) // PARTS)
                times += taken
                cpu_ms = 1000 * (sum(spent()) - before) / max(_batch(query) - begun, 1)
                sizes = _sizes(spark, Path(folder))
                parts.append(
                    {
                        "bench": BENCH, "part": "endurance", "batches": _batch(query), "ms": statistics.median(taken),
                        "cpu_ms": round(cpu_ms, 1), **sizes, "files_per_batch": sizes["result_files"] / _batch(query),
                    }
                )  # fmt: skip
                progress(f"endurance: {parts[-1]}")
                yield parts[-1]
        finally:
            query.stop()
        _check(out)
    slope = slope_of(times[len(times) // PARTS :])
    if slope is not None:
        yield _target("growth of the batch time, ms per sampled batch", slope.ms, ERRORS * slope.error)
    for what, target in (
        ("cpu_ms", "CPU time per batch"), ("python_mb", "memory of a worker"), ("driver_mb", "memory of the driver"),
        ("heap_mb", "JVM heap"), ("files_per_batch", "files of results per batch"), ("log_files", "files of the log"),
        ("checkpoint_files", "files of the checkpoint"),
    ):  # fmt: skip
        last, second = parts[-1][what], parts[1][what]
        yield _target(f"{target}, of the last part over that of the second", last / second if second else last, FLAT)


def _target(target: str, value: float, limit: float) -> dict[str, Any]:
    return {
        "bench": BENCH, "scenario": "endurance", "target": target, "value": round(value, 4), "limit": round(limit, 4),
        "reached": value <= limit,
    }  # fmt: skip


def _stream(spark: SparkSession) -> Any:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 1)
    return source.option("startTimestamp", BEGIN_MS).option("advanceMillisPerBatch", STEP_MS).load()


def _batch(query: StreamingQuery) -> int:
    """Return the number of batches that have ended."""
    if (error := query.exception()) is not None:
        raise error
    last = query.lastProgress
    return 0 if last is None else last["batchId"] + 1


def _until(query: StreamingQuery, batches: int) -> list[float]:
    """Wait until so many batches have ended, and return the times of those that were seen, in ms."""
    seen: dict[int, float] = {}
    while _batch(query) < batches:
        if (last := query.lastProgress) is not None:
            seen[last["batchId"]] = last["durationMs"]["triggerExecution"]
        time.sleep(0.2)
    return list(seen.values()) or [0.0]


def _sizes(spark: SparkSession, folder: Path) -> dict[str, float]:
    """Return memory in MB, and numbers of files."""
    jvm: Any = spark._jvm
    jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    workers = [
        process.memory_info().rss
        for process in psutil.Process().children(recursive=True)
        if process.is_running() and process.name() != "java"
    ]
    return {
        "python_mb": round(max(workers, default=0) / 1e6, 1),
        "driver_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
        "heap_mb": round((runtime.totalMemory() - runtime.freeMemory()) / 1e6, 1),
        "result_files": len(list((folder / "out").glob("*.parquet"))),
        "log_files": len(list((folder / "out" / "_spark_metadata").iterdir())),
        "checkpoint_files": sum(1 for path in (folder / "checkpoint").rglob("*") if path.is_file()),
    }


def _check(out: Path) -> None:
    """Every value of a committed batch is one result."""
    import duckdb

    found = duckdb.connect().execute(
        f"SELECT count(*), count(DISTINCT a_value), max(a_value) + 1 FROM read_parquet('{out}/*.parquet')"
    )
    (row,) = found.fetchall()
    if len(set(row)) != 1:
        raise WrongResultError(f"endurance: (results, values, values that were sent) is {row}")
