"""Declared rates decide which equal columns spread the rows of a stream over buckets, and so how many rows are held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors.exceptions.base import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, files, ids, results, run, start, streaming

ON, BUCKETS = "a.k = b.k AND b.m = c.m", 3
ROWS = {"a": 2, "b": 20, "c": 2000}
"""In ten seconds, all of which are within the windows."""
RATES = {alias: {"rows_per_second": rows / 10} for alias, rows in ROWS.items()}


def table(count: int, first_id: int = 0) -> pa.Table:
    ticks = [BEGIN_US + n * 10**7 // count for n in range(count)]
    numbers = pa.array(range(first_id, first_id + count), pa.int64())
    keys = {name: pa.array([n % 5 for n in range(count)], pa.int64()) for name in "km"}
    return pa.table({"ts": pa.array(ticks, pa.int64()).cast(UTC), **keys, "id": numbers})


def join(**given: Any) -> tw.Join:
    return tw.join(ON, "10 seconds", "ts", buckets=BUCKETS, select=["a.id", "b.id", "c.id"], **given)


def words(explained: tw.Explanation) -> str:
    return " ".join(str(explained).replace("│", " ").split())


def held(made: tw.Join) -> int:
    return sum(stream.window.rows for stream in made.report().sections[0].streams.values())


def test_the_stream_with_the_most_rows_is_spread(spark: SparkSession, tmp_path: Path) -> None:
    streams = files(tmp_path, {alias: [table(count)] for alias, count in ROWS.items()})
    known, unknown = join(statistics=RATES), join()
    explained = words(known.explain(**streaming(spark, streams)))
    assert "rows are spread over buckets by b.m and c.m" in explained
    assert "streams with such a column have 2,020 of 2,022 rows in windows, more than for any other" in explained
    assert "spread over buckets by a.k and b.k" in words(unknown.explain(**streaming(spark, streams)))
    for name, made in (("known", known), ("unknown", unknown)):
        run(made(**streaming(spark, streams)), tmp_path, name)
    assert ids(results(spark, tmp_path, "known"), "abc") == ids(results(spark, tmp_path, "unknown"), "abc")
    by_m, by_k = 20 + 2000 + BUCKETS * 2, 2 + 20 + BUCKETS * 2000
    assert (held(known), held(unknown)) == (by_m, by_k)
    assert held(known) <= 1.1 * min(by_m, by_k)
    # the checkpoint has rows by the other columns, and the join cannot see it before it starts
    for alias, stream in streams.items():
        stream.add(table(1, first_id=ROWS[alias]))
    again = start(join()(**streaming(spark, streams)), tmp_path, "known")
    with pytest.raises(StreamingQueryException) as failed:
        again.awaitTermination(120)
    assert "it had 'buckets=3 by b.m = c.m'; now there is 'buckets=3 by a.k = b.k'" in str(failed.value)
    assert "Start the join as it was, with buckets=3 and the rates in statistics= that it had" in str(failed.value)
