"""What queries are given from Python: values of parameters, functions, iterators; and where they meet joins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def table(seconds: list[int], **columns: list) -> pa.Table:
    times = pa.array([NOON + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, **columns})


def test_conditions_of_joined_rows_keep_zones_types_and_quotes():
    """They are checked as they were read, and not as they are shown."""
    a = table([0, 1, 2], k=[1, 1, 1], x=["it's", "a\\b", "c"], d=[1.0, float("nan"), 2.0])
    b = table([0, 1, 2], k=[1, 1, 1], y=[7, 8, 9], e=[1.0, float("nan"), 3.0])
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    for condition in (
        "(a.ts > '2026-01-01 12:00:00' OR b.y = 8)",
        r"(a.x = 'it\'s' OR b.y = 9)",
        r"(a.x = 'a\\b' OR b.y = 9)",
        "a.d = b.e",
        "NOT (a.d < b.e OR b.y = 7)",
    ):
        query = s.query(f"SELECT a.x, b.y FROM a, b WHERE a.k = b.k AND {condition} WINDOW 1 MINUTE")
        assert query.plan.join is not None
        assert len(query.plan.join.residuals) == 1
        theirs = condition.replace(r"\\", "\x00").replace(r"\'", "''").replace("\x00", "\\")
        theirs = theirs.replace("'2026-01-01 12:00:00'", "'2026-01-01 12:00:00+00'")
        oracle = f"SELECT a.x, b.y FROM a, b WHERE a.k = b.k AND {theirs} ORDER BY ALL"
        got = sorted((row["x"], row["y"]) for row in query.dataframe().to_pylist())
        assert got == sorted(duckdb.sql(oracle).fetchall()), condition


def test_the_last_rows_may_be_old():
    s = tw.session()
    s.stream("a", table([-(50 * 366 * 86_400)], k=[1]), time="ts")
    s.stream("b", table([0], k=[1]), time="ts")
    query = s.query("SELECT a.k FROM a [ROWS 2], b [RANGE 1 HOUR] WHERE a.k = b.k")
    assert query.dataframe().to_pylist() == [{"k": 1}]


@pytest.mark.parametrize("value", [np.int64(2), np.int8(2), np.float32(2), 2])
def test_numbers_of_numpy_are_numbers(value):
    s = tw.session()
    s.stream("a", table([0, 1], k=[1, 2]), time="ts")
    assert s.query("SELECT k FROM a WHERE k = :k", args={"k": value}).dataframe().to_pylist() == [{"k": 2}]


def test_a_generator_is_read_once():
    s = tw.session()
    s.stream("a", (batch for batch in table([0, 1, 2], k=[1, 2, 3]).to_batches(max_chunksize=1)), time="ts")
    query = s.query("SELECT k FROM a")
    assert query.dataframe().column("k").to_pylist() == [1, 2, 3]
    with pytest.raises(tw.PlanError, match="was read already"):
        query.dataframe()
    with pytest.raises(tw.PlanError, match="gives no batch"):
        s.stream("b", iter([]), time="ts")
    with pytest.raises(tw.PlanError, match="gives a int"):
        s.stream("b", iter([1]), time="ts")


def test_a_time_with_a_zone_is_not_compared_with_one_without():
    s = tw.session()
    s.stream("a", pa.table({"ts": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))}), time="ts")
    with pytest.raises(tw.SqlError, match="has a zone"):
        s.query("SELECT ts FROM a WHERE ts > '2026-01-01 12:00:01+02:00'")
