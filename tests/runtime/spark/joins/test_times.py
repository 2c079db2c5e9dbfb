"""TIMESTAMP and TIMESTAMP_NTZ, in a session whose time zone has hours that occur twice and hours that never do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.spark.joins.streams import BEGIN_US, NTZ, UTC, Files, results, run, streaming

ZONE = "spark.sql.session.timeZone"
MINUTE_US = 60 * 10**6
NOVEMBER_US = BEGIN_US + (238 * 24 + 3) * 60 * MINUTE_US
"""2024-11-03 03:00 UTC: two hours before, in New York, the hour from 1 to 2 o'clock comes for the first time."""


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(ZONE, "America/New_York")
    yield
    spark.conf.set(ZONE, "UTC")


# as wall clock of New York, 02:00 to 03:00 of that day never was; as instants, 05:00 to 07:00 UTC is twice 1 o'clock
@pytest.mark.parametrize(("kind", "begin"), [(NTZ, BEGIN_US), (UTC, NOVEMBER_US)], ids=["ntz", "instants"])
def test_the_zone_of_the_session_changes_nothing(
    spark: SparkSession, new_york: None, tmp_path: Path, kind: pa.DataType, begin: int
) -> None:
    windows = {"a": 31 * MINUTE_US, "b": 5 * MINUTE_US}
    minutes = {"a": list(range(0, 300, 7)), "b": list(range(0, 300, 11))}
    ticks = {alias: [begin + minute * MINUTE_US for minute in each] for alias, each in minutes.items()}
    tables = {
        alias: pa.table({"ts": pa.array(each, pa.int64()).cast(kind), "k": [1] * len(each), "id": range(len(each))})
        for alias, each in ticks.items()
    }
    expected = expected_ids(tables, ticks, "a.k = b.k", windows)
    join = tw.join(on="a.k = b.k", window={"a": "31 minutes", "b": "5 minutes"}, time="ts")
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in tables.items()}
    for alias, table in tables.items():
        for start in range(0, table.num_rows, 20):
            streams[alias].add(table.slice(start, 20))
    joined = join(**streaming(spark, streams))
    name = "timestamp_ntz" if kind == NTZ else "timestamp"
    types = {"a_ts": name, "a_k": "bigint", "a_id": "bigint", "b_ts": name, "b_k": "bigint", "b_id": "bigint"}
    assert dict(joined.dtypes) == {**types, "event_time": name}
    run(joined, tmp_path)
    finished = join(**{alias: each.finished(spark) for alias, each in streams.items()}).toArrow()
    for out in (results(spark, tmp_path), finished):
        told = {name: out[name].cast(pa.int64()).to_pylist() for name in ("a_ts", "b_ts", "event_time")}
        pairs = list(zip(out["a_id"].to_pylist(), out["b_id"].to_pylist(), strict=True))
        assert sorted((*pair, time) for pair, time in zip(pairs, told["event_time"], strict=True)) == expected
        assert told["a_ts"] == [ticks["a"][i] for i, _ in pairs]
        assert told["b_ts"] == [ticks["b"][i] for _, i in pairs]
