"""What comes after a guard is not evaluated if the guard decides, in any clause, on both runtimes."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.session.guarded_queries import TABLE, Both, condition

T = pa.table({"k": pa.array([0, 1, 2, 3], pa.int64()), "z": pa.array([0, 1, 2, 0], pa.int32())})


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> list[Any]:
    """Of this process, and of Spark."""
    here, there = tw.session(), tw.session(spark)
    here.stream("r", TABLE, time="ts")
    here.table("t", T)
    there.stream("r", spark.createDataFrame(TABLE).repartition(2), time="ts")
    there.table("t", spark.createDataFrame(T))
    return [here, there]


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    other = duckdb.connect(":memory:", config={"error_on_division_by_zero": "false"})
    other.register("r", TABLE)
    other.register("t", T)
    return other


def drawn(clause: str, count: int) -> list[Both]:
    return [condition(random.Random(f"{clause} {n}")) for n in range(count)]


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def check(sessions: list[Any], oracle: duckdb.DuckDBPyConnection, ours: str, theirs: str) -> None:
    expected = in_order(oracle.sql(theirs).fetchall())
    for session in sessions:
        found = session.query(ours).dataframe()
        table = found if isinstance(found, pa.Table) else found.toArrow()
        assert in_order([tuple(row.values()) for row in table.to_pylist()]) == expected, ours


def test_select(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    """All in one projection, so that they share what can raise."""
    for n in range(3):
        some = drawn(f"SELECT {n}", 8)
        ours = ", ".join(f"{each.ours} AS c{i}" for i, each in enumerate(some))
        theirs = ", ".join(f"{each.duckdb} AS c{i}" for i, each in enumerate(some))
        check(sessions, oracle, f"SELECT {ours} FROM r", f"SELECT {theirs} FROM r")


def test_where(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    for each in drawn("WHERE", 12):
        check(sessions, oracle, f"SELECT x, y, s FROM r WHERE {each.ours}",
              f"SELECT x, y, s FROM r WHERE {each.duckdb}")  # fmt: skip


def test_where_with_or(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    for one, other in zip(drawn("OR", 6), drawn("OR too", 6), strict=True):
        check(sessions, oracle, f"SELECT x, y, s FROM r WHERE ({one.ours}) OR NOT ({other.ours})",
              f"SELECT x, y, s FROM r WHERE ({one.duckdb}) OR NOT ({other.duckdb})")  # fmt: skip


def test_group_by_and_aggregates(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    for key, argument, having in zip(*(drawn(f"GROUP {n}", 5) for n in range(3)), strict=True):
        ours = (
            f"SELECT {key.ours} AS g, count(CASE WHEN {argument.ours} THEN 1 END) AS n, min({argument.ours}) AS m "
            f"FROM r GROUP BY {key.ours}, TUMBLE(1 HOUR) "
            f"HAVING count(*) > 0 AND sum(CASE WHEN {having.ours} THEN 1 ELSE 0 END) >= 0"
        )
        theirs = (
            f"SELECT {key.duckdb} AS g, count(CASE WHEN {argument.duckdb} THEN 1 END) AS n, "
            f"min({argument.duckdb}) AS m FROM r GROUP BY ALL "
            f"HAVING count(*) > 0 AND sum(CASE WHEN {having.duckdb} THEN 1 ELSE 0 END) >= 0"
        )
        check(sessions, oracle, ours, theirs)


def test_behind_a_join_with_a_table(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    for each in drawn("JOIN", 4):
        ours, theirs = each.ours.replace("k ", "r.k "), each.duckdb.replace("k ", "r.k ")
        ours, theirs = (text.replace("< k", "< r.k") for text in (ours, theirs))
        raising = "t.z <> 0 AND 10 DIV t.z > 1 AND 10 DIV t.z + r.x > 2"
        check(sessions, oracle, f"SELECT x, y, s, z FROM r, t WHERE r.k = t.k AND {raising} AND ({ours})",
              "SELECT x, y, s, z FROM r, t WHERE r.k = t.k AND "
              f"{raising.replace('DIV', '//')} AND ({theirs})")  # fmt: skip


def test_the_written_cases(sessions: list[Any], oracle: duckdb.DuckDBPyConnection) -> None:
    """From single rows that fail to the same as a whole."""
    for text in (
        "x <> 0 AND 10 DIV x > 2 AND 10 DIV x < 5",
        "x = 0 OR 10 DIV x > 2 OR 10 DIV x < -2",
        "lower(s) <> 'q' AND upper(s) <> 'XX' AND x <> 0 AND 10 DIV x BETWEEN 2 AND 5",
        "lower(kind) = 'good' AND upper(kind) <> 'XX' AND 10 DIV x BETWEEN 2 AND 5",
        "upper(kind) <> 'XX' AND lower(kind) = 'good' AND 10 DIV x > 2 AND 10 DIV x < 5",
        "y IN (5, 10 DIV (x - x + 1), 10 DIV (y - 5), 1 + 10 DIV (y - 5))",
    ):
        theirs = text.replace("DIV", "//")
        check(sessions, oracle, f"SELECT {text} AS c FROM r", f"SELECT {theirs} AS c FROM r")
        check(sessions, oracle, f"SELECT s FROM r WHERE NOT ({text})", f"SELECT s FROM r WHERE NOT ({theirs})")
        check(sessions, oracle, f"SELECT s FROM r WHERE {text}", f"SELECT s FROM r WHERE {theirs}")


def test_what_is_not_guarded_still_raises(sessions: list[Any]) -> None:
    here, there = sessions
    alone = "SELECT x FROM r WHERE 10 DIV x > 2 AND y IS NULL"  # a row with x = 0 passes what could be tried before
    with pytest.raises(tw.ThalwegError, match="zero"):
        here.query("SELECT 10 DIV x > 2 AND x <> 0 AS c FROM r").dataframe()
    for asked in (alone, "SELECT 10 DIV x > 2 AND x <> 0 AS c FROM r"):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            there.query(asked).dataframe().collect()
