"""More buckets than partitions, fewer, and streams that every bucket gets: each result once."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, results, run, streaming
from tests.runtime.spark.waiting import wait_until
from thalweg.runtime.spark.joins.bucket_ids import bucket_ids, partition_of

ON = "a.x = b.x AND b.x = c.x AND c.y = d.y"
"""Three streams have x; every bucket gets all of d."""
WINDOW_US = 400


def tables() -> tuple[dict[str, pa.Table], dict[str, list[int | None]]]:
    r = random.Random(11)
    made: dict[str, pa.Table] = {}
    ticks: dict[str, list[int | None]] = {}
    for alias, names in {"a": "x", "b": "x", "c": "xy", "d": "y"}.items():
        rows = 120
        ticks[alias] = [BEGIN_US + tick for tick in sorted(r.randrange(1500) for _ in range(rows))]
        ticks[alias][r.randrange(rows)] = None
        columns = {name: [f"key {r.randrange(12)}" for _ in range(rows)] for name in names}
        made[alias] = pa.table({**columns, "t": pa.array(ticks[alias], pa.int64()).cast(UTC), "id": range(rows)})
    return made, ticks


@pytest.mark.parametrize("buckets", [pytest.param(1, marks=pytest.mark.long), 7])
def test_each_result_comes_once(spark: SparkSession, tmp_path: Path, buckets: int) -> None:
    made, ticks = tables()
    expected = expected_ids(made, ticks, ON, dict.fromkeys(made, WINDOW_US))
    assert len(expected) > 100
    join = tw.join(on=ON, window=f"{WINDOW_US} microseconds", time="t", buckets=buckets)
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in made.items()}
    for alias, table in made.items():
        for start in (0, 60):
            streams[alias].add(table.slice(start, 60))
    run(join.tagged(**streaming(spark, streams)), tmp_path)
    finished = join.tagged(**{alias: each.finished(spark) for alias, each in streams.items()}).toArrow()
    for out in (results(spark, tmp_path), finished):
        good, lost = out.filter(out["lost"].is_null()), out.filter(out["lost"].is_valid())
        columns = [good[f"{alias}_id"] for alias in made] + [good["event_time"].cast(pa.int64())]
        assert sorted(zip(*(column.to_pylist() for column in columns), strict=True)) == expected
        assert sorted(lost["lost"].to_pylist()) == [f"{alias}: no time" for alias in made]
        assert lost["d_id"].drop_null().to_pylist() == [ticks["d"].index(None)]
    alone = join.late(**{alias: each.finished(spark) for alias, each in streams.items()})
    assert sorted(row.lost for row in alone.collect()) == [f"{alias}: no time" for alias in made]
    join.report()  # takes in what was counted
    wait_until(lambda: [s.results for s in join.report().sections] == [len(expected)] * 2 + [0], "three sections")
    for section in join.report().sections:
        for alias, stream in section.streams.items():  # what every bucket got is counted once
            assert (stream.stream.rows, stream.stream.no_time, stream.stream.replicated) == (120, 1, alias == "d"), (
                alias
            )
            assert len(stream.buckets) == buckets


@pytest.mark.parametrize("partitions", [2, 3, 7, 200])
def test_partitions_are_where_spark_puts_them(spark: SparkSession, partitions: int) -> None:
    told = spark.range(500).selectExpr(f"pmod(hash(cast(id AS int)), {partitions}) AS place").collect()
    assert [partition_of(i, partitions) for i in range(500)] == [row.place for row in told]


def test_buckets_fill_partitions_evenly() -> None:
    """As many as there are buckets, a multiple of that, or a part; to start a query, it is not necessary to know."""
    for buckets, partitions in ((1, 2), (2, 2), (8, 8), (8, 2), (16, 4), (4, 200), (3, 9)):
        places = [partition_of(i, partitions) for i in bucket_ids(buckets)]
        held = [places.count(n) for n in range(partitions)]
        assert len(places) == buckets
        assert max(held) - min(held) <= 1
    assert all(bucket_ids(buckets)[0] == 0 for buckets in range(1, 30))
