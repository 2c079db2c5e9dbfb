"""Functions that raise on some rows adapt like any others: which rows pass and which fail depends on no order.

Expected rows come from brute force over all combinations (`raising_queries`).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.long_run import examples
from tests.runtime.spark.joins.streams import Files
from tests.session.raising_queries import TABLE, RaisingQuery, raising_query

SEEDS = st.integers(0, 2**32)
ERRORS = ("ZeroDivisionError: it is zero", 'OverflowError: it is "large"', "ExpressionError: division by zero in 6 DIV")
POLICIES = ("auto", "a-greedy", "sweep", "static", "duckdb-swap")


def registered(query: RaisingQuery, spark: Any = None, data: dict[str, Any] | None = None) -> tw.Session:
    s = tw.session(spark)
    for name, table in query.tables.items():
        rows = (data or {}).get(name, table if spark is None else None)
        rows = spark.createDataFrame(table) if rows is None else rows
        if name == TABLE:
            s.table(name, rows)
        else:
            s.stream(name, rows, time="ts")
    for name, function in query.functions.items():
        s.function(name, function, returns="boolean", safe=name in query.safe)
    return s


def results(query: RaisingQuery, found: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[f"{s}_{c}"] for s, c in query.outputs) for row in found.to_pylist())


def failures(query: RaisingQuery, found: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows of one source alone have its own columns."""
    alone = len(query.sources) == 1
    names = [c if alone else f"{s}_{c}" for s, c in query.outputs]
    told: Counter[tuple[Any, ...]] = Counter()
    for row in found.to_pylist():
        errors = row["thalweg_errors"]
        assert all(each["error"].startswith(ERRORS) for each in errors), errors
        told[(*(row[name] for name in names), frozenset(each["predicate"] for each in errors))] += 1
    return told


@examples(150, long=5_000)
@given(seed=SEEDS, policy=st.sampled_from(POLICIES))
def test_same_rows_and_same_failed_rows_as_brute_force(seed: int, policy: str) -> None:
    query = raising_query(seed)
    asked = registered(query).query(query.text, policy=policy, on_error="dead-letter", seed=seed)
    assert results(query, asked.dataframe()) == query.passing
    assert failures(query, asked.failed()) == query.failing


@examples(75, long=2_500)
@given(seed=SEEDS)
def test_a_query_fails_only_if_a_result_would(seed: int) -> None:
    query = raising_query(seed)
    asked = registered(query).query(query.text)
    if not query.failing:
        assert results(query, asked.dataframe()) == query.passing
        return
    with pytest.raises(tw.FailedRowError) as error:
        asked.dataframe()
    named = frozenset(re.findall(r"condition '([^']+)' raised", str(error.value)))
    assert named in {texts for *_, texts in query.failing}, "all that raised on one row, and no others"


def test_both_kinds_of_rows_are_drawn() -> None:
    drawn = [raising_query(seed) for seed in range(60)]
    assert sum(bool(query.failing) for query in drawn) > 15
    assert sum(bool(query.passing) for query in drawn) > 15
    assert sum(len(query.sources) > 1 and bool(query.failing) for query in drawn) > 5


def seeds_with_both(count: int, **kind: Any) -> list[int]:
    """Queries of one, two and three sources with rows that pass and rows that fail."""
    found: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for seed in range(2_000):
        if all(len(seeds) == count for seeds in found.values()):
            break
        query = raising_query(seed, **kind)
        kept = found.get(len(query.sources))
        if kept is not None and len(kept) < count and query.passing and query.failing:
            kept.append(seed)
    return [seed for seeds in found.values() for seed in seeds]


FEW, MANY = seeds_with_both(1), seeds_with_both(10)


@pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(s, marks=pytest.mark.long) for s in MANY if s not in FEW)]
)  # fmt: skip
def test_the_same_on_spark(spark: SparkSession, seed: int) -> None:
    query = raising_query(seed)
    asked = registered(query, spark).query(query.text, on_error="dead-letter")
    assert results(query, asked.dataframe().toArrow()) == query.passing
    assert failures(query, asked.failed().toArrow()) == query.failing


ONE_OF_EACH = seeds_with_both(1, built_in=False)


@pytest.mark.parametrize("seed", ONE_OF_EACH)
def test_on_spark_a_query_fails_only_if_a_result_would(spark: SparkSession, seed: int) -> None:
    query = raising_query(seed, built_in=False)
    s = registered(query, spark)
    with pytest.raises(Exception, match=r"raised (ZeroDivisionError: it is zero|OverflowError: it is \\?\"large)"):
        s.query(query.text).dataframe().toArrow()
    # without what fails, nothing does
    ids = [(source, column) for source, column in query.outputs]
    for *values, _ in query.failing:
        keep = " AND ".join(f"{s}.{c} = {v}" for (s, c), v in zip(ids, values, strict=True))
        query.text += f" AND NOT ({keep})"
    assert results(query, s.query(query.text).dataframe().toArrow()) == query.passing


def carries_errors(seed: int) -> bool:
    """Whether two streams are joined, and rows on which a condition raised are in a window."""
    query = raising_query(seed)
    return query.sources == ["a", "b"] and any(s.errors for s in registered(query).query(query.text).plan.scans)


def test_streams_of_spark_set_rows_aside(spark: SparkSession, tmp_path: Path) -> None:
    """Results and failed rows are two queries over the same sources. Both are stopped half way; what carries errors is
    restored from the state, and the last micro-batch of the results is run again."""
    query = raising_query(next(filter(carries_errors, MANY)))
    sources = {name: Files(tmp_path / name, table.schema) for name, table in query.tables.items()}
    asked = registered(query, spark, {name: files.stream(spark) for name, files in sources.items()}).query(
        query.text, on_error="dead-letter"
    )
    places: dict[str, Any] = {
        "path": str(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "availableNow",
    }
    for start in (0, 7):
        for name, files in sources.items():
            files.add(query.tables[name].slice(start, 7 if start == 0 else None))
        asked.start(**places).awaitTermination()
        writer = asked.failed().writeStream.option("checkpointLocation", str(tmp_path / "failed checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "failed"), "parquet").awaitTermination()
        if start == 0:
            max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda file: int(file.name)).unlink()
    assert results(query, spark.read.parquet(str(tmp_path / "out")).toArrow()) == query.passing
    assert failures(query, spark.read.parquet(str(tmp_path / "failed")).toArrow()) == query.failing


# equalities whose sides raise

EQUALITIES = [
    ["a.k = b.k", "10 DIV a.x = b.x"],
    ["a.k = b.k", "10 DIV a.x = b.x", "b.x < 0"],
    ["a.k = b.k", "10 DIV a.x = b.x", "f(a.x)"],
]


def _by_hand(rows: dict[str, list[dict[str, Any]]], conditions: list[str]) -> tuple[Counter[Any], Counter[Any]]:
    passing: Counter[Any] = Counter()
    failing: Counter[Any] = Counter()
    for a in rows["a"]:
        for b in rows["b"]:
            raises = "10 DIV a.x = b.x" in conditions and a["x"] == 0
            holds = [
                a["k"] == b["k"], raises or 10 // a["x"] == b["x"],
                "b.x < 0" not in conditions or b["x"] < 0, "f(a.x)" not in conditions or a["x"] != 5,
            ]  # fmt: skip
            if all(holds):
                (failing if raises else passing)[a["id"], b["id"]] += 1
    return passing, failing


@pytest.mark.parametrize("conditions", EQUALITIES, ids=" AND ".join)
def test_a_raising_equality_is_a_condition_like_any_other(conditions: list[str]) -> None:
    tables = {
        "a": pa.table({"ts": pa.array([0, 1, 2, 3], pa.timestamp("s")), "k": [1, 1, 2, 2], "x": [0, 2, 5, 0],
                       "id": [0, 1, 2, 3]}),
        "b": pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("s")), "k": [1, 1, 2], "x": [5, 5, 2], "id": [0, 1, 2]}),
    }  # fmt: skip
    passing, failing = _by_hand({name: table.to_pylist() for name, table in tables.items()}, conditions)
    assert failing or "b.x < 0" in conditions
    for order in itertools.permutations(conditions):
        s = tw.session()
        for name, table in tables.items():
            s.stream(name, table, time="ts")
        s.function("f", lambda x: x != 5, returns="boolean")
        text = f"SELECT a.id AS a, b.id AS b FROM a, b WHERE {' AND '.join(order)} WINDOW 1 MINUTE"
        query = s.query(text, on_error="dead-letter")
        assert Counter((row["a"], row["b"]) for row in query.dataframe().to_pylist()) == passing
        found = s.query(text.replace("SELECT", "SELECT a.x, "), on_error="dead-letter").failed().to_pylist()
        assert Counter((row["a_id"], row["b_id"]) for row in found) == failing


def test_a_raising_equality_connects_what_nothing_else_does() -> None:
    s = tw.session()
    for name, x in (("a", [0, 2]), ("b", [5, 5])):
        s.stream(name, pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "x": x}), time="ts")
    text = "SELECT a.x FROM a, b WHERE {} WINDOW 1 MINUTE"
    for order in ("b.x > 0 AND 10 DIV a.x = b.x", "10 DIV a.x = b.x AND b.x > 0"):
        with pytest.raises(tw.ExpressionError, match="division by zero"):
            s.query(text.format(order)).dataframe()
        assert s.query(text.format(f"{order} AND a.x <> 0")).dataframe().num_rows == 2


def test_a_started_stream_says_what_was_raised(spark: SparkSession, tmp_path: Path) -> None:
    """Spark quotes the plan in the errors of streams, which must not be taken for the error."""
    seed = next(s for s in ONE_OF_EACH if len(raising_query(s, built_in=False).sources) == 2)
    query = raising_query(seed, built_in=False)
    data = {}
    for name, table in query.tables.items():
        files = Files(tmp_path / name, table.schema)
        files.add(table)
        data[name] = files.finished(spark) if name == TABLE else files.stream(spark)
    handle = (
        registered(query, spark, data)
        .query(query.text)
        .start(path=str(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"), trigger="availableNow")
    )
    with pytest.raises(tw.QueryError, match=r"^condition '[^']+' raised (ZeroDivisionError|OverflowError): it is"):
        handle.awaitTermination()
