"""Windows of rows in this process, against DuckDB: the last n by event time, ties by arrival."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from thalweg.report import JoinSection

DAY = datetime(2026, 1, 1)


def stream(seconds: list[int], keys: list[int]) -> pa.Table:
    times = pa.array([DAY + timedelta(seconds=s) for s in seconds], pa.timestamp("us"))
    return pa.table({"ts": times, "k": pa.array(keys, pa.int64()), "id": pa.array(range(len(keys)), pa.int64())})


@st.composite
def streams(draw: st.DrawFn, lateness: int) -> pa.Table:
    """Out of order by at most the lateness."""
    count = draw(st.integers(0, 30))
    true = sorted(draw(st.lists(st.integers(0, 20), min_size=count, max_size=count)))
    arrives = sorted(range(count), key=lambda n: true[n] + draw(st.integers(0, lateness)) / (lateness + 1) * lateness)
    keys = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    return stream([true[n] for n in arrives], keys)


ORACLE = """
WITH ranked AS (SELECT *, lead(ts, {n}) OVER (ORDER BY ts, id) AS until FROM a)
SELECT a.id AS a, b.id AS b FROM ranked AS a, b
WHERE a.k = b.k AND greatest(a.ts, b.ts) - b.ts <= INTERVAL {window} SECOND
  AND (a.until IS NULL OR greatest(a.ts, b.ts) < a.until)
ORDER BY ALL
"""


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 6), window=st.integers(0, 8), lateness=st.integers(0, 3), cut=st.integers(1, 9))
def test_the_last_rows_are_those_duckdb_counts(
    data: st.DataObject, n: int, window: int, lateness: int, cut: int
) -> None:
    a, b = data.draw(streams(lateness)), data.draw(streams(lateness))
    s = tw.session()
    for name, table in (("a", a), ("b", b)):
        batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=cut))
        s.stream(name, batches, time="ts", lateness=f"{lateness} seconds")
    text = f"SELECT a.id AS a, b.id AS b FROM a [ROWS {n}], b [RANGE {window} SECONDS] WHERE a.k = b.k"
    found = sorted((row["a"], row["b"]) for row in s.query(text).dataframe().to_pylist())
    oracle = duckdb.sql(ORACLE.format(n=n, window=window))
    assert oracle is not None
    assert found == oracle.fetchall()


def test_filters_come_behind_the_window() -> None:
    """The last row is the last of the stream, whether it passes or not."""
    s = tw.session()
    s.stream("a", stream([1, 2, 3], [7, 7, 7]), time="ts")
    s.stream("b", stream([5], [7]), time="ts")
    kept = "SELECT a.id AS a FROM a [ROWS 2], b [RANGE 1 SECOND] WHERE a.k = b.k AND a.id < 2"
    assert s.query(kept).dataframe().to_pylist() == [{"a": 1}]


def test_rows_that_are_not_among_the_last_are_forgotten() -> None:
    """Every key repeats in all rows: a join that kept them would hold ten thousand."""
    s = tw.session()
    rows = 10_000
    a, b = (stream(list(range(rows)), [7] * rows) for _ in "ab")
    for name, table in (("a", a), ("b", b)):
        s.stream(name, table.to_batches(max_chunksize=100), time="ts")
    q = s.query("SELECT a.id AS a, b.id AS b FROM a [ROWS 3], b [NOW] WHERE a.k = b.k")
    found = q.dataframe()
    assert found.num_rows == 3 * rows - 3  # with the last three at its time; the first two find fewer
    (section,) = next(report for name, report in q.report().parts if name == "join").sections
    assert isinstance(section, JoinSection)
    assert section.streams["a"].window.most_rows <= 400  # a batch or two, and how much later the other stream is read
    assert section.streams["a"].matches.looked + section.streams["b"].matches.looked < 200 * rows  # of a batch or two


def test_rows_that_are_too_late_are_told() -> None:
    s = tw.session()
    batches = [batch for table in (stream([1, 9, 10], [7] * 3), stream([2], [7])) for batch in table.to_batches()]
    s.stream("a", batches, time="ts")
    s.stream("b", stream([10], [7]), time="ts")
    with pytest.warns(UserWarning, match=r"1 of 4 rows of a came later than the lateness of a"):
        s.query("SELECT a.id AS a FROM a [ROWS 1], b [NOW] WHERE a.k = b.k").dataframe()
