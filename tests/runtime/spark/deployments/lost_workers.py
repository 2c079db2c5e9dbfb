"""A filter chain that loses a Python worker in the middle of a task, and an executor with what it has shuffled.

    spark-submit lost_workers.py FOLDER [CASE ...]

prints one JSON object: for each case how many were killed, the rows that came out, and what was counted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import thalweg as tw
from thalweg.events import read
from thalweg.report import Report, fold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id long, n long, text string"
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
KILL_AT_CALL = 12
"""So late that the task has reported work before, with slices of 50 rows and Arrow batches of 100."""


def once(marker: Path, kill: Callable[[], None]) -> None:
    """The first to come kills, all others live."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    kill()


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_my_executor() -> None:
    """The JVM above this Python worker, and its daemon between them."""
    import psutil

    executor = next(process for process in psutil.Process().parents() if process.name() == "java")
    executor.kill()
    time.sleep(30)  # ends before: the worker goes with its executor


def chain(marker: Path | None, events: Path) -> tw.Filters:
    def digits(text: pa.Array) -> pa.Array:
        if marker is not None:
            digits.calls = getattr(digits, "calls", 0) + 1  # type: ignore[attr-defined]
            if digits.calls >= KILL_AT_CALL:  # type: ignore[attr-defined]
                once(marker, kill_myself)
        return pc.match_substring_regex(text, "^[0-9]+$")

    return tw.filters(
        tw.predicate(lambda text: int(text) % 3 != 0, "text", name="not_thirds", after="digits"),
        tw.predicate(lambda n: pc.less(n, 800), "n", vectorized=True, name="low"),
        tw.predicate(digits, "text", vectorized=True),
        tw.predicate(lambda text: pc.match_substring(text, "7"), "text", vectorized=True, name="has_seven"),
        policy="a-greedy(p=0.3, profile_window=30)",
        slice_rows=50,
        events=events,
    )


def ids(df: DataFrame) -> list[int]:
    return sorted(row.id for row in df.select("id").collect())


def result(keep: tw.Filters, marker: Path, events: Path, found: list[int], rows: int) -> dict[str, Any]:
    def counted(report: Report) -> dict[str, int]:
        return {"rows": sum(s.rows for s in report.sections), "kept": sum(s.kept for s in report.sections)}

    until = time.monotonic() + 20
    while min(counted(keep.report())["rows"], counted(fold(read(events)))["rows"]) < rows and time.monotonic() < until:
        time.sleep(0.05)
    return {
        "killed": int(marker.exists()),
        "ids": found,
        "report": counted(keep.report()),
        "events": counted(fold(read(events))),
    }


def python_worker_in_batch(spark: SparkSession, folder: Path, rows: int) -> dict[str, Any]:
    marker, events = folder / "batch.killed", folder / "batch.jsonl"
    keep = chain(marker, events)
    found = ids(spark.read.schema(SCHEMA).parquet(str(folder / "in")).transform(keep))
    return result(keep, marker, events, found, rows)


def python_worker_in_stream(spark: SparkSession, folder: Path, rows: int) -> dict[str, Any]:
    marker, events = folder / "stream.killed", folder / "stream.jsonl"
    keep = chain(marker, events)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder / "in"))
    sink = stream.transform(keep).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = sink.option("path", str(folder / "out")).trigger(availableNow=True).start()
    assert query.awaitTermination(60), "the stream did not end"
    return result(keep, marker, events, ids(spark.read.schema(SCHEMA).parquet(str(folder / "out"))), rows)


def executor(spark: SparkSession, folder: Path, rows: int) -> dict[str, Any]:
    """Killed by the first task after the shuffle: what the executor had filtered must be filtered again."""
    marker, events = folder / "executor.killed", folder / "executor.jsonl"
    keep = chain(None, events)

    def behind_the_shuffle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        once(marker, kill_my_executor)
        yield from batches

    filtered = spark.read.schema(SCHEMA).parquet(str(folder / "in")).transform(keep)
    shuffled = filtered.repartition(2, "id").mapInArrow(behind_the_shuffle, SCHEMA)
    return result(keep, marker, events, ids(shuffled), rows)


CASES = {case.__name__: case for case in (python_worker_in_batch, python_worker_in_stream, executor)}
FEW = ("python_worker_in_stream", "executor")


def run(spark: SparkSession, folder: Path, *cases: str) -> dict[str, Any]:
    """Run cases and return their results by name."""
    before = spark.conf.get(BATCH)
    assert before is not None
    spark.conf.set(BATCH, 100)
    rows = spark.read.schema(SCHEMA).parquet(str(folder / "in")).count()
    told = {case: CASES[case](spark, folder, rows) for case in cases or CASES}
    spark.conf.set(BATCH, before)
    return told


def main(folder: Path, *cases: str) -> None:
    from pyspark.sql import SparkSession

    print(json.dumps(run(SparkSession.builder.appName("lost-workers").getOrCreate(), folder, *cases)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
