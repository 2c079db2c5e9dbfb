"""Further conditions of `on` on Spark: they mean what they mean to Spark itself, and fail as a run fails."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, ids, results, run, streaming

REALS = [float("nan"), 0.0, -0.0, 1.5, float("inf"), -float("inf"), None]
ROWS = pa.table(
    {
        "ts": pa.array([BEGIN_US] * len(REALS), pa.int64()).cast(UTC),
        "k": pa.array([1] * len(REALS), pa.int64()),
        "id": pa.array(range(len(REALS)), pa.int64()),
        "x": pa.array(REALS, pa.float64()),
    }
)
CONDITION = (
    "a.x <= b.x AND NOT (a.x > 2e0 AND b.x < 1e0) AND a.ts >= '2024-03-10 00:00:00' AND b.ts >= TIMESTAMP '2024-03-10'"
)


def made(tmp_path: Path) -> dict[str, Files]:
    streams = {alias: Files(tmp_path / alias, ROWS.schema) for alias in "ab"}
    for each in streams.values():
        each.add(ROWS)
    return streams


def test_nan_and_times_compare_as_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    streams = made(tmp_path)
    join = tw.join(f"a.k = b.k AND {CONDITION}", "1 minute", "ts")
    frames = {alias: each.finished(spark) for alias, each in streams.items()}
    plain = frames["a"].alias("a").join(frames["b"].alias("b"), on=F.expr(f"a.k = b.k AND {CONDITION}"))
    wanted = sorted(map(tuple, plain.selectExpr("a.id", "b.id").collect()))
    assert len(wanted) > 10
    assert ids(join(**frames).toArrow(), "ab") == wanted
    run(join(**streaming(spark, streams)), tmp_path)
    assert ids(results(spark, tmp_path), "ab") == wanted
    local = pa.Table.from_batches(join.over(a=ROWS, b=ROWS))
    assert ids(local, "ab") == wanted


def test_a_row_that_overflows_fails_the_run(spark: SparkSession, tmp_path: Path) -> None:
    join = tw.join("a.k = b.k AND (a.id + b.id) * 9223372036854775807 > 0", "1 minute", "ts")
    streams = made(tmp_path)
    joined = join(**streaming(spark, streams))  # nothing is wrong with the plan
    with pytest.raises(StreamingQueryException, match=r"ExpressionError: on=: .*overflow"):
        run(joined, tmp_path)
