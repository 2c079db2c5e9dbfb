"""How long a query takes to continue from its checkpoint with full windows: the tasks' sink against Spark's.

Each run reads two batches, ends, and is started again for one more. Workers read their windows from the state store
then, because a start has no warm copies.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from bench.joins.spark.expected import expected
from bench.joins.spark.measured import BENCH
from bench.joins.spark.ours import IN_ROCKSDB
from bench.joins.spark.parquet_run import results_by_batch
from bench.joins.spark.query_run import ALWAYS, configured, forget_state
from bench.joins.spark.scenario import three_way
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.targets import beyond_noise
from bench.joins.spark.variants import BY_SPARK, FILES, FILES_AGAIN, VARIANTS
from bench.rounds import WrongResultError, progress

RESTARTED = (BY_SPARK, FILES, FILES_AGAIN)


def restarts(spark: SparkSession, rows: int, rounds: int, *, warm: bool = True) -> Iterator[dict[str, Any]]:
    """Yield one line per variant, and one for the target. `rows`: of each of three streams in each batch. `warm`: a
    round before the others compiles, and is left out."""
    taken: dict[str, list[float]] = {name: [] for name in RESTARTED}
    rng = np.random.default_rng(rounds)
    for number in range(0 if warm else 1, rounds + 1):
        for k in rng.permutation(len(RESTARTED)):
            name = RESTARTED[k]
            with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
                seconds = restart(spark, name, rows, Path(folder))
            progress(f"restart, round {number} of {rounds}, {name}: {seconds:.2f} s")
            if number:
                taken[name].append(seconds)
    for name, seconds_of in taken.items():
        times = {"seconds_median": round(statistics.median(seconds_of), 3), "seconds": seconds_of}
        yield {"bench": BENCH, "part": "restart", "variant_restarted": name, "window_rows": 3 * rows, **times}

    def ratio(one: str, other: str) -> list[float]:
        return sorted(a / b for a, b in zip(taken[one], taken[other], strict=True))

    found, aa = ratio(FILES, BY_SPARK), ratio(FILES_AGAIN, FILES)
    value = statistics.median(found)
    yield {
        "bench": BENCH, "scenario": "restart", "target": f"time over that of {BY_SPARK}", "value": round(value, 3),
        "reached": beyond_noise(1 / value, 1.0, (aa[0], aa[-1])), "limit": 1.0,
        "spread": [round(found[0], 3), round(found[-1], 3)], "aa_spread": [round(aa[0], 3), round(aa[-1], 3)],
    }  # fmt: skip


def restart(spark: SparkSession, name: str, rows: int, folder: Path) -> float:
    """Return the seconds from the second start of a query until it has read one more batch."""
    files, place, out = StreamFiles(three_way(rows), 2, folder / "in"), folder / "checkpoint", folder / "out"
    start = VARIANTS[name].start
    assert start is not None
    cores = {"spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    with configured(spark, {**ALWAYS, **cores, **IN_ROCKSDB}):
        start(spark, files, folder / "events", place, out).awaitTermination()
        forget_state(spark)
        files.add()
        begun = time.monotonic()
        start(spark, files, folder / "events", place, out).awaitTermination()
        seconds = time.monotonic() - begun
    found, known = results_by_batch(out, files.scenario.aliases), expected(files)
    if found != dict(enumerate(known)):
        raise WrongResultError(f"{name}, restarted: (rows, checksum) is {found}, not {known}")
    forget_state(spark)
    return seconds
