"""Further conditions of `on`: what they mean, against DuckDB, and when they are applied."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.joins.oracle import expected, rows

DAY = dt.datetime(2024, 2, 29)
A = pa.table(
    {
        "k": [1] * 6,
        "t": [DAY + dt.timedelta(seconds=s) for s in range(6)],
        "i": pa.array([0, 1, 2**53 + 1, -1, None, 7], pa.int64()),
        "u": pa.array([0, 1, 2, 200, 255, None], pa.uint8()),
        "p": pa.array([Decimal("0.30"), Decimal("0.10"), None, Decimal("0.20"), Decimal("0.31"), Decimal("0.00")]),
        "s": ["x", "y", None, "x", "y", "z"],
    }
)
B = pa.table(
    {
        "k": [1] * 5,
        "t": [DAY + dt.timedelta(seconds=s) for s in (0, 2, 3, 9, 11)],
        "f": [0.5, float(2**53), None, -3.5, 1e300],
        "v": pa.array([2**63 + 5, 0, 1, None, 7], pa.uint64()),
        "q": pa.array([Decimal("0.1"), Decimal("0.0"), Decimal("0.2"), None, Decimal("0.3")]),
    }
)


@pytest.mark.parametrize(
    "condition",
    [
        "a.p = b.q + 0.2", "a.p > 0.15", "a.i > b.f", "a.i < 0.5", "a.i = b.v", "a.i <> b.v", "a.u > b.k",
        "a.u + b.k > 3", "a.t > b.t - INTERVAL 2 SECONDS", "a.t < b.t", "a.t >= '2024-02-29 00:00:03'",
        "a.s = 'x'", "a.s IN ('x', 'z')", "a.s IS NULL", "NOT a.s = 'x'", "a.i BETWEEN 0 AND 5",
        "(a.s = 'y' OR b.f > 0)", "a.i IS NOT NULL AND b.q < a.p",
    ],
)  # fmt: skip
def test_they_mean_what_they_mean_in_sql(condition: str):
    on = f"a.k = b.k AND {condition}"
    join = tw.join(on=on, window="1 minute", time="t")
    found = pa.Table.from_batches(join.over(a=A, b=B))
    minute = 60 * 10**6
    wanted = expected({"a": A, "b": B}, on, {"a": minute, "b": minute})
    assert rows(found) == rows(wanted)
    assert 0 < found.num_rows < 30, "a condition that says something"


def test_small_whole_numbers_do_not_overflow():
    """DuckDB would refuse 0 - 201 of type uint8."""
    table = pa.Table.from_batches(tw.join("a.k = b.k AND a.u - 201 < b.k", "1 minute", "t").over(a=A, b=B))
    assert sorted(table["a_u"].to_pylist()) == sorted([0, 1, 2, 200] * B.num_rows)


def test_a_condition_on_one_stream_is_applied_before_its_rows_take_a_place():
    hot = pa.table({"k": [1] * 2_000, "t": np.arange(2_000), "x": np.arange(2_000)})
    join = tw.join(on="a.k = b.k AND a.x < 3", window=5_000, time="t", max_matches=3)
    assert sum(batch.num_rows for batch in join.over(a=hot, b=hot)) == 3 * 2_000
    streams = join.report().sections[0].streams
    assert (streams["a"].filtered, streams["a"].most_rows, streams["b"].filtered) == (1_997, 3, 0)
    assert "a: 1,997 rows dropped by a condition on this stream" in str(join.report())


def test_what_cannot_be_compared_is_told_before_any_row_is_read():
    with pytest.raises(tw.PlanError, match=r"a\.i is int64, b\.s is string"):
        tw.join(on="a.k = b.k AND a.i < b.s", window="1 minute", time="t").over(a=A, b=A)  # not even asked for a batch


def test_a_join_can_be_copied_and_pickled():
    join = tw.join(on="a.k = b.k AND a.p > 0.15", window="1 minute", time="t", policy="written")
    for other in (copy.deepcopy(join), pickle.loads(pickle.dumps(join))):
        assert rows(pa.Table.from_batches(other.over(a=A, b=B))) == rows(pa.Table.from_batches(join.over(a=A, b=B)))


def test_a_join_without_results_still_has_its_columns():
    join = tw.join(on="a.k = b.k AND a.i > 100000000000000000", window="1 minute", time="t")
    table = pa.Table.from_batches(join.over(a=A, b=B))
    assert table.num_rows == 0
    assert table.column_names[:2] == ["a_k", "a_t"]
    assert table.column_names[-1] == "event_time"


@pytest.mark.parametrize("window", [np.int64(10), np.int32(10), 10.0])
def test_numbers_of_numpy_are_lengths(window):
    table = pa.table({"k": [1, 1], "t": [0, 10]})
    assert sum(b.num_rows for b in tw.join("a.k = b.k", window, "t").over(a=table, b=table)) == 4


def test_lengths_of_numpy_are_lengths():
    seconds = tw.join("a.k = b.k", np.timedelta64(2, "s"), "t")
    text = tw.join("a.k = b.k", "2 seconds", "t")
    assert rows(pa.Table.from_batches(seconds.over(a=A, b=B))) == rows(pa.Table.from_batches(text.over(a=A, b=B)))
