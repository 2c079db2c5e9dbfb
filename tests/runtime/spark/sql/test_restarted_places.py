"""A restart evaluates conditions where its checkpoint says, whatever is declared then: windows hold these rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.sql.three_streams import ThreeStreams
from tests.session.corpus_query import by_duckdb

TEXT = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND is_odd(a.id) WINDOW 5 SECONDS"
EXPECTED = """
    SELECT a.id AS a, b.id AS b FROM a, b
    WHERE a.k = b.k AND a.id % 2 = 1 AND abs(epoch_us(a.ts) - epoch_us(b.ts)) <= 5000000"""
FEW_RESULTS: dict[str, Any] = {
    name: {"statistics": {"rows_per_second": 4, "distinct": {"k": 10_000}}} for name in ("a", "b")
}
"""With which the condition is cheaper after the join. This is not true of the data."""


def is_odd(number: int) -> bool:
    """It is not declared safe, so before a join its errors are stored."""
    return number % 2 == 1


class Restarted:
    """The query, started again and again into one folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.streams = spark, folder, ThreeStreams(folder / "in")

    def query(self, **given: Any) -> tw.ContinuousQuery:
        s = self.streams.session(self.spark, **given)
        s.function("is_odd", is_odd, "boolean", cost=50)
        return s.query(TEXT)

    def go_on(self, query: tw.ContinuousQuery) -> Any:
        """To the end of what is there. All rows so far are DuckDB's, and some of them join those of an earlier run."""
        out, checkpoint = str(self.folder / "out"), str(self.folder / "checkpoint")
        handle = query.start(out, checkpoint=checkpoint, trigger="availableNow")
        handle.awaitTermination()
        found = sorted(tuple(row.values()) for row in pq.read_table(self.folder / "out").to_pylist())
        pieces = {name: pa.concat_tables(each) for name, each in self.streams.pieces.items()}
        assert found == sorted(tuple(row.values()) for row in by_duckdb(EXPECTED, pieces).to_pylist())
        assert any(a // 1000 != b // 1000 for a, b in found) == (len(self.streams.pieces["a"]) > 1)
        return handle

    def stored(self) -> Any:
        file = self.folder / "checkpoint" / "thalweg" / "state"
        return dict(json.loads(file.read_text())["state"]["conditions"])["a"]


@pytest.mark.parametrize("begun_after", [True, False])
def test_a_restart_keeps_the_place_of_a_condition(spark: SparkSession, tmp_path: Path, begun_after: bool) -> None:
    query = Restarted(spark, tmp_path)
    first, then = (FEW_RESULTS, {}) if begun_after else ({}, FEW_RESULTS)
    begun = query.query(**first)
    assert bool(begun.plan.conditions) == begun_after
    query.go_on(begun)
    assert query.stored() == ([] if begun_after else ["is_odd(a.id)"])
    query.streams.add()
    again = query.query(**then)
    assert bool(again.plan.conditions) != begun_after, "what is declared now asks for the other place"
    told = str(query.go_on(again).explain())
    assert ("is_odd(a.id) is evaluated after the join, as its checkpoint was created" in told) == begun_after
    filtered = told.split("Physical plan")[1].split("is_odd(a.id)  (Python")
    assert ("Join adaptive" in filtered[1]) == begun_after, "it is drawn above the join, or below"
