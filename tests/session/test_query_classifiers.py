"""`classify_by` of queries: which columns are read for it, which filters and joins use them, and what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.filters.mesh_by_column import mesh_by
from thalweg.adapt.registry import POLICIES
from thalweg.plan.query.nodes import Filter, WindowJoin, walk
from thalweg.plan.query.query_plan import QueryPlan

ROWS = 3_000
FILTERED = "SELECT k FROM s WHERE odd(k) AND not_third(m)"
JOINED = (
    "SELECT s.k, b.m FROM s, b, names WHERE s.k = b.k AND s.m = names.m AND odd(s.k) AND not_third(s.m) AND odd(b.m) "
    "AND differ(s.m, b.m) WINDOW 1 SECOND"
)


def odd(number: int) -> bool:
    return number % 2 == 1


def not_third(number: int) -> bool:
    return number % 3 != 0


def differ(one: int, other: int) -> bool:
    return one != other


RNG = np.random.default_rng(4)
TIMES = [datetime(2026, 1, 1) + timedelta(milliseconds=20 * n) for n in range(ROWS)]
S = pa.table({
    "ts": TIMES, "Sector": [["x", "y", None][n] for n in RNG.integers(0, 3, ROWS)], "k": RNG.integers(0, 30, ROWS),
    "m": RNG.integers(0, 30, ROWS), "sizes": [[1]] * ROWS,
})  # fmt: skip
B = pa.table({
    "ts": TIMES, "k": RNG.integers(0, 30, ROWS), "m": RNG.integers(0, 30, ROWS),
    "Kind": [["x", "y", "z", None][n] for n in RNG.integers(0, 4, ROWS)],
})  # fmt: skip


def a_session(spark: Any = None) -> tw.Session:
    s = tw.session(spark)
    for name, table in (("s", S), ("b", B)):
        s.stream(name, table if spark is None else spark.createDataFrame(table), time="ts")
    names = pa.table({"m": np.arange(20)})
    s.table("names", names if spark is None else spark.createDataFrame(names))
    for function in (odd, not_third, differ):
        s.function(function.__name__, function, "boolean", safe=True)
    return s


def expected(text: str) -> list[tuple[int, ...]]:
    """The rows of the result, sorted, by brute force."""
    kept = [row for row in S.to_pylist() if odd(row["k"]) and not_third(row["m"])]
    if text == FILTERED:
        return sorted((row["k"],) for row in kept)
    others = [row for row in B.to_pylist() if odd(row["m"])]
    return sorted(
        (one["k"], other["m"])
        for one in kept
        for other in others
        if one["k"] == other["k"] and one["m"] < 20 and differ(one["m"], other["m"])
        and abs(one["ts"] - other["ts"]) <= timedelta(seconds=1)
    )  # fmt: skip


def answer(query: tw.ContinuousQuery) -> list[tuple[int, ...]]:
    made = query.dataframe()
    rows = made.to_pylist() if isinstance(made, pa.Table) else [row.asDict() for row in made.collect()]
    return sorted(tuple(row.values()) for row in rows)


def columns_of(plan: QueryPlan) -> dict[str, tuple[str, ...]]:
    return {scan.alias: scan.columns for scan in plan.scans}


@pytest.mark.parametrize("text", [FILTERED, JOINED])
@pytest.mark.parametrize("given", [{}, {"classify_by": ["S.sector"]}, {"classify_by": ["s.sector", "s.ts"]}])
def test_classes_change_no_row(text: str, given: dict[str, Any]) -> None:
    found = answer(a_session().query(text, policy="mesh", seed=1, **given))
    assert found == expected(text)
    assert len(found) > 50


def test_on_spark_classes_change_no_row(spark: Any) -> None:
    s = a_session(spark)
    for text in (FILTERED, JOINED):
        assert answer(s.query(text, policy="mesh", classify_by=["s.sector"])) == expected(text)


def by_duckdb(text: str, stream: str, column: str, reaching: str) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the rows of the result, and how many rows of a stream have each value of a column, x, y and any other, of
    those rows that `reaching` is true for."""
    connection = duckdb.connect(config={"threads": 1})
    for name, table in (("s", S), ("b", B), ("names", pa.table({"m": np.arange(20)}))):
        connection.register(name, table)
    of_s = "s.k % 2 = 1 AND s.m % 3 <> 0"
    query = {
        FILTERED: f"SELECT k FROM s WHERE {of_s}",
        JOINED: f"SELECT s.k, b.m FROM s, b, names WHERE s.k = b.k AND s.m = names.m AND {of_s} AND b.m % 2 = 1 "
        "AND s.m <> b.m AND abs(epoch_us(s.ts) - epoch_us(b.ts)) <= 1000000",
    }[text]
    counts = f"count(*) FILTER ({column} = 'x'), count(*) FILTER ({column} = 'y'), count(*)"
    ((x, y, every),) = connection.execute(f"SELECT {counts} FROM {stream} WHERE {reaching}").fetchall()
    return sorted(connection.execute(query).fetchall()), [x, y, every - x - y]


@pytest.mark.parametrize(
    ("text", "part", "column", "reaching"),
    [
        (FILTERED, "filter of s", "s.Sector", "true"),
        (JOINED, "filter of s", "s.Sector", "true"),
        # all rows of s are there when the first rows of b come, so that only these probe
        (JOINED, "join", "b.Kind", "b.m % 2 = 1"),
    ],
)
def test_rows_take_routes_by_the_named_column(
    text: str, part: str, column: str, reaching: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mesh is in force from the first row on, wherever there is something to classify rows by."""
    stream, name = column.split(".")
    monkeypatch.setitem(POLICIES, "mesh", mesh_by(name, "x", "y"))
    rows, routed = by_duckdb(text, stream, name, reaching)
    q = a_session().query(text, policy="mesh", classify_by=[column.lower()], seed=1)
    assert answer(q) == rows
    section: Any = dict(q.report().parts)[part].sections[-1]
    if part == "join":
        assert [*section.meshes] == [stream], "rows of the other stream are classified by nothing"
    mesh = section.meshes[stream] if part == "join" else section.mesh
    assert mesh.columns == (name,)
    assert [route.rows for route in mesh.routes] == routed
    assert min(routed) > 200
    assert mesh.routes[0].order == mesh.routes[1].order[::-1] == mesh.routes[2].order


def test_only_the_named_columns_are_read_besides() -> None:
    s = a_session()
    for text in (FILTERED, JOINED):
        without = columns_of(s.query(text, policy="mesh").plan)
        with_it = columns_of(s.query(text, policy="mesh", classify_by=["s.SECTOR"]).plan)
        assert {*with_it["s"]} - {*without["s"]} == {"Sector"}
        assert all(with_it[alias] == without[alias] for alias in with_it if alias != "s")


def test_another_policy_reads_no_columns_for_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    q = a_session().query(FILTERED, classify_by=["s.sector"], policy="mesh(routes=4)")
    assert "Sector" in columns_of(q.plan)["s"]
    monkeypatch.setenv("THALWEG_POLICY", "static")
    q = a_session().query(FILTERED, classify_by=["s.sector"])
    assert "Sector" not in columns_of(q.plan)["s"]
    assert answer(q) == expected(FILTERED)


def test_the_columns_classify_rows_of_their_stream_alone() -> None:
    run = a_session().query(JOINED, policy="mesh", classify_by=["s.sector", "b.ts"])._local_run()
    plan = run.plan
    filters = [node for node in walk(plan.root) if isinstance(node, Filter)]
    found = {str(node.id): run.filter_plan(node).classify_by for node in filters}
    assert found == {"filter of s": ("Sector",), "filter of b": ("ts",), "filter of joined rows": ()}
    assert isinstance(plan.join, WindowJoin)
    assert run.join_plan(plan.join).classify_by == (("s", "Sector"), ("b", "ts"))
    assert plan.join.keeps == a_session().query(JOINED, policy="mesh").plan.join.keeps  # type: ignore[union-attr]


def test_the_state_of_a_join_does_not_depend_on_classes() -> None:
    s = a_session()
    assert s.query(JOINED, policy="mesh", classify_by=["s.sector"]).plan.state == s.query(JOINED).plan.state


def test_failed_and_late_rows_have_the_same_columns() -> None:
    s = a_session()
    for text in (FILTERED, JOINED):
        queries = [
            s.query(text, policy="mesh", on_error="dead-letter", classify_by=columns)
            for columns in (None, ["s.sector"])
        ]
        assert queries[0].failed().schema == queries[1].failed().schema
    late = [s.query(JOINED, policy="mesh", classify_by=columns).late().schema for columns in (None, ["s.sector"])]
    assert late[0] == late[1]


@pytest.mark.parametrize(
    ("classify_by", "said"),
    [
        (["sector"], "'sector' names no stream; write 's.sector'"),
        (["t.sector"], "'t' is not a stream"),
        (["s.sectr"], "there is no column 'sectr' (did you mean 'Sector'?)"),
        (["s.sector", "S.Sector"], "is named twice"),
        (["s.sizes"], "s.sizes is list<item: int64>, whose values cannot be classified"),
        (["names.m"], "names is a table, whose rows do not probe"),
        ([], "name at least one column"),
        ("s.sector", "must be a list of column names"),
    ],
)
def test_what_rows_cannot_be_classified_by_is_refused(classify_by: Any, said: str) -> None:
    with pytest.raises(tw.PlanError, match="classify_by") as raised:
        a_session().query(JOINED, policy="mesh", classify_by=classify_by)
    assert said in str(raised.value)


def test_a_policy_that_has_one_order_refuses_classify_by() -> None:
    for policy in (None, "auto"):
        with pytest.raises(tw.PlanError, match="policy 'auto' does not classify rows; use policy='mesh'"):
            a_session().query(FILTERED, policy=policy, classify_by=["s.sector"])


def test_queries_take_settings_of_meshes() -> None:
    s = a_session()
    assert answer(s.query(JOINED, policy="mesh(routes=2, search='sa', search_from='extreme-1')")) == expected(JOINED)
    with pytest.raises(tw.PlanError, match="routes=0"):
        s.query(JOINED, policy="mesh(routes=0)")
