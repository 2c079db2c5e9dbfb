"""Where a batch's CPU time goes in a join of ours, as JSON lines: one a part, medians over the batches that count.

The parts add up to the CPU time of the JVM and its Python workers. What they cost with ten rows a stream and batch is
Spark's fixed cost; the workers' stopwatches are in `worker_times`.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench.joins.spark.agenda import UNSTEADY, Item
from bench.joins.spark.measured import BENCH
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.variants import OURS, VARIANTS, Ran
from bench.joins.spark.worker_times import PARTS, timed, times

FEW_ROWS = 10
FIXED, JVM, PYTHON = "Spark's fixed cost: a batch of ten rows a stream", "JVM, rows and results", "PySpark in workers"


def profile(spark: SparkSession, item: Item, rows: int, batches: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Of `ours` alone."""
    name = item.make(rows).name
    few = VARIANTS[OURS].run(spark, StreamFiles(item.make(FEW_ROWS), batches, folder / "few"))
    files = StreamFiles(item.make(rows), batches, folder / "all")
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as left:
        with timed(Path(left)):
            ran = VARIANTS[OURS].run(spark, files)
        found = times(Path(left))
    steady = [batch.number for batch in ran.batches[UNSTEADY:]]
    parts = {part: statistics.median(found[number][part] for number in steady) for part in PARTS}
    jvm, python, wall = (_median(ran, what) for what in ("jvm_ms", "python_ms", "ms"))
    few_jvm, few_python, few_wall = (_median(few, what) for what in ("jvm_ms", "python_ms", "ms"))
    whole = {
        FIXED: few_jvm + few_python,
        JVM: jvm - few_jvm,
        PYTHON: python - few_python - sum(parts.values()),
        **parts,
    }
    for part, ms in whole.items():
        yield {
            "bench": BENCH, "scenario": name, "part": part, "cpu_ms": round(ms, 1),
            "share": round(ms / (jvm + python), 4),
        }  # fmt: skip
    yield {
        "bench": BENCH, "scenario": name, "part": "all", "cpu_ms": round(jvm + python, 1), "share": 1.0,
        "batch_ms": wall, "batch_ms_of_ten_rows": few_wall, "batch_rows": files.scenario.batch_rows,
    }  # fmt: skip


def _median(ran: Ran, what: str) -> float:
    return statistics.median(getattr(batch, what) for batch in ran.batches[UNSTEADY:])
