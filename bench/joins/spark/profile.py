"""Where a batch's CPU time goes in a join of ours, as JSON lines: one a part, medians over the batches that count.

The parts add up to the CPU time of the JVM and its Python workers. What they cost with ten rows per stream and batch is
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
from bench.joins.spark.variants import FILES, OURS, VARIANTS
from bench.joins.spark.worker_times import PARTS, timed, times
from bench.rounds import progress

FEW_ROWS = 10
FIXED_JVM, FIXED_PYTHON = "fixed: JVM", "fixed: Python workers"
JVM, PYTHON = "JVM, for rows and results", "PySpark in the workers"


def profile(
    spark: SparkSession, item: Item, rows: int, batches: int, folder: Path, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the profile of our join alone, whose tasks write files if the scenario has them."""
    files, variant = StreamFiles(item.make(rows, seed=seed), batches, folder / "all"), profiled(item)
    few = _timed(spark, variant, StreamFiles(item.make(FEW_ROWS, seed=seed), batches, folder / "few"))
    all_rows = _timed(spark, variant, files)
    parts = {part: all_rows[part] - few[part] for part in all_rows}
    python = parts["python_ms"] - sum(parts[part] for part in PARTS)
    whole = {
        FIXED_JVM: few["jvm_ms"], FIXED_PYTHON: few["python_ms"], JVM: parts["jvm_ms"], PYTHON: python,
        **{part: parts[part] for part in PARTS},
    }  # fmt: skip
    spent = sum(whole.values())
    common = {"bench": BENCH, "scenario": files.scenario.name}
    for part, ms in whole.items():
        yield {**common, "part": part, "cpu_ms": round(ms, 1), "share": round(ms / spent, 4)}
    yield {
        **common, "part": "all", "cpu_ms": round(spent, 1), "share": 1.0, "batch_ms": all_rows["ms"],
        "batch_ms_of_ten_rows": few["ms"], "batch_rows": files.scenario.batch_rows,
    }  # fmt: skip


def profiled(item: Item) -> str:
    """Return the variant that is profiled."""
    return FILES if FILES in item.variants else OURS


def _timed(spark: SparkSession, variant: str, files: StreamFiles) -> dict[str, float]:
    """The median of each part over the batches that count."""
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as left:
        with timed(Path(left)):
            batches = VARIANTS[variant].run(spark, files).batches[UNSTEADY:]
        found = times(Path(left))
    progress(f"profile, {files.scenario.rows:,} rows: {' '.join(str(batch.ms) for batch in batches)} ms")
    whole = {what: statistics.median(getattr(b, what) for b in batches) for what in ("ms", "jvm_ms", "python_ms")}
    return whole | {part: statistics.median(found[batch.number][part] for batch in batches) for part in PARTS}
