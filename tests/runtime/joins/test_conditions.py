"""Further conditions of `on`: their meaning, compared with DuckDB, and when they are applied."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.oracle import expected, rows
from thalweg.kernels import keyed_hash

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
def test_they_mean_what_they_mean_in_sql(condition: str) -> None:
    on = f"a.k = b.k AND {condition}"
    join = tw.join(on=on, window="1 minute", time="t")
    found = pa.Table.from_batches(join.over(a=A, b=B))
    minute = 60 * 10**6
    wanted = expected({"a": A, "b": B}, on, {"a": minute, "b": minute})
    assert rows(found) == rows(wanted)
    assert 0 < found.num_rows < 30, "a condition that says something"


def test_small_whole_numbers_do_not_overflow() -> None:
    """DuckDB would refuse 0 - 201 of type uint8."""
    table = pa.Table.from_batches(tw.join("a.k = b.k AND a.u - 201 < b.k", "1 minute", "t").over(a=A, b=B))
    assert sorted(table["a_u"].to_pylist()) == sorted([0, 1, 2, 200] * B.num_rows)


def test_a_condition_on_one_stream_is_applied_before_storing() -> None:
    hot = pa.table({"k": [1] * 2_000, "t": np.arange(2_000), "x": np.arange(2_000)})
    join = tw.join(on="a.k = b.k AND a.x < 3", window=5_000, time="t", max_matches=3)
    assert sum(batch.num_rows for batch in join.over(a=hot, b=hot)) == 3 * 2_000
    streams = join.report().sections[0].streams
    assert (streams["a"].stream.filtered, streams["a"].window.most_rows, streams["b"].stream.filtered) == (1_997, 3, 0)
    assert "a: 1,997 rows dropped by a condition on this stream" in str(join.report())


def test_values_that_cannot_be_compared_are_reported_early() -> None:
    with pytest.raises(tw.PlanError, match=r"a\.i is int64, b\.s is string"):
        tw.join(on="a.k = b.k AND a.i < b.s", window="1 minute", time="t").over(a=A, b=A)  # not even asked for a batch


def test_a_join_can_be_copied_and_pickled() -> None:
    join = tw.join(on="a.k = b.k AND a.p > 0.15", window="1 minute", time="t", policy="static")
    for other in (copy.deepcopy(join), pickle.loads(pickle.dumps(join))):
        assert rows(pa.Table.from_batches(other.over(a=A, b=B))) == rows(pa.Table.from_batches(join.over(a=A, b=B)))


def test_a_join_without_results_still_has_its_columns() -> None:
    join = tw.join(on="a.k = b.k AND a.i > 100000000000000000", window="1 minute", time="t")
    table = pa.Table.from_batches(join.over(a=A, b=B))
    assert table.num_rows == 0
    assert table.column_names[:2] == ["a_k", "a_t"]
    assert table.column_names[-1] == "event_time"


@pytest.mark.parametrize("window", [np.int64(10), np.int32(10), 10.0])
def test_numbers_of_numpy_are_lengths(window: Any) -> None:
    table = pa.table({"k": [1, 1], "t": [0, 10]})
    assert sum(b.num_rows for b in tw.join("a.k = b.k", window, "t").over(a=table, b=table)) == 4


def test_lengths_of_numpy_are_lengths() -> None:
    length: Any = np.timedelta64(2, "s")
    seconds = tw.join("a.k = b.k", length, "t")
    text = tw.join("a.k = b.k", "2 seconds", "t")
    assert rows(pa.Table.from_batches(seconds.over(a=A, b=B))) == rows(pa.Table.from_batches(text.over(a=A, b=B)))


REALS = [float("nan"), -float("nan"), 0.0, -0.0, 1.5, -1.5, float("inf"), -float("inf"), 5e-324, None]
X = pa.table({"k": [1] * len(REALS), "t": range(len(REALS)), "x": REALS, "f": pa.array(REALS, pa.float32())})


@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    "operands", [("a.x", "b.x"), ("a.f", "b.x"), ("a.x", "b.f + 0e0"), ("a.x", "1.5e0"), ("a.f", "b.f")]
)
def test_nan_and_zero_compare_as_in_sql(sign: str, operands: tuple[str, str]) -> None:
    """NaN equals NaN and is greater than everything, and zero has no sign."""
    one, other = operands
    condition = f"{one} {sign} {other}" if sign != "=" else f"NOT {one} <> {other}"
    found = pa.Table.from_batches(tw.join(f"a.k = b.k AND {condition}", 100, "t").over(a=X, b=X))
    wanted = expected({"a": X, "b": X}, f"a.k = b.k AND {condition}", {"a": 100, "b": 100})
    assert rows(found) == rows(wanted)
    assert found.num_rows > 0


@pytest.mark.parametrize(
    "condition", ["a.x BETWEEN b.x AND 1e308", "a.x IN (b.x, 1.5e0)", "NOT (a.x > b.x)", "-a.x = b.x + 0e0"]
)
def test_nan_in_other_conditions(condition: str) -> None:
    found = pa.Table.from_batches(tw.join(f"a.k = b.k AND {condition}", 100, "t").over(a=X, b=X))
    wanted = expected({"a": X, "b": X}, f"a.k = b.k AND {condition}", {"a": 100, "b": 100})
    assert rows(found) == rows(wanted)


def test_doubles_are_compared_next_to_another_equality() -> None:
    """As the error for doubles as keys says."""
    with pytest.raises(tw.PlanError, match=r"a\.x is double, which cannot be a join key.*CAST\(a\.x AS DOUBLE\) = "):
        tw.join("a.k = b.k AND a.x = b.x", 100, "t").over(a=X, b=X)
    found = pa.Table.from_batches(tw.join("a.k = b.k AND CAST(a.x AS DOUBLE) = b.x", 100, "t").over(a=X, b=X))
    wanted = expected({"a": X, "b": X}, "a.k = b.k AND a.x = b.x", {"a": 100, "b": 100})
    assert rows(found) == rows(wanted)
    assert found.num_rows > 0


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize(
    "literal",
    [
        "'2024-02-29 00:00:03'",
        "TIMESTAMP '2024-02-29 00:00:03'",
        "TIMESTAMP_NTZ '2024-02-29 00:00:03'",
        "DATE '2024-02-29'",
    ],
)
def test_a_literal_without_a_zone_is_of_utc(zone: str | None, literal: str) -> None:
    """As in `s.query`; a literal that is explicitly with or without a zone is compared with such columns."""
    made = A.set_column(1, "t", A["t"].cast(pa.timestamp("us", zone)))
    join = tw.join(on=f"a.k = b.k AND a.t >= {literal}", window="1 minute", time="t")
    if ("_NTZ" in literal and zone is not None) or ("TIMESTAMP '" in literal and zone is None):
        with pytest.raises(tw.PlanError, match="write the time as plain text"):
            join.over(a=made, b=made)
        return
    found = pa.Table.from_batches(join.over(a=made, b=made))
    text = literal.replace("TIMESTAMP_NTZ", "TIMESTAMP")
    wanted = expected({"a": A, "b": A}, f"a.k = b.k AND a.t >= {text}", {"a": 60 * 10**6, "b": 60 * 10**6})
    assert found.num_rows == wanted.num_rows > 0
    assert sorted(found["a_t"].cast(pa.int64()).to_pylist()) == sorted(wanted["a_t"].cast(pa.int64()).to_pylist())


@pytest.mark.parametrize(
    "condition",
    [
        "a.i * 10000000000000000 > b.k",
        "a.i * 10000000000000000 > 5",
        "-(a.i - 9223372036854775807) > b.k - 9223372036854775807 - 5",
    ],
)
def test_a_row_that_overflows_is_no_mistake_of_the_plan(condition: str) -> None:
    join = tw.join(on=f"a.k = b.k AND {condition}", window="1 minute", time="t")
    with pytest.raises(tw.ExpressionError, match=r"on=: .*overflow") as caught:
        list(join.over(a=A, b=B))
    assert not isinstance(caught.value, tw.PlanError)


def test_text_that_is_no_number_is_an_error_of_its_row() -> None:
    join = tw.join(on="a.k = b.k AND CAST(a.s AS INT) > b.k", window="1 minute", time="t")
    with pytest.raises(tw.ExpressionError, match="on=: "):
        list(join.over(a=A, b=B))


def test_no_condition_raises_on_rows_that_one_before_it_drops() -> None:
    on = "a.k = b.k AND a.i < b.k + 100 AND a.i * 10000000000000000 < b.k"
    found = pa.Table.from_batches(tw.join(on=on, window="1 minute", time="t").over(a=A, b=B))
    wanted = expected({"a": A, "b": B}, "a.k = b.k AND a.i < b.k + 100 AND a.i::HUGEINT * 10000000000000000 < b.k",
                      {"a": 60 * 10**6, "b": 60 * 10**6})  # fmt: skip
    assert rows(found) == rows(wanted)
    assert found.num_rows > 0


@pytest.mark.parametrize("guard", ["", "a.n > b.n AND ", "a.n > 1 AND "])
def test_a_condition_on_one_stream_waits_for_what_is_before_it(guard: str) -> None:
    """It would raise on a row without a partner, on one that a condition with another stream drops, and so on."""
    a = pa.table({"k": [1, 2, 3], "n": [9, 0, 9], "s": ["5", "x", "y"], "t": [1, 1, 1]})
    b = pa.table({"k": [1, 2] if guard else [1], "n": [3] * (2 if guard else 1), "t": [1] * (2 if guard else 1)})
    join = tw.join(on=f"a.k = b.k AND {guard}CAST(a.s AS INT) > 1", window=10, time="t", select=["a.k"])
    assert [row["a_k"] for batch in join.over(a=a, b=b) for row in batch.to_pylist()] == [1]


def test_no_condition_raises_on_rows_whose_keys_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_hash, "hash_texts", lambda offsets, data, one, other, out: out.fill(0))
    a = pa.table({"k": ["x", "y"], "t": [1, 1], "v": [1, 2**62]})
    b = pa.table({"k": ["x", "z"], "t": [1, 1], "v": [5, 5]})
    found = pa.Table.from_batches(tw.join("a.k = b.k AND a.v * b.v > 0", 10, "t").over(a=a, b=b))
    assert found["a_v"].to_pylist() == [1]


def test_relations_of_one_connection_of_duckdb() -> None:
    """It has one open result at a time, and a join reads its streams alternately."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE TABLE one AS SELECT range AS k, range AS t FROM range(30000)")
    connection.execute("CREATE TABLE other AS SELECT range * 2 AS k, range * 2 AS t FROM range(30000)")
    join = tw.join("a.k = b.k", 10, "t")
    seen = 0
    for batch in join.over(a=connection.table("one"), b=connection.sql("SELECT * FROM other")):
        seen += batch.num_rows
        connection.execute("SELECT 1").fetchall()  # who takes results may use it too
    assert [(seen,)] == connection.execute("SELECT count(*) FROM one JOIN other USING (k)").fetchall()
    relation = connection.table("one")
    assert sum(batch.num_rows for batch in join.over(a=relation, b=relation)) == 30_000
    users = tw.join("a.k = u.k", {"a": 10}, "t").over(a=relation, u=connection.table("other"))
    assert sum(batch.num_rows for batch in users) == seen


def test_relations_of_one_connection_in_a_query() -> None:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute(
        "CREATE TABLE one AS SELECT range AS k, TIMESTAMP '2024-01-01' + INTERVAL (range) SECOND AS ts FROM range(5000)"
    )
    session = tw.session()
    session.stream("one", connection.table("one"), time="ts")
    session.stream("other", connection.sql("SELECT k AS m, ts FROM one WHERE k % 2 = 0"), time="ts")
    query = session.query("SELECT k FROM one [RANGE 10 SECONDS] JOIN other [RANGE 10 SECONDS] ON k = m")
    assert query.dataframe().num_rows == 2500
