"""What `explain` says before anything runs, and the report after a stream and after finished data."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, frame, rows, run, streaming
from tests.runtime.spark.waiting import wait_until

ON = "a.k = b.k AND b.m = c.m"


def test_explain(spark: SparkSession, tmp_path: Path) -> None:
    table = rows([0]).append_column("m", [[1]])
    streams = files(tmp_path, {alias: [table] for alias in "abc"})
    join = tw.join(
        on=ON, window="5 seconds", time="ts", lateness="2 seconds", buckets=3, select=["a.id", "b.ts"],
        idle_after="1 hour",
    )  # fmt: skip
    lines = str(join.explain(**streaming(spark, streams))).splitlines()
    assert lines[:3] == [
        "Plan, for a Spark stream", "Join of 3 streams, adaptive, over windows (auto)", f"│   on {ON}",
    ]  # fmt: skip
    for alias in "abc":
        assert any(f"Stream {alias}: window 5 seconds, time ts, up to 2 seconds out of order" in line for line in lines)
    assert "  3 buckets in 2 partitions, at least 2 in one partition; the checkpoint fixes both numbers" in lines
    assert next(line for line in lines if "are spread" in line).startswith(
        "  rows are spread over buckets by a.k and b.k: "
    )
    assert any(line.startswith("  c has no such column and is replicated") for line in lines)
    assert any(line.startswith("  a: id; ") and line.endswith("not read: m") for line in lines)
    assert "  a stream without rows for 1 hour does not hold it back (idle_after=)" in lines
    assert "  times more than 1 day ahead of the clock do not advance it (max_ahead=)" in lines
    frames = streaming(spark, streams)
    told = join.explain(**{**frames, "b": frames["b"].withWatermark("ts", "9 seconds")})
    assert [node.details for node in told.physical.inputs] == [
        ("a: window 5 seconds, time ts, up to 2 seconds out of order",),
        ("b: window 5 seconds, time ts, with its own watermark from Spark; lateness= is not used",),
        ("c: window 5 seconds, time ts, up to 2 seconds out of order",),
    ]
    lines = str(join.explain(**{alias: each.finished(spark) for alias, each in streams.items()})).splitlines()
    assert lines[0] == "Plan, for Spark, on finished data"
    assert "  3 buckets in 3 partitions" in lines
    assert "  finished data: read in the order of time, one bucket after the other; no row is late" in lines


def test_the_report_of_a_stream_and_of_finished_data(spark: SparkSession, tmp_path: Path) -> None:
    join = tw.join(on="a.k = b.k", window="5 seconds", time="ts")
    assert "Nothing has run yet" in str(join.report())
    parts = {"a": [rows([0, 1, 2]), rows([20], first_id=3)], "b": [rows([1]), rows([20, 40], first_id=1)]}
    streams = files(tmp_path, parts)
    joined = join(**streaming(spark, streams))
    run(joined, tmp_path)
    wait_until(lambda: [s.results for s in join.report().sections] == [4], "both micro-batches in the report")
    out = join(**{alias: frame(spark, each.finished(spark).toArrow()) for alias, each in streams.items()})
    assert join.report().pending == 1
    assert out.count() == 4
    stream, batch = join.report().sections
    assert (stream.kind, stream.first_batch, stream.last_batch) == ("stream", 0, 1)
    assert (batch.kind, batch.results) == ("batch", 4)
    for section in (stream, batch):
        told = {
            alias: (each.stream.rows, each.stream.late, each.stream.no_key) for alias, each in section.streams.items()
        }
        assert told == {"a": (4, 0, 0), "b": (3, 0, 0)}
    # the last watermark is 20: only those of 20 and 40 are held, in memory and in Spark's state store
    assert {alias: each.window.rows for alias, each in stream.streams.items()} == {"a": 1, "b": 2}
    assert all(each.window.state_chunks == 1 and each.window.state_bytes > 0 for each in stream.streams.values())
    assert "micro-batches 0 to 1: 4 results in 2 buckets, policy auto" in str(join.report())
