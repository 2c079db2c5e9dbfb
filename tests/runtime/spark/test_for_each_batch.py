"""Inside `foreachBatch` every micro-batch is a new DataFrame; what was learned and set up outlives it all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from tests.runtime.spark.counting import counting, multiple_of, rows_shown
from tests.runtime.spark.test_stream import add_file, source


def test_the_order_and_the_set_up_outlive_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    for number in range(4):
        add_file(tmp_path / "in", number, number * 20_000, 20_000)

    def load() -> int:
        with (seen / f"load-{os.getpid()}").open("a") as out:
            out.write("1\n")
        return 97

    def few_pass(k: int, column: pa.Array) -> pa.Array:
        return multiple_of(k)(column)

    keep = tw.filters(
        tw.predicate(counting(seen, "all_pass", multiple_of(1)), "id", vectorized=True),
        tw.predicate(few_pass, "id", vectorized=True, setup=load),
        policy="a-greedy(p=0.05)",
    )
    kept: list[int] = []
    shown: list[int] = []

    def each(batch: DataFrame, number: int) -> None:
        kept.extend(row.id for row in batch.transform(keep).collect())
        shown.append(rows_shown(seen, "all_pass"))

    query = (
        source(spark, tmp_path / "in").writeStream.foreachBatch(each)
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )  # fmt: skip
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(kept) == list(range(0, 80_000, 97))
    # after the selective one: what passes it, and profiled rows; the written order would show it every row
    assert shown[-1] - shown[0] < 3 * 20_000 * (1 / 97 + 0.05) + 1_000
    loads = [path.read_text().split() for path in seen.glob("load-*")]
    assert loads
    assert all(len(runs) == 1 for runs in loads), "once a worker, not once a micro-batch"
    report = keep.report()
    assert sum(section.rows for section in report.sections) == 80_000
