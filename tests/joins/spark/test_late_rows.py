"""Which rows are late, which are set aside, and how far one wrong time goes."""

from __future__ import annotations

from pathlib import Path

import pytest

import thalweg as tw
from tests.joins.spark.streams import files, ids, results, rows, run, streaming
from tests.runtime.spark.waiting import wait_until

WINDOW = 5
LATENESS = {"a": 2, "b": 0}
# by micro-batch: the times of both streams, in seconds; None: no time
A = [[0, 10, 8], [8, 7.999999, 20, None], [9, 12, 3]]
B = [[1, 9, 10], [10, 9, None, 14, 8], [12, 11.9, 14]]


def by_hand() -> tuple[list[tuple[int, int]], dict[str, list[int]], dict[str, list[int]]]:
    """Results, late rows and rows without time, from the definition."""
    mark, kept, late, no_time = float("-inf"), {"a": [], "b": []}, {"a": [], "b": []}, {"a": [], "b": []}
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


def test_late_rows_and_rows_without_time_are_counted_and_set_aside(spark, tmp_path: Path):
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
    told = {alias: (stream.rows, stream.late, stream.no_time) for alias, stream in section.streams.items()}
    assert told == {"a": (10, 4, 1), "b": (11, 2, 1)}


FAR = 80 * 365 * 86_400


@pytest.mark.parametrize("max_ahead", ["1 day", "1 hour", None])  # the clock's day, its time, and neither
def test_a_row_far_in_the_future_is_joined_and_nobody_follows_it(spark, tmp_path: Path, max_ahead: str | None):
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
def test_a_stream_that_stops_is_let_go_only_when_asked(spark, tmp_path: Path, idle_after: str):
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
    assert {alias: stream.window_rows for alias, stream in last.streams.items()} == (
        {"a": 1, "b": 0} if let_go else {"a": 2, "b": 1}
    )


def _counted(join: tw.Join, name: str) -> dict[str, int]:
    sections = join.report().sections
    return {alias: sum(getattr(s.streams[alias], name) for s in sections if alias in s.streams) for alias in "ab"}
