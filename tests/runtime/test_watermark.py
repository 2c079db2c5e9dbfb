"""Watermarks: how far event time has advanced, which rows are late, and that exactly the late rows are missing."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.joins.oracle import expected_ids
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.tree_loop import TreeLoop
from thalweg.runtime.watermark import END, Watermarks


def test_a_round_counts_when_it_has_ended() -> None:
    marks = Watermarks({"a": 5, "b": 0})
    marks.seen("a", 100)
    marks.end_round()
    assert (marks.streams, marks.query) == ({"a": 95, "b": None}, None)
    marks.seen("b", 50)
    before = marks.query
    assert before is None
    marks.end_round()
    assert marks.query == 50
    marks.seen("b", 400)
    marks.seen("b", 300)
    assert (marks.query, marks.latest("b")) == (50, 400)
    marks.end_round()
    assert (marks.streams, marks.query) == ({"a": 95, "b": 400}, 95)


def test_an_ended_stream_does_not_hold_the_watermark_back() -> None:
    marks = Watermarks({"a": 5, "b": 7})
    marks.seen("a", 100)
    marks.ended("b")
    marks.end_round()
    assert marks.query == 95
    marks.ended("a")
    marks.end_round()
    assert marks.query == END


TIMES = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=200)
@given(
    lateness=st.dictionaries(st.sampled_from("abc"), st.integers(0, 50), min_size=1),
    rounds=st.lists(st.lists(st.tuples(st.sampled_from("abc"), TIMES), max_size=4), max_size=8),
)
def test_it_is_the_least_of_the_largest_times(lateness: dict[str, int], rounds: list[list[tuple[str, int]]]) -> None:
    marks = Watermarks(lateness)
    times: dict[str, list[int]] = {stream: [] for stream in lateness}
    before = None
    for one in rounds:
        for stream, time in one:
            if stream in lateness:
                marks.seen(stream, time)
                times[stream].append(time)
        marks.end_round()
        complete = all(times.values())
        expected = min(max(t) - lateness[s] for s, t in times.items()) if complete else None
        assert marks.query == (None if expected is None else max(expected, -(2**63)))
        assert before is None or (marks.query is not None and marks.query >= before)
        before = marks.query


ON = "a.k = b.k AND b.k = c.k"
SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("id", pa.int64())])


@pytest.mark.parametrize("tree", [False, True])
@examples(40, long=2_000)
@given(
    seed=st.integers(0, 2**32),
    lateness=st.fixed_dictionaries({alias: st.sampled_from([0, 3, 12]) for alias in "abc"}),
    windows=st.fixed_dictionaries({alias: st.sampled_from([0, 4, 100]) for alias in "abc"}),
    disorder=st.sampled_from([0, 5, 30]),
)
def test_exactly_the_late_rows_are_missing(
    tree: bool, seed: int, lateness: dict[str, int], windows: dict[str, int], disorder: int
) -> None:
    """The late rows are computed here, round by round; DuckDB joins the others."""
    r = random.Random(seed)
    binding = JoinBinding.of(JoinPlan.of(ON, windows, "t", lateness), dict.fromkeys("abc", SCHEMA))
    if tree:
        loop: JoinLoop | TreeLoop = TreeLoop(binding, ("a", ("b", "c")))
    else:
        loop = JoinLoop(binding, JoinOptions("a-greedy"), lambda: 0, np.random.default_rng(seed))
    rows: dict[str, list[tuple[int, int, bool]]] = {alias: [] for alias in "abc"}  # key, time, late
    latest: dict[str, int] = {}
    out: list[pa.RecordBatch] = []
    for clock in range(0, 80, 8):
        mark = min(latest[a] - lateness[a] for a in "abc") if len(latest) == 3 else None
        seen = dict(latest)
        for alias in r.choices("abc", k=4):
            keys = [r.randint(0, 2) for _ in range(r.randint(0, 3))]
            times = [clock + r.randint(0, 8) - r.randint(0, disorder) for _ in keys]
            ids = range(len(rows[alias]), len(rows[alias]) + len(keys))
            rows[alias] += [(k, t, mark is not None and t < mark) for k, t in zip(keys, times, strict=True)]
            if times:
                seen[alias] = max([*times, seen[alias]] if alias in seen else times)
            out += loop.process(
                alias,
                pa.RecordBatch.from_arrays(
                    [pa.array(keys, pa.int64()), pa.array(times, pa.int64()), pa.array(ids, pa.int64())], schema=SCHEMA
                ),
            )
        loop.end_round()
        latest = seen
    for alias in "abc":
        assert loop.counts[alias].stream.rows == len(rows[alias])
        assert loop.counts[alias].stream.late == sum(late for *_, late in rows[alias])
    tables = {a: pa.table({"k": pa.array([k for k, *_ in rows[a]], pa.int64())}) for a in "abc"}
    # a row without a time is in no result of DuckDB's
    ticks = {a: [None if late else t for _, t, late in rows[a]] for a in "abc"}
    found = [tuple(row[name] for name in ("a_id", "b_id", "c_id", "event_time"))
             for batch in out for row in batch.to_pylist()]  # fmt: skip
    assert sorted(found) == expected_ids(tables, ticks, ON, windows)


def test_rows_are_forgotten_after_their_window() -> None:
    binding = JoinBinding.of(JoinPlan.of("a.k = b.k", {"a": 10, "b": 20}, "t", {"a": 5, "b": 0}),
                             dict.fromkeys("ab", SCHEMA))  # fmt: skip
    loop = JoinLoop(binding, JoinOptions("static"), lambda: 0, np.random.default_rng(0))

    def come(alias: str, *times: int) -> None:
        batch = {"k": [1] * len(times), "t": list(times), "id": [0] * len(times)}
        list(loop.process(alias, pa.RecordBatch.from_pydict(batch, schema=SCHEMA)))
        loop.end_round()

    come("a", 100, 101)
    come("b", 100, 101)
    assert loop.watermarks.query == 96
    come("b", 300)
    assert {alias: len(store) for alias, store in loop.stores.items()} == {"a": 2, "b": 3}
    come("a", 116)  # the watermark is 111: the row of 100 ended at 110, that of 101 ends now
    assert {alias: len(store) for alias, store in loop.stores.items()} == {"a": 2, "b": 3}
    come("a", 127)  # 122: 101 of b ended at 121
    assert {alias: len(store) for alias, store in loop.stores.items()} == {"a": 2, "b": 1}
    assert {alias: counts.window.expired for alias, counts in loop.counts.items()} == {"a": 2, "b": 2}
