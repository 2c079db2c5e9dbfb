"""Late rows in this process, against the definition: a row is late when its time is strictly below the query's
watermark at the start of its round. The same rows are late in an aggregate, after a join, and wherever conditions are
tried."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from thalweg.runtime.local.rounds import ROUND_ROWS

DAY = datetime(2026, 1, 1)
Cut = list[list[int]]
"""The times of a stream, in seconds, by batch."""


def batches(cut: Cut, first_id: int = 0) -> list[pa.RecordBatch]:
    made, n = [], first_id
    for times in cut:
        stamps = pa.array([DAY + timedelta(seconds=s) for s in times], pa.timestamp("us"))
        made.append(pa.record_batch({"ts": stamps, "id": pa.array(range(n, n + len(times)), pa.int64())}))
        made[-1] = made[-1].append_column("k", pa.array([1] * len(times), pa.int64()))
        n += len(times)
    return made


def in_time(cut: Cut, lateness: int) -> list[tuple[int, int]]:
    """Times and ids of the rows of one stream that are not late, row by row."""
    kept: list[tuple[int, int]] = []
    latest: int | None = None
    n = 0
    for times in cut:
        watermark = None if latest is None else latest - lateness
        for time in times:
            if watermark is None or time >= watermark:
                kept.append((time, n))
            latest = time if latest is None else max(latest, time)
            n += 1
    return kept


def counted(rows: list[tuple[int, int]], length: int) -> list[tuple[int, int, int]]:
    windows: dict[int, list[int]] = {}
    for time, number in rows:
        windows.setdefault(time // length * length, []).append(number)
    return sorted((start, len(ids), sum(ids)) for start, ids in windows.items())


def answer(s: tw.Session, text: str) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = s.query(text).dataframe().to_pylist()
    seconds = [{**row, "w": int((row["w"] - DAY).total_seconds())} if "w" in row else row for row in found]
    return sorted(tuple(row.values()) for row in seconds)


def session(streams: dict[str, Cut], lateness: int) -> tw.Session:
    s = tw.session()
    for n, (name, cut) in enumerate(streams.items()):
        s.stream(name, batches(cut, 1000 * n), time="ts", lateness=f"{lateness} seconds")
    s.table("u", pa.table({"key": pa.array([1], pa.int64())}))
    s.function("ok", lambda number: number % 3 != 0, "boolean", safe=True)
    s.function("risky", lambda number: number % 3 != 0, "boolean")
    return s


@st.composite
def cuts(draw: st.DrawFn, step: int = 1, first: int = 0) -> Cut:
    lists = st.lists(st.integers(0, 40), min_size=1, max_size=5)
    return [[first + step * time for time in times] for times in draw(st.lists(lists, min_size=1, max_size=8))]


WINDOWS = "window_start AS w, count(*) AS n, sum(a.id) AS ids"


def test_a_row_below_the_watermark_of_the_batch_before_is_late() -> None:
    s = session({"a": [[0], [100], [5], [200]]}, 0)
    expected = [(0, 1, 0), (100, 1, 1), (200, 1, 3)]
    assert answer(s, f"SELECT {WINDOWS} FROM a [RANGE 10 SECONDS]") == expected
    assert answer(s, f"SELECT {WINDOWS} FROM a, u WHERE a.k = u.key GROUP BY TUMBLE(10 SECONDS)") == expected


@pytest.mark.parametrize("source", ["", ", u"])
def test_a_table_in_one_batch_is_read_in_rounds(source: str) -> None:
    """Also where a condition drops most rows of a round: rounds are those of the stream."""
    table = pa.Table.from_batches(batches([[100] * ROUND_ROWS + [5, 200]]))
    s = tw.session()
    s.stream("a", table, time="ts")
    s.table("u", pa.table({"key": pa.array([1], pa.int64())}))
    joined = " AND a.k = u.key" if source else ""
    text = f"SELECT {WINDOWS} FROM a{source} WHERE a.id > {ROUND_ROWS - 2}{joined} GROUP BY TUMBLE(10 SECONDS)"
    assert answer(s, text) == [(100, 1, ROUND_ROWS - 1), (200, 1, ROUND_ROWS + 1)]
    with pytest.warns(UserWarning, match=r"1 of 3 rows"):
        s.query(text).dataframe()


@settings(max_examples=30, deadline=None)
@given(cut=cuts(), lateness=st.sampled_from([0, 1, 7, 30, 50]), length=st.sampled_from([1, 10, 25]))
def test_late_rows_are_those_of_the_definition(cut: Cut, lateness: int, length: int) -> None:
    s = session({"a": cut}, lateness)
    kept = in_time(cut, lateness)
    passing = [(time, number) for time, number in kept if number % 3]
    joined = f"SELECT {WINDOWS} FROM a, u WHERE a.k = u.key"
    window = f"GROUP BY TUMBLE({length} SECONDS)"
    assert answer(s, f"SELECT {WINDOWS} FROM a {window}") == counted(kept, length)
    assert answer(s, f"{joined} {window}") == counted(kept, length)
    for condition in ("ok", "risky"):
        alone = f"SELECT {WINDOWS} FROM a WHERE {condition}(a.id) {window}"
        assert answer(s, alone) == counted(passing, length)
        assert answer(s, f"{joined} AND {condition}(a.id) {window}") == counted(passing, length)


def joined_in_time(streams: dict[str, Cut], lateness: int) -> dict[str, list[tuple[int, int]]]:
    """By stream, the rows that are not late where the stream whose next batch begins earliest is read next."""
    left = {name: list(cut) for name, cut in streams.items()}
    latest: dict[str, float] = {}
    numbers = {name: 1000 * n for n, name in enumerate(streams)}
    kept: dict[str, list[tuple[int, int]]] = {name: [] for name in streams}
    watermark = float("-inf")
    while any(left.values()):
        name = min((name for name in left if left[name]), key=lambda name: min(left[name][0]))
        times = left[name].pop(0)
        for time in times:
            if time >= watermark:
                kept[name].append((time, numbers[name]))
            numbers[name] += 1
        latest[name] = max([latest.get(name, float("-inf")), *times])
        if not left[name]:
            latest[name] = float("inf")
        if len(latest) == len(streams):
            watermark = max(watermark, min(latest.values()) - lateness)
    return kept


@settings(max_examples=30, deadline=None)
@given(a=cuts(2), b=cuts(2, 1), lateness=st.sampled_from([0, 3, 20]), window=st.sampled_from([0, 5, 30]))
def test_rows_late_for_a_join_do_not_depend_on_where_a_filter_is(a: Cut, b: Cut, lateness: int, window: int) -> None:
    """Times of the two streams are never equal."""
    s = session({"a": a, "b": b}, lateness)
    kept = joined_in_time({"a": a, "b": b}, lateness)
    pairs = [
        (max(one, other), number, 1)
        for one, number in kept["a"]
        for other, _ in kept["b"]
        if abs(one - other) <= window and number % 3
    ]
    groups = counted([(time, number) for time, number, _ in pairs], 10)
    for condition in ("ok", "risky"):
        streams = f"FROM a [RANGE {window} SECONDS], b [RANGE {window} SECONDS]"
        where = f"WHERE a.k = b.k AND {condition}(a.id)"
        found = Counter(row for (row,) in answer(s, f"SELECT a.id AS id {streams} {where}"))
        assert found == Counter(number for _, number, _ in pairs)
        assert answer(s, f"SELECT {WINDOWS} {streams} {where} GROUP BY TUMBLE(10 SECONDS)") == groups


# q.late(): the rows themselves


def lost(s: tw.Session, text: str) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = s.query(text).late()
    return sorted(
        (next(row[name] for name in ("id", "a_id", "b_id") if row.get(name) is not None), row["lost"])
        for row in found.to_pylist()
    )


@settings(max_examples=30, deadline=None)
@given(cut=cuts(), lateness=st.sampled_from([0, 1, 7, 30]))
def test_late_rows_of_groups_can_be_asked_for(cut: Cut, lateness: int) -> None:
    s = session({"a": cut}, lateness)
    kept = {number for _, number in in_time(cut, lateness)}
    late = [n for n in range(sum(map(len, cut))) if n not in kept]
    window = "GROUP BY TUMBLE(10 SECONDS)"
    assert lost(s, f"SELECT {WINDOWS} FROM a {window}") == [(n, "a: late") for n in late]
    passing = [(n, "a: late") for n in late if n % 3]
    assert lost(s, f"SELECT {WINDOWS} FROM a WHERE risky(a.id) {window}") == passing
    assert lost(s, f"SELECT {WINDOWS} FROM a, u WHERE a.k = u.key AND risky(a.id) {window}") == passing
    assert lost(s, "SELECT id FROM a") == [], "no rows of it are kept"
    assert lost(s, "SELECT a.id FROM a, u WHERE a.k = u.key") == []


@settings(max_examples=30, deadline=None)
@given(a=cuts(2), b=cuts(2, 1), lateness=st.sampled_from([0, 3, 20]))
def test_late_rows_of_joins_can_be_asked_for(a: Cut, b: Cut, lateness: int) -> None:
    s = session({"a": a, "b": b}, lateness)
    kept = joined_in_time({"a": a, "b": b}, lateness)
    numbers = {"a": range(sum(map(len, a))), "b": range(1000, 1000 + sum(map(len, b)))}
    late = {name: set(numbers[name]) - {number for _, number in kept[name]} for name in kept}
    expected = sorted((number, f"{name}: late") for name in late for number in late[name] if name == "b" or number % 3)
    streams = "FROM a [RANGE 5 SECONDS], b [RANGE 9 SECONDS] WHERE a.k = b.k AND risky(a.id)"
    assert lost(s, f"SELECT a.id, b.id AS other {streams}") == expected
    assert lost(s, f"SELECT {WINDOWS} {streams} GROUP BY TUMBLE(10 SECONDS)") == expected


@settings(max_examples=30, deadline=None)
@given(a=cuts(2), b=cuts(2, 1), lateness=st.sampled_from([0, 3, 20]))
def test_late_rows_of_windows_of_rows_can_be_asked_for(a: Cut, b: Cut, lateness: int) -> None:
    """A row below the watermark of its own stream has no place among the last rows; of these some are late for the
    join besides."""
    s = session({"a": a, "b": b}, lateness)
    late = set(range(sum(map(len, a)))) - {number for _, number in in_time(a, lateness)}
    found = lost(s, "SELECT a.id FROM a [ROWS 2], b [RANGE 9 SECONDS] WHERE a.k = b.k")
    assert late <= {number for number, why in found if why == "a: late"}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        query = s.query("SELECT a.id FROM a [ROWS 2], b [RANGE 9 SECONDS] WHERE a.k = b.k")
        query.dataframe()
    assert query.report().left_out.get("a", 0) == len(late)


def test_rows_without_a_time_are_lost_too() -> None:
    stamps = pa.array([DAY, None, DAY + timedelta(seconds=1)], pa.timestamp("us"))
    s = tw.session()
    s.stream("a", pa.table({"ts": stamps, "id": [0, 1, 2], "k": [1, 1, 1]}), time="ts")
    s.stream("b", pa.table({"ts": stamps, "id": [7, 8, 9], "k": [1, 1, 1]}), time="ts")
    assert lost(s, "SELECT count(*) AS n FROM a GROUP BY TUMBLE(1 MINUTE)") == [(1, "a: no time")]
    found = s.query("SELECT a.id FROM a, b WHERE a.k = b.k WINDOW 1 MINUTE").late()
    assert found.column_names == ["a_ts", "a_id", "a_k", "b_ts", "b_id", "b_k", "lost"]
    assert [(row["a_id"], row["b_k"], row["lost"]) for row in found.to_pylist()] == [
        (1, None, "a: no time"), (None, 1, "b: no time"),
    ]  # fmt: skip


def test_rows_without_a_time_are_not_joined_with_tables() -> None:
    """One stream with tables needs no window, but its rows need a time, as in any join."""
    stamps = pa.array([DAY, None, DAY - timedelta(seconds=1), None], pa.timestamp("us"))
    s = tw.session()
    s.stream("a", pa.table({"ts": stamps, "id": [0, 1, 2, 3], "k": [1, 1, 1, 5]}), time="ts")
    s.table("u", pa.table({"key": [1], "name": ["x"]}))
    s.function("risky", lambda number: 1 / (number - 1) < 2, returns="boolean")
    query = s.query("SELECT a.id, u.name FROM a, u WHERE a.k = u.key")
    assert query.dataframe().to_pydict() == {"id": [0, 2], "name": ["x", "x"]}
    assert "a: 2 rows without a time, not joined" in str(query.report())
    assert lost(s, "SELECT a.id FROM a, u WHERE a.k = u.key") == [(1, "a: no time"), (3, "a: no time")]
    # a condition that raises on a row that is not joined fails no query, and sets nothing aside
    raising = s.query("SELECT a.id FROM a, u WHERE a.k = u.key AND risky(a.id)", on_error="dead-letter")
    assert raising.dataframe()["id"].to_pylist() == [0, 2]
    assert raising.failed().num_rows == 0
    assert s.query("SELECT a.id FROM a, u WHERE a.k = u.key AND risky(a.id)").dataframe().num_rows == 2
    assert s.query("SELECT id FROM a").dataframe().num_rows == 4, "without a join, no row needs a time"


def test_a_column_named_lost_is_refused() -> None:
    s = tw.session()
    s.stream("a", pa.table({"ts": [DAY], "lost": [1]}), time="ts")
    with pytest.raises(tw.PlanError, match=r"a stream has a column 'lost'"):
        s.query("SELECT max(lost) AS m FROM a GROUP BY TUMBLE(1 MINUTE)").late()
