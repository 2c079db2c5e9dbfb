"""Conditions before and after the join: the same rows, the same failed rows, and few calls of expensive functions."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.long_run import examples
from tests.session.corpus_query import assert_same, by_duckdb, cut
from tests.session.raising_queries import RaisingQuery, raising_query
from tests.session.random_queries import TABLE, RandomQuery, queries
from tests.session.test_raising_functions import failures, registered, results
from thalweg.plan.expressions.expression import text_of
from thalweg.plan.query.query_plan import FilterPlaces, QueryPlan

SEEDS = st.integers(0, 2**32)


def place(asked: tw.ContinuousQuery, places: FilterPlaces) -> QueryPlan:
    """Let the query run with its conditions in these places."""
    policy = asked.plan.policy
    asked._plans[policy] = asked._placed(asked._settings(), places)
    return asked.plan


def anywhere(asked: tw.ContinuousQuery, r: random.Random) -> FilterPlaces:
    """Some before the join, the others after it."""
    scans = asked._placed(asked._settings(), "before").scans
    return {s.alias: tuple(text_of(c.expression) for c in s.conditions if r.random() < 0.5) for s in scans}


def is_placed_after(asked: tw.ContinuousQuery) -> bool:
    return bool(asked._placed(asked._settings(), "after").conditions)


# the same rows


def with_functions(query: RandomQuery) -> tuple[str, str]:
    """The query with two further conditions, on one or two sources: ours and DuckDB's."""
    other = "b" if re.search(r"\bAS b\b", query.ours) else "a"
    ours = query.ours.replace(" WHERE ", f" WHERE is_odd(a.j) AND is_small({other}.n) AND ", 1)
    theirs = query.duckdb.replace(" WHERE ", f" WHERE a.j % 2 = 1 AND {other}.n < 3 AND ", 1)
    return ours, theirs


@examples(40, long=2_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(query=queries(), seed=SEEDS)
def test_any_places_give_the_rows_of_duckdb(query: RandomQuery, seed: int) -> None:
    assume(query.ours.count(" WHERE ") == query.duckdb.count(" WHERE ") == 1)
    ours, theirs = with_functions(query)
    session = tw.session()
    for name, table in query.streams.items():
        batches = [b for piece in cut(table, query.pieces, name) for b in piece.combine_chunks().to_batches()]
        session.stream(name, batches or table, time="ts", lateness=f"{query.lateness_us} microseconds")
    session.table(TABLE, query.table)
    session.function("is_odd", lambda j: j % 2 == 1, returns="boolean")
    session.function("is_small", lambda n: None if n is None else n < 3, returns="boolean", safe=True)
    asked = session.query(ours)
    assume(is_placed_after(asked))
    expected = by_duckdb(theirs, {**query.streams, TABLE: query.table})
    for places in ("before", "after", anywhere(asked, random.Random(seed))):
        place(asked, places)
        assert_same(asked.dataframe(), expected, asked.schema)


@examples(20, long=1_000)
@given(seed=SEEDS, count=st.integers(1, 5))
def test_windows_of_rows_hold_the_same_rows(seed: int, count: int) -> None:
    """The last rows of a stream are counted before any condition, as DuckDB counts them here."""
    r = random.Random(seed)
    day = datetime(2026, 1, 1)
    a, b = (
        pa.table({
            "ts": pa.array([day + timedelta(seconds=s) for s in sorted(r.randrange(20) for _ in range(25))]),
            "k": [r.randrange(3) for _ in range(25)],
            "id": range(25),
        })
        for _ in "ab"
    )  # fmt: skip
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    s.function("is_odd", lambda number: number % 2 == 1, returns="boolean")
    text = f"SELECT a.id AS a, b.id AS b FROM a [ROWS {count}], b [RANGE 4 SECONDS] WHERE a.k = b.k AND is_odd(a.id)"
    asked = s.query(text)
    oracle = f"""
        WITH ranked AS (SELECT *, lead(ts, {count}) OVER (ORDER BY ts, id) AS until FROM a)
        SELECT a.id AS a, b.id AS b FROM ranked AS a, b
        WHERE a.k = b.k AND a.id % 2 = 1 AND greatest(a.ts, b.ts) - b.ts <= INTERVAL 4 SECOND
          AND (a.until IS NULL OR greatest(a.ts, b.ts) < a.until)"""
    for places in ("before", "after"):
        assert bool(place(asked, places).conditions) == (places == "after")
        assert_same(asked.dataframe(), by_duckdb(oracle, {"a": a, "b": b}), asked.schema)


def test_the_same_rows_are_late() -> None:
    def rows(seconds: list[int], first: int) -> pa.RecordBatch:
        times = pa.array([datetime(2026, 1, 1) + timedelta(seconds=s) for s in seconds], pa.timestamp("us"))
        return pa.record_batch({"ts": times, "k": [1] * len(seconds), "id": range(first, first + len(seconds))})

    s = tw.session()
    s.stream("a", [rows([0, 30], 0), rows([3, 4, 5, 31], 2)], time="ts")
    s.stream("b", [rows([0, 30], 0), rows([32], 2)], time="ts")
    s.function("small", lambda number: 1 / (number - 2) < 0.9, returns="boolean")
    asked = s.query("SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND small(a.id) WINDOW 5 SECONDS")
    for places in ("before", "after"):
        place(asked, places)
        # 2, 3 and 4 came below 30; `small` raises on 2, drops 3 and keeps 4
        assert asked.late()["a_id"].to_pylist() == [2, 4]


# the same failed rows


def several_sources(seed: int) -> RaisingQuery:
    query = raising_query(seed)
    assume(len(query.sources) > 1)
    return query


@examples(60, long=5_000, suppress_health_check=[HealthCheck.filter_too_much])
@given(seed=SEEDS)
def test_any_places_set_the_same_rows_aside(seed: int) -> None:
    query = several_sources(seed)
    asked = registered(query).query(query.text, on_error="dead-letter", seed=seed)
    assume(is_placed_after(asked))
    for places in ("before", "after", anywhere(asked, random.Random(seed))):
        place(asked, places)
        assert results(query, asked.dataframe()) == query.passing
        assert failures(query, asked.failed()) == query.failing


@examples(40, long=2_500, suppress_health_check=[HealthCheck.filter_too_much])
@given(seed=SEEDS)
def test_any_places_fail_a_query_on_the_same_rows(seed: int) -> None:
    query = several_sources(seed)
    asked = registered(query).query(query.text)
    assume(is_placed_after(asked))
    for places in ("before", "after", anywhere(asked, random.Random(seed))):
        place(asked, places)
        if not query.failing:
            assert results(query, asked.dataframe()) == query.passing
            continue
        with pytest.raises(tw.FailedRowError) as error:
            asked.dataframe()
        named = frozenset(re.findall(r"condition '([^']+)' raised", str(error.value)))
        assert named in {texts for *_, texts in query.failing}


def with_failed_rows(seed: int) -> bool:
    query = raising_query(seed)
    if len(query.sources) < 2 or not (query.passing and query.failing):
        return False
    asked = registered(query).query(query.text, on_error="dead-letter")
    return is_placed_after(asked) and any(scan.errors for scan in asked.plan.scans)


@examples(2, long=40, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(seed=SEEDS.filter(with_failed_rows))
def test_any_places_on_spark(spark: SparkSession, seed: int) -> None:
    query = raising_query(seed)
    asked = registered(query, spark).query(query.text, on_error="dead-letter")
    for places in ("before", "after"):
        place(asked, places)
        assert results(query, asked.dataframe().toArrow()) == query.passing
        assert failures(query, asked.failed().toArrow()) == query.failing


# few calls


class Counted:
    """A function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, number: int) -> bool:
        self.calls += 1
        return number % 3 != 0


def stream(seed: str, count: int, values: int) -> pa.Table:
    """Rows that are spread evenly over 100 seconds."""
    r = random.Random(seed)
    times = [datetime(2026, 1, 1) + timedelta(seconds=100 * n / count) for n in range(count)]
    keys = [r.randrange(values) for _ in range(count)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": keys, "x": [r.randrange(100) for _ in keys]})


def calls_of(text: str, rows: dict[str, int], values: int, places: FilterPlaces | None, **given: Any) -> int:
    """The calls of `f` in one run. None: the places that are chosen."""
    s, f = tw.session(), Counted()
    for name, count in rows.items():
        statistics = {"rows_per_second": count / 100, "distinct": {"k": values}}
        s.stream(name, stream(name, count, values), time="ts", statistics=statistics)
    s.function("f", f, returns="boolean", **given)
    asked = s.query(text)
    if places is not None:
        place(asked, places)
    assert asked.dataframe().num_rows
    return f.calls


@pytest.mark.parametrize("given", [{"cost": 50}, {"cost": 50, "safe": True}, {}])
@pytest.mark.parametrize("per_row", [0.02, 0.2, 2])
@pytest.mark.parametrize("slower", [1, 10])
def test_calls_are_few_at_any_number_of_results(per_row: float, slower: int, given: dict[str, Any]) -> None:
    """Each row of a has as many results as rows of b with its key came in the 10 seconds before it and after it."""
    rows = {"a": 10_000, "b": 10_000 // slower}
    values = round(rows["b"] / 100 * 20 / per_row)
    text = "SELECT a.x, b.x AS y FROM a, b WHERE a.k = b.k AND f(a.x) WINDOW 10 SECONDS"
    chosen, first, last = (calls_of(text, rows, values, places, **given) for places in (None, "before", "after"))
    assert chosen <= 1.05 * min(first, last)
    assert max(first, last) > 1.5 * min(first, last), "the places differ"


def test_calls_are_few_in_a_chain_of_three_streams() -> None:
    text = "SELECT a.x FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND f(b.x) WINDOW 10 SECONDS"
    for values in (400, 3_000):
        rows = {"a": 4_000, "b": 4_000, "c": 4_000}
        chosen, first, last = (calls_of(text, rows, values, places, cost=50) for places in (None, "before", "after"))
        assert chosen <= 1.05 * min(first, last)


# what is said


def test_explain_says_where_it_is_and_why() -> None:
    s = tw.session()
    for name in "ab":
        declared = {"rows_per_second": 20_000, "distinct": {"k": 20_000_000}}
        s.stream(name, stream(name, 10, 3), time="ts", statistics=declared)
    s.function("f", lambda x: x > 3, returns="boolean", cost=50)
    told = s.query("SELECT a.x FROM a, b WHERE a.k = b.k AND f(a.x) WINDOW 10 SECONDS").explain()
    assert told.notes == (
        "f(a.x) is evaluated after the join: 0.02 results per row expected, so 400 calls per second instead of 20,000",
    )  # fmt: skip
    lines = [line.strip(" │├└─") for line in str(told).split("Physical plan")[1].splitlines()]
    assert lines.index("f(a.x)  (Python, 50 µs per row, declared)") < lines.index("a.k = b.k")
