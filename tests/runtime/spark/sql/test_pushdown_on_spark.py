"""Conditions of SQL that a source can take over reach it, and those that cannot raise are free to change places."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.report import Section

ROWS = 100


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tw.Session:
    folder: Path = tmp_path_factory.mktemp("pushed")
    table = pa.table(
        {
            "ts": pa.array([datetime(2026, 1, 1, 0, 0, n % 60) for n in range(ROWS)], pa.timestamp("us", "UTC")),
            "id": pa.array(range(ROWS), pa.int64()),
            "x": pa.array(range(ROWS), pa.int32()),
            "f": pa.array([n / 2 for n in range(ROWS)]),
            "kind": ["good" if n % 2 else "bad" for n in range(ROWS)],
        }
    )
    pq.write_table(table, folder / "a.parquet")
    s = tw.session(spark)
    s.stream("a", spark.read.parquet(str(folder)), time="ts")
    return s


def pushed(spark: SparkSession, session: tw.Session, where: str) -> str:
    df = session.query(f"SELECT id FROM a WHERE {where}", policy="auto").dataframe()
    spark.conf.set("spark.sql.maxMetadataStringLength", 10_000)  # else the list is cut off
    try:
        plan = df._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.unset("spark.sql.maxMetadataStringLength")
    return " ".join(re.findall(r"PushedFilters: (\[.*\]), ReadSchema", plan))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id > 5 AND x < 70", ["GreaterThan(id,5)", "LessThan(x,70)"]),
        ("f > 2.5e0 AND kind = 'bad' AND id < 10", ["GreaterThan(f,2.5)", "EqualTo(kind,bad)", "LessThan(id,10)"]),
        ("ts > '2026-01-01 00:00:30'", ["GreaterThan(ts,"]),
        ("id IN (1, 2) AND kind IS NOT NULL", ["In(id, [1,2])", "IsNotNull(kind)"]),
        ("lower(kind) = 'good' AND id > 90", ["GreaterThan(id,90)"]),
        ("id > 5 AND 10 DIV id < 2", ["GreaterThan(id,5)"]),
    ],
)
def test_comparisons_with_literals_of_every_type_are_pushed(
    spark: SparkSession, session: tw.Session, where: str, expected: list[str]
) -> None:
    found = pushed(spark, session, where)
    assert all(each in found for each in expected), found


def test_cheap_conditions_go_first_and_raising_ones_stay(session: tw.Session) -> None:
    q = session.query("SELECT id FROM a WHERE lower(kind) = 'good' AND id > 90 AND 10 DIV id < 2 AND x < 99")
    assert q.dataframe().count() == len([n for n in range(91, 99) if n % 2])
    (section,) = [section for _, report in q.report().parts for section in report.sections]
    assert isinstance(section, Section)
    assert section.native is not None
    assert section.native.order == ("a.id > 90", "a.x < 99", "lower(a.kind) = 'good'", "10 DIV a.id < 2")
