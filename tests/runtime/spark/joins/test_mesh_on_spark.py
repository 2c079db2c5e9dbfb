"""Joins under policy mesh on Spark: the columns that classify rows reach the buckets, and neither they nor a restart
with other ones change a result."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, frame, results, run, streaming

WINDOWS = {"a": 3000, "b": 3000, "c": 3000}
ON = "a.k = b.k AND a.m = c.m"
ROWS = 1_200
IDS = ["a.id", "b.id", "c.id"]


def tables() -> dict[str, pa.Table]:
    rng = np.random.default_rng(8)
    times = BEGIN_US + np.sort(rng.integers(0, 40, ROWS)) * 1000
    return {
        alias: pa.table({
            "k": rng.integers(0, 60, ROWS), "m": rng.integers(0, 60, ROWS), "t": pa.array(times).cast(UTC),
            "id": np.arange(ROWS), "sector": pa.array([["x", "y", None][n] for n in rng.integers(0, 3, ROWS)]),
        })
        for alias in WINDOWS
    }  # fmt: skip


def joined(**given: Any) -> tw.Join:
    lengths = {alias: f"{window} microseconds" for alias, window in WINDOWS.items()}
    return tw.join(ON, window=lengths, time="t", **{"policy": "mesh", "select": IDS, "buckets": 2, "seed": 1, **given})


def expected(data: dict[str, pa.Table]) -> list[tuple[int, ...]]:
    ticks = {alias: table["t"].cast(pa.int64()).to_pylist() for alias, table in data.items()}
    return [row[:3] for row in expected_ids(data, ticks, ON, WINDOWS)]


def ids(found: pa.Table) -> list[tuple[int, ...]]:
    return sorted(zip(*(found[name].to_pylist() for name in ("a_id", "b_id", "c_id")), strict=True))


def test_a_stream_is_started_again_with_other_classes(spark: SparkSession, tmp_path: Path) -> None:
    data = tables()
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in data.items()}
    starts: list[dict[str, Any]] = [
        {"classify_by": ["a.sector"]},
        {"classify_by": ["b.sector", "a.k"]},
        {"policy": "auto"},
    ]
    for start, given in enumerate(starts):
        edges = range(start * ROWS // 3, (start + 1) * ROWS // 3 + 1, ROWS // 6)
        for (begin, end), (alias, table) in itertools.product(itertools.pairwise(edges), data.items()):
            streams[alias].add(table.slice(begin, end - begin))
        run(joined(**given)(**streaming(spark, streams)), tmp_path)
    found = results(spark, tmp_path)
    assert found.column_names == ["a_id", "b_id", "c_id", "event_time"]
    assert ids(found) == expected(data)
    assert len(ids(found)) > 500


def test_finished_data_with_and_without_kept_sub_joins(spark: SparkSession) -> None:
    data = tables()
    frames = {alias: frame(spark, table) for alias, table in data.items()}
    for plan in ("multiway", "((a b) c)"):
        assert ids(joined(classify_by=["a.sector", "c.k"], plan=plan)(**frames).toArrow()) == expected(data)


def test_rows_that_do_not_probe_cannot_be_classified(spark: SparkSession, tmp_path: Path) -> None:
    """A finished DataFrame in a join with streams is a table."""
    data = tables()
    streams = {alias: Files(tmp_path / alias, data[alias].schema) for alias in "ab"}
    frames = streaming(spark, streams) | {"c": frame(spark, data["c"])}
    join = tw.join(ON, window="1 second", time="t", policy="mesh", classify_by=["c.sector"])
    with pytest.raises(tw.PlanError, match=r"classify_by: c\.sector: c is a table, whose rows do not probe"):
        join(**frames)
    with pytest.raises(tw.PlanError, match=r"classify_by: a has no column 'sectr' \(did you mean 'sector'\?\)"):
        joined(classify_by=["a.sectr"])(**{alias: frame(spark, table) for alias, table in data.items()})
