"""A query under the virtual clock gives the rows of DuckDB, or of brute force, whatever waits where for how long."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.local.test_row_windows import ORACLE, streams
from tests.session.corpus_query import assert_same, by_duckdb
from tests.session.raising_queries import raising_query
from tests.session.random_queries import TABLE, RandomQuery, queries
from tests.session.test_raising_functions import registered, results
from thalweg.simulation import Arrivals, Costs, Source, Trace, poisson, regular, simulate

NOON = datetime(2026, 1, 1, 12)


def arriving(tables: dict[str, pa.Table], seed: int) -> dict[str, Source]:
    """At rates of their own, so that event time of one stream may be far ahead of the others'."""
    r = random.Random(seed)
    kinds: list[Callable[[float], Arrivals]] = [poisson, regular]
    return {
        name: Source(table, r.choice(kinds)(r.choice([1, 10, 100])), at_once=r.choice([1, 2, 7, None]))
        for name, table in tables.items()
    }


def drawn_costs(seed: int) -> Costs:
    r = random.Random(seed)
    words = ("move", "hash", "probe", "predicate", "result")
    costs: dict[str, Any] = {word: r.choice([0, "1 ms", "40 ms", 0.3]) for word in words}
    return Costs(**costs)


def simulated(q: tw.ContinuousQuery, tables: dict[str, pa.Table], seed: int) -> Trace:
    """Only streams that the query reads."""
    operators = q.operators(costs=drawn_costs(seed))
    read = {name for operator in operators for name in operator.reads.values()}
    sources = arriving({name: table for name, table in tables.items() if name in read}, seed)
    return simulate(sources, operators, seed=seed, cpus=random.Random(seed).choice([None, 1, 3]))


@examples(40, long=1_000, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries(), seed=st.integers(0, 1000))
def test_random_queries_give_the_rows_of_duckdb(query: RandomQuery, seed: int) -> None:
    session = tw.session()
    for name, table in query.streams.items():
        session.stream(name, table, time="ts", lateness=f"{query.lateness_us} microseconds")
    session.table(TABLE, query.table)
    asked = session.query(query.ours)
    trace = simulated(asked, query.streams, seed)
    assert_same(trace.rows(), by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), asked.schema)
    assert_same(trace.rows(), asked.dataframe(), asked.schema)
    assert all(sample.queue == sample.late == 0 for sample in trace.final.values())


@examples(60, long=2_000)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(["auto", "sweep", "static"]))
def test_rows_on_which_functions_raise_are_set_aside(seed: int, policy: str) -> None:
    query = raising_query(seed)
    asked = registered(query).query(query.text, policy=policy, on_error="dead-letter")
    tables = {name: table for name, table in query.tables.items() if name != TABLE}
    assert results(query, simulated(asked, tables, seed).rows()) == query.passing


def test_a_row_that_fails_ends_the_simulation() -> None:
    query = next(made for made in map(raising_query, range(100)) if made.failing and len(made.sources) > 1)
    asked = registered(query).query(query.text)
    tables = {name: table for name, table in query.tables.items() if name != TABLE}
    with pytest.raises(tw.FailedRowError):
        simulated(asked, tables, 1)


@examples(40, long=1_000)
@given(data=st.data(), n=st.integers(1, 6), window=st.integers(0, 8), lateness=st.integers(0, 3))
def test_windows_of_rows_are_those_duckdb_counts(data: st.DataObject, n: int, window: int, lateness: int) -> None:
    a, b = data.draw(streams(lateness)), data.draw(streams(lateness))
    s = tw.session()
    for name, table in (("a", a), ("b", b)):
        s.stream(name, table, time="ts", lateness=f"{lateness} seconds")
    text = f"SELECT a.id AS a, b.id AS b FROM a [ROWS {n}], b [RANGE {window} SECONDS] WHERE a.k = b.k"
    found = simulated(s.query(text), {"a": a, "b": b}, data.draw(st.integers(0, 100))).rows()
    expected = by_duckdb(ORACLE.format(n=n, window=window), {"a": a, "b": b})
    assert Counter(map(tuple, map(dict.values, found.to_pylist()))) == Counter(
        map(tuple, map(dict.values, expected.to_pylist()))
    )


def timed(seconds: list[int], **columns: list[int]) -> pa.Table:
    return pa.table({"ts": [NOON + timedelta(seconds=s) for s in seconds], **columns})


def test_rows_are_late_also_after_dropped_rows() -> None:
    """The watermark follows a stream's rows, not what a filter leaves of them."""
    rows = timed([1, 20, 3], n=[1, -1, 1])
    s = tw.session()
    s.stream("a", rows, time="ts", lateness="5 seconds")
    q = s.query("SELECT count(*) AS rows FROM a WHERE n > 0 GROUP BY TUMBLE(10 SECONDS)")
    trace = simulate({"a": Source(rows, regular(1))}, q.operators())
    assert trace.rows().to_pylist() == [{"rows": 1}]
    assert trace.final["groups"].late == 1


def test_late_rows_of_a_join_are_left_out() -> None:
    a, b = timed([1, 20, 3], k=[7, 0, 7]), timed([1, 20, 21], k=[7, 7, 7])
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    q = s.query("SELECT a.ts AS at, b.ts AS bt FROM a, b WHERE a.k = b.k AND a.k > 0 WINDOW 1 MINUTE")
    sources = {"a": Source(a, regular(1)), "b": Source(b, regular(10))}
    trace = simulate(sources, q.operators())
    assert Counter(trace.rows()["at"].to_pylist()) == {NOON + timedelta(seconds=1): 3}
    assert trace.final["join"].late == 1


def test_rows_without_a_time_are_not_joined_with_tables() -> None:
    rows = pa.table({"ts": pa.array([NOON, None, NOON], pa.timestamp("us")), "k": [1, 1, 2]})
    s = tw.session()
    s.stream("a", rows, time="ts")
    s.table("t", pa.table({"k": [1, 2]}))
    trace = simulate({"a": Source(rows, regular(1))}, s.query("SELECT a.k FROM a, t WHERE a.k = t.k").operators())
    assert trace.rows()["k"].to_pylist() == [1, 2]


def test_costs_are_paid_by_their_operators() -> None:
    rows = timed(list(range(10)), k=[n % 2 for n in range(10)])
    s = tw.session()
    s.stream("clicks", rows, time="ts")
    s.stream("buys", rows, time="ts")
    q = s.query("SELECT c.k AS k FROM clicks AS c, buys AS b WHERE c.k = b.k AND c.k > 0 AND b.k < 5 WINDOW 3 SECONDS")
    sources = {"clicks": Source(rows, "ts"), "buys": Source(rows, "ts")}
    costs = {"filter of c": Costs(predicate=0.5), "join": Costs(move=0.1, hash=0.1), "output": Costs(result=0.01)}
    final = simulate(sources, q.operators(costs=costs)).final
    assert {name: round(sample.busy, 6) for name, sample in final.items()} == {
        "scan of c": 0, "scan of b": 0, "filter of c": 5, "filter of b": 0, "join": 3, "output": 0.13,
    }  # fmt: skip
    busy = {name: sample.busy for name, sample in simulate(sources, q.operators(costs=Costs(move=0.25))).final.items()}
    assert busy == {
        "scan of c": 0,
        "scan of b": 0,
        "filter of c": 2.5,
        "filter of b": 2.5,
        "join": 3.75,
        "output": 3.25,
    }
    by_name = Costs(predicate={"c.k > 0": 1, "b.k < 5": 2})
    busy = {name: sample.busy for name, sample in simulate(sources, q.operators(costs=by_name)).final.items()}
    assert (busy["filter of c"], busy["filter of b"], busy["join"]) == (10, 20, 0)


@pytest.mark.parametrize(
    ("plan", "probe", "busy"),
    [
        ("((a b) c)", 1, 2),  # b finds a, and c their result
        ("((a b) c)", {"a": 2, "b": 5, "c": 100}, 2 + 5),  # a result of a and b costs as much as b
        ("((a b) c d)", {"a": 2, "b": 5, "c": 1, "d": 100}, 2 + 5 + 1),
    ],
)
def test_probes_of_kept_sub_joins_are_paid(plan: str, probe: Any, busy: int) -> None:
    """A row probes nothing if a window is empty."""
    s, names = tw.session(), plan.replace("(", "").replace(")", "").split()
    tables = {name: timed([n], k=[1]) for n, name in enumerate(names)}
    for name, table in tables.items():
        s.stream(name, table, time="ts")
    where = " AND ".join(f"a.k = {name}.k" for name in names[1:])
    q = s.query(f"SELECT a.k AS k FROM {', '.join(names)} WHERE {where} WINDOW 1 MINUTE", plan=plan, policy="static")
    sources = {name: Source(table, "ts") for name, table in tables.items()}
    trace = simulate(sources, q.operators(costs={"join": Costs(probe=probe)}))
    assert trace.rows().num_rows == 1
    assert trace.final["join"].busy == busy


def test_orders_change_where_predicates_become_expensive() -> None:
    count = 4000
    rows = timed(list(range(count)), x=[n % 2 for n in range(count)], y=[n // 2 % 2 for n in range(count)])
    s = tw.session()
    s.stream("a", rows, time="ts")
    q = s.query("SELECT a.x AS x FROM a WHERE a.x > 0 AND a.y > 0")
    costs = Costs(predicate={"a.x > 0": lambda now: "1 ms" if now < 100 else "80 ms", "a.y > 0": "10 ms"})
    trace = simulate({"a": Source(rows, regular(1), at_once=20)}, q.operators(costs=costs))
    assert trace.rows().num_rows == 1000
    changes = [(change.operator, change.order) for change in trace.reordered if change.time > 100]
    assert changes[-1] == ("filter of a", ("a.y > 0", "a.x > 0"))


def test_the_same_operators_give_the_same_trace_again() -> None:
    rows = timed(list(range(60)), k=[n % 3 for n in range(60)])
    s = tw.session()
    s.stream("a", rows, time="ts")
    s.stream("b", rows, time="ts")
    s.table("t", pa.table({"k": [0, 1]}))
    q = s.query(
        "SELECT count(*) AS n FROM a [ROWS 5], b [RANGE 9 SECONDS], t WHERE a.k = b.k AND a.k = t.k AND a.k < 2 "
        "GROUP BY TUMBLE(10 SECONDS)"
    )
    operators = q.operators(costs=Costs(predicate="1 ms", probe="30 ms"))
    sources = {name: Source(rows, poisson(3)) for name in "ab"}
    first, again = (simulate(sources, operators, seed=4) for _ in range(2))
    assert first.to_json_lines() == again.to_json_lines()
    assert first.rows() == again.rows() == q.dataframe()


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"filter of b": Costs()}, "there is no operator 'filter of b'"),
        ({"filter of a": 3, "output": Costs()}, "costs of filter of a=3"),
        ({"move": "1 ms"}, r"write Costs\(move='1 ms'\)"),
        (Costs(predicate={"a.n > 4": 1}), "predicate: 'a.n > 4' is not one of a.n > 3"),
    ],
)
def test_costs_that_fit_nothing_are_refused(costs: Any, message: str) -> None:
    s = tw.session()
    s.stream("a", timed([1], n=[1]), time="ts")
    with pytest.raises(tw.PlanError, match=message):
        s.query("SELECT a.n AS n FROM a WHERE a.n > 3").operators(costs=costs)


def test_sources_with_other_columns_are_refused() -> None:
    s = tw.session()
    rows = timed([1], n=[1])
    s.stream("a", rows, time="ts")
    q = s.query("SELECT a.n AS n FROM a")
    source = Source(pa.table({"ts": rows["ts"], "n": ["x"]}), regular(1))
    with pytest.raises(tw.PlanError, match="n is string after int64"):
        simulate({"a": source}, q.operators())


def test_no_value_of_a_row_is_in_an_error_with_redact() -> None:
    s = tw.session()
    rows = pa.table({"ts": [NOON], "text": ["secret"]})
    s.stream("a", rows, time="ts")
    q = s.query("SELECT CAST(a.text AS INT) AS n FROM a", redact=True)
    with pytest.raises(tw.ThalwegError) as raised:
        simulate({"a": Source(rows, regular(1))}, q.operators())
    assert "secret" not in str(raised.value)
