"""Columns of the types that Spark has come through a join of streams as they are, nulls among them."""

from __future__ import annotations

from datetime import UTC as UTC_ZONE
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import UTC, files, results, rows, run, streaming

NOON = datetime(2024, 3, 10, 12, tzinfo=UTC_ZONE)
COLUMNS = {
    "bytes": pa.array([b"\0a", None, b""], pa.binary()),
    "day": pa.array([date(2024, 2, 29), None, date(1969, 1, 1)]),
    "price": pa.array([Decimal("1.50"), None, Decimal("-0.25")], pa.decimal128(12, 2)),
    "share": pa.array([0.5, None, float("nan")]),
    "short": pa.array([1, None, -1], pa.int16()),
    "yes": pa.array([True, None, False]),
    "list": pa.array([[1, None, 3], None, []], pa.list_(pa.int32())),
    "times": pa.array([[NOON, None], None, []], pa.list_(UTC)),
    "map": pa.array([[("one", 1), ("two", None)], None, []], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"p": 1, "q": ["x", None]}, None, {"p": None, "q": None}],
                       pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))])),
}  # fmt: skip


def test_columns_come_through(spark: SparkSession, tmp_path: Path) -> None:
    """From a batch and from a window: the rows of `b` come later."""
    one, other = rows([0, 0, 0], ["x", "y", "z"]), rows([1, 1, 1], ["x", "y", "z"])
    for name, column in COLUMNS.items():
        one, other = one.append_column(name, column), other.append_column(name, column)
    streams = files(tmp_path, {"a": [one], "b": [other.slice(0, 0), other]})
    run(tw.join(on="a.k = b.k", window="5 seconds", time="ts")(**streaming(spark, streams)), tmp_path)
    found = results(spark, tmp_path).sort_by("a_id")
    assert found["b_id"].to_pylist() == [0, 1, 2]
    for name, column in COLUMNS.items():
        for alias in "ab":
            assert repr(found[f"{alias}_{name}"].to_pylist()) == repr(column.to_pylist()), name
