"""Which rows are late, which are set aside, and how far one wrong time goes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, frame, ids, results, rows, run, streaming
from tests.runtime.spark.waiting import wait_until

WINDOW = 5
LATENESS = {"a": 2, "b": 0}
# by micro-batch: the times of both streams, in seconds; None: no time
A: list[list[float | None]] = [[0, 10, 8], [8, 7.999999, 20, None], [9, 12, 3]]
B: list[list[float | None]] = [[1, 9, 10], [10, 9, None, 14, 8], [12, 11.9, 14]]


def by_hand() -> tuple[list[tuple[int, int]], dict[str, list[int]], dict[str, list[int]]]:
    """Results, late rows and rows without time, from the definition."""
    mark = float("-inf")
    kept: dict[str, list[tuple[int, float]]] = {"a": [], "b": []}
    late: dict[str, list[int]] = {"a": [], "b": []}
    no_time: dict[str, list[int]] = {"a": [], "b": []}
    numbers = {"a": 0, "b": 0}
    latest: dict[str, float] = {}
    for both in zip(A, B, strict=True):
        for alias, times in zip("ab", both, strict=True):
            for time in times:
                number, numbers[alias] = numbers[alias], numbers[alias] + 1
                if time is None:
                    no_time[alias].append(number)
                elif time < mark:
                    late[alias].append(number)
                else:
                    kept[alias].append((number, time))
        for alias, times in zip("ab", both, strict=True):
            latest[alias] = max(latest.get(alias, float("-inf")), *(time for time in times if time is not None))
        mark = max(mark, min(latest[alias] - LATENESS[alias] for alias in "ab"))
    joined = sorted((i, j) for i, s in kept["a"] for j, t in kept["b"] if abs(s - t) <= WINDOW)
    return joined, late, no_time


def test_late_rows_and_rows_without_time_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    joined, late, no_time = by_hand()
    # the marks are 8 and 14: 8 and 14 are in time, 7.999999 and 12 are late
    assert late == {"a": [4, 7, 8, 9], "b": [8, 9]}
    assert no_time == {"a": [6], "b": [5]}
    cut = {}
    for alias, times in (("a", A), ("b", B)):
        starts = [sum(map(len, times[:n])) for n in range(len(times))]
        cut[alias] = [rows(each, first_id=first) for each, first in zip(times, starts, strict=True)]
    streams = files(tmp_path, cut)
    join = tw.join(
        on="a.k = b.k", window=f"{WINDOW} seconds", time="ts",
        lateness={alias: f"{seconds} seconds" for alias, seconds in LATENESS.items()},
    )  # fmt: skip
    run(join.tagged(**streaming(spark, streams)), tmp_path)
    out = results(spark, tmp_path)
    lost = out.filter(out["lost"].is_valid())
    assert ids(out.filter(out["lost"].is_null()), "ab") == joined
    said = sorted(zip(lost["lost"].to_pylist(), lost["a_id"].to_pylist(), lost["b_id"].to_pylist(), strict=True))
    assert [row for row in said if row[0] == "a: late"] == [("a: late", i, None) for i in late["a"]]
    assert [row for row in said if row[0] == "a: no time"] == [("a: no time", i, None) for i in no_time["a"]]
    assert [row for row in said if row[0] == "b: late"] == [("b: late", None, i) for i in late["b"]]
    assert [row for row in said if row[0] == "b: no time"] == [("b: no time", None, i) for i in no_time["b"]]
    assert lost.num_rows == 8
    wait_until(lambda: [s.results for s in join.report().sections] == [len(joined)], "all results in the report")
    (section,) = join.report().sections
    told = {
        alias: (stream.stream.rows, stream.stream.late, stream.stream.no_time)
        for alias, stream in section.streams.items()
    }
    assert told == {"a": (10, 4, 1), "b": (11, 2, 1)}


def lost_rows(out: pa.Table) -> list[tuple[Any, ...]]:
    """Reason and numbers of rows; null where a row is not of that stream."""
    names = ("lost", *(name for name in out.column_names if name.endswith("_id")))
    return sorted(zip(*(out[name].to_pylist() for name in names), strict=True), key=repr)


def test_late_rows_alone_are_those_beside_results(spark: SparkSession, tmp_path: Path) -> None:
    _, late, no_time = by_hand()
    cut = {}
    for alias, times in (("a", A), ("b", B)):
        starts = [sum(map(len, times[:n])) for n in range(len(times))]
        cut[alias] = [rows(each, first_id=first) for each, first in zip(times, starts, strict=True)]
    streams = files(tmp_path, cut)
    join = tw.join(
        on="a.k = b.k", window=f"{WINDOW} seconds", time="ts", buckets=3, max_bytes=10_000,
        lateness={alias: f"{seconds} seconds" for alias, seconds in LATENESS.items()},
    )  # fmt: skip
    frames = streaming(spark, streams)
    assert join.late(**frames).columns == join.tagged(**frames).columns
    run(join.late(**frames), tmp_path)
    out = results(spark, tmp_path)
    assert lost_rows(out) == sorted(
        [
            *((f"a: {why}", i, None) for why, each in (("late", late), ("no time", no_time)) for i in each["a"]),
            *((f"b: {why}", None, i) for why, each in (("late", late), ("no time", no_time)) for i in each["b"]),
        ],
        key=repr,
    )
    assert out["event_time"].null_count == out.num_rows
    assert out["a_ts"].null_count == len(out) - out["b_id"].null_count + len(no_time["a"])
    wait_until(lambda: _counted(join, "rows") == {"a": 10, "b": 11}, "all rows in the report")
    assert _counted(join, "late") == {"a": 4, "b": 2}
    assert _counted(join, "window_rows") == _counted(join, "state_chunks") == {"a": 0, "b": 0}  # nothing is held
    # a join that went on with these empty windows would miss results
    for alias, each in streams.items():
        each.add(rows([30], first_id=100 + (alias == "b")))
    with pytest.raises(StreamingQueryException, match="written by another join: it had 'late rows alone'"):
        run(join.tagged(**streaming(spark, streams)), tmp_path)
    # all rows are there, and none is late; here too, where streams are in order
    finished = join.late(**{alias: each.finished(spark) for alias, each in streams.items()}).toArrow()
    in_order = {alias: each.finished(spark).toArrow().sort_by("ts") for alias, each in streams.items()}
    here = list(join.late_over(**in_order))
    assert lost_rows(finished) == [("a: no time", 6, None), ("b: no time", None, 5)]
    assert lost_rows(pa.Table.from_batches(here)) == lost_rows(finished)
    assert pa.Table.from_batches(here).column_names == finished.column_names


def test_a_stream_and_a_table_lose_the_same_rows_as_here(spark: SparkSession, tmp_path: Path) -> None:
    """With one stream, micro-batches are the rounds of this process. The table is not read for late rows."""
    r = random.Random(5)
    batches, number, latest, late, no_time = [], 0, float("-inf"), [], []
    for clock in range(0, 60, 10):
        times = [None if r.random() < 0.1 else clock + r.randint(0, 10) - r.randint(0, 25) for _ in range(12)]
        batches.append(rows(times, [r.randint(0, 3) for _ in times], first_id=number))
        for time in times:
            if time is None:
                no_time.append(number)
            elif time < latest - 4:  # strictly below the watermark at the start of the round
                late.append(number)
            number += 1
        latest = max([latest, *(time for time in times if time is not None)])
    assert len(late) > 10 < len(batches) * 12 - len(late)
    assert no_time
    streams = files(tmp_path, {"a": batches})
    names = pa.table({"k": pa.array([0, 1, 2], pa.int64()), "name": ["zero", "one", "two"]})
    join = tw.join(
        on="a.k = b.k", window={"a": "5 seconds"}, time={"a": "ts"}, lateness={"a": "4 seconds"}, select=["b.name"]
    )
    here = pa.Table.from_batches(list(join.late_over(a=[batch.to_batches()[0] for batch in batches], b=names)))
    expected = sorted([*(("a: late", i) for i in late), *(("a: no time", i) for i in no_time)])
    ticks = {row["id"]: (row["ts"], row["k"]) for batch in batches for row in batch.to_pylist()}
    by_id = {ticks[i]: None for _, i in expected}
    assert sorted(here["lost"].to_pylist()) == [why for why, _ in expected]
    assert {(row["a_ts"], row["a_k"]) for row in here.to_pylist()} == set(by_id)
    unread = frame(spark, names).filter("assert_true(name = 'nobody') IS NULL")
    with pytest.raises(PySparkException, match="is not true"):
        join.tagged(**streaming(spark, streams), b=unread)
    run(join.late(**streaming(spark, streams), b=unread), tmp_path)
    there = results(spark, tmp_path)
    assert there.column_names == here.column_names == ["b_name", "event_time", "a_ts", "a_k", "lost"]
    assert sorted(map(repr, there.to_pylist())) == sorted(map(repr, here.to_pylist()))
    assert there.schema.types == here.schema.types


FAR = 80 * 365 * 86_400


@pytest.mark.parametrize("max_ahead", ["1 day", "1 hour", None])  # the clock's day, its time, and neither
def test_a_row_far_in_the_future_is_joined_and_nobody_follows_it(
    spark: SparkSession, tmp_path: Path, max_ahead: str | None
) -> None:
    """Both streams have one; then `b` is ahead of `a`, which is in order."""
    streams = files(
        tmp_path,
        {
            "a": [rows([0, FAR, 10]), rows([], first_id=3), rows([20, 30], first_id=3)],
            "b": [rows([1, FAR]), rows([28, 30], first_id=2), rows([60], first_id=4)],
        },
    )
    join = tw.join(on="a.k = b.k", window="5 seconds", time="ts", max_ahead=max_ahead)
    run(join(**streaming(spark, streams)), tmp_path)
    followed = max_ahead is None
    joined = [(0, 0), (1, 1)] if followed else [(0, 0), (1, 1), (4, 2), (4, 3)]
    assert ids(results(spark, tmp_path), "ab") == joined
    wait_until(lambda: sum(s.results for s in join.report().sections) == len(joined), "all results in the report")
    wait_until(lambda: _counted(join, "rows") == {"a": 5, "b": 5}, "all rows in the report")
    assert _counted(join, "late") == ({"a": 2, "b": 3} if followed else {"a": 0, "b": 0})
    assert _counted(join, "ahead") == ({"a": 0, "b": 0} if followed else {"a": 1, "b": 1})


@pytest.mark.parametrize("idle_after", ["1 hour", "1 millisecond"])
def test_a_stream_that_stops_is_let_go_only_when_asked(spark: SparkSession, tmp_path: Path, idle_after: str) -> None:
    """`b` has nothing in the second micro-batch, and is late in the third."""
    streams = files(tmp_path, {"a": [rows([0, 1])], "b": [rows([0])]})
    join = tw.join(on="a.k = b.k", window="5 seconds", time="ts", idle_after=idle_after)
    for alias, times in (("a", [[48, 100], []]), ("b", [[], [50]])):
        for n, each in enumerate(times):
            streams[alias].add(rows(each, first_id=2 + 2 * n - (alias == "b")))
    run(join(**streaming(spark, streams)), tmp_path)
    let_go = idle_after == "1 millisecond"
    assert ids(results(spark, tmp_path), "ab") == ([(0, 0), (1, 0)] if let_go else [(0, 0), (1, 0), (2, 3)])
    wait_until(lambda: _counted(join, "rows") == {"a": 4, "b": 2}, "all rows in the report")
    assert _counted(join, "late") == {"a": 0, "b": int(let_go)}
    last = join.report().sections[-1]
    # of seconds 0, 1, 48 and 100 the watermark of 100 leaves one; that of 50, which `b` brings, leaves two
    assert {alias: stream.window.rows for alias, stream in last.streams.items()} == (
        {"a": 1, "b": 0} if let_go else {"a": 2, "b": 1}
    )


def _counted(join: tw.Join, name: str) -> dict[str, int]:
    streams = [section["streams"] for section in join.report().to_dict()["sections"]]
    return {alias: sum(each[alias][name] for each in streams if alias in each) for alias in "ab"}
