"""What may follow a join on a stream: `event_time` carries the watermark."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.joins.oracle import expected, expected_ids
from tests.runtime.spark.joins.streams import BEGIN_US, NTZ, UTC, Files, ids, results, run, streaming

WINDOW_US = 3 * 10**6


def seconds(times: list[float], kind: pa.DataType = UTC) -> pa.Table:
    ticks = pa.array([BEGIN_US + round(time * 1e6) for time in times], pa.int64())
    return pa.table({"ts": ticks.cast(kind), "k": [n % 3 for n in range(len(times))], "id": range(len(times))})


@pytest.mark.parametrize("kind", [UTC, NTZ], ids=["timestamp", "ntz"])
def test_a_window_aggregate_has_the_windows_that_are_closed(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType
) -> None:
    tables = {"a": seconds([n / 2 for n in range(100)], kind), "b": seconds([n / 3 for n in range(120)], kind)}
    joined = expected(tables, "a.k = b.k", dict.fromkeys(tables, WINDOW_US), time="ts")
    assert joined.num_rows > 100
    mark = BEGIN_US + 119 * 10**6 // 3 - 2 * 10**6  # the last of b, which is later than a, and its lateness
    tens = "epoch_us(event_time) // 10000000 * 10000000"
    found = duckdb.sql(f"SELECT {tens} AS start, count(*) FROM joined GROUP BY start ORDER BY start")
    assert found is not None
    counts = found.fetchall()
    closed = [(start, count) for start, count in counts if start + 10**7 <= mark]
    assert 0 < len(closed) < len(counts)
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in tables.items()}
    for alias, edges in (("a", [0, 70, 100]), ("b", [0, 40, 90, 120])):
        for start, end in itertools.pairwise(edges):
            streams[alias].add(tables[alias].slice(start, end - start))
    join = tw.join(on="a.k = b.k", window="3 seconds", time="ts", lateness="2 seconds")
    counted = join(**streaming(spark, streams)).groupBy(F.window("event_time", "10 seconds")).count()
    run(counted.select("window.start", "count"), tmp_path)
    out = results(spark, tmp_path)
    assert sorted(zip(out["start"].cast(pa.int64()).to_pylist(), out["count"].to_pylist(), strict=True)) == closed


def test_two_joins_in_a_row(spark: SparkSession, tmp_path: Path) -> None:
    """And a stream with a watermark of its user's: Spark fails queries that set one again, in their second
    micro-batch."""
    tables = {alias: seconds([n * step for n in range(40)]) for alias, step in (("a", 0.5), ("b", 0.4), ("c", 0.6))}
    ticks = {alias: table["ts"].cast(pa.int64()).to_pylist() for alias, table in tables.items()}
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in tables.items()}
    for alias, table in tables.items():
        for start in (0, 25):
            streams[alias].add(table.slice(start, 25))
    frames = streaming(spark, streams)
    first = tw.join(on="a.k = b.k", window="3 seconds", time="ts")
    second = tw.join(
        on="ab.a_k = c.k", window="3 seconds", time={"ab": "event_time", "c": "ts"},
        lateness={"ab": "20 seconds", "c": "0 seconds"},
        select=["ab.a_id", "ab.b_id", "c.id"],
    )  # fmt: skip
    marked = frames["c"].withWatermark("ts", "0 seconds")
    run(second(ab=first(a=frames["a"], b=frames["b"]), c=marked), tmp_path)
    pairs = expected_ids({a: tables[a] for a in "ab"}, ticks, "a.k = b.k", dict.fromkeys("ab", WINDOW_US))
    wanted = [
        (i, j, n)
        for i, j, time in pairs
        for n, other in enumerate(ticks["c"])
        if abs(time - other) <= WINDOW_US and i % 3 == n % 3
    ]
    out = results(spark, tmp_path).rename_columns(["a_id", "b_id", "c_id", "event_time"])
    assert ids(out, "abc") == sorted(wanted)
