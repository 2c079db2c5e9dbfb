"""A join of streams on Spark that follows a chart: DuckDB's rows, also after a restart, and rounds in the report."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import CONFIG, expected
from tests.runtime.spark.joins.streams import files, ids, results, run, streaming
from tests.runtime.spark.joins.test_plan_changes import ON, ROWS, SECONDS, WINDOW, parts
from tests.runtime.spark.waiting import wait_until

RATES = {alias: {"rows_per_second": count / SECONDS} for alias, count in ROWS.items()}
KNOWN = {**RATES, "partners": {"a.k = b.k": (100, None), "b.m = c.m": (0.01, None)}}


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_chart_is_followed_in_each_bucket(spark: SparkSession, tmp_path: Path) -> None:
    data = parts()
    streams = files(tmp_path / "in", {alias: tables[:3] for alias, tables in data.items()})
    whole = {alias: pa.concat_tables(tables) for alias, tables in data.items()}
    j = tw.join(
        ON, f"{WINDOW} seconds", "ts", buckets=2, select=["a.id", "b.id", "c.id"], policy="chart", statistics=KNOWN,
        seed=1,
    )  # fmt: skip
    run(j(**streaming(spark, streams)), tmp_path)
    for alias, each in streams.items():  # the query is started again with more rows
        for table in data[alias][3:]:
            each.add(table)
    run(j(**streaming(spark, streams)), tmp_path)
    found = ids(results(spark, tmp_path), "abc")
    assert found == ids(expected(whole, ON, dict.fromkeys("abc", WINDOW * 10**6), "ts"), "abc")

    def reported() -> bool:
        """Whether the second run has reported its two files, in both buckets."""
        last = j.report().sections[-1].plans
        return len(j.report().sections) == 2 and [each.buckets for each in last.rates] == [2, 2]

    wait_until(reported, "all rounds of both buckets are reported")
    last = j.report().sections[-1].plans
    assert last.plan == "(a (b c))"
    assert last.chart.rounds > 0  # a bucket looks no plan up if that would take more time than it has earned
    # a and b are spread over two buckets, with more keys in one than in the other; c is in both
    rates = dict(zip("abc", last.rates[-1].rates, strict=True))
    for alias, count in ROWS.items():
        assert rates[alias] == pytest.approx(count / SECONDS, rel=0.25)
    assert "chart: " in str(j.report())
    assert len(j.chart(k=4).track) >= 2


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_finished_dataframe_has_no_rate_in_the_chart(spark: SparkSession, tmp_path: Path) -> None:
    """Rates of all three are declared, but c is read as a table, and another run may read it as a stream."""
    data = parts()
    streams = files(tmp_path / "in", data)
    whole = {alias: pa.concat_tables(tables) for alias, tables in data.items()}
    j = tw.join(
        ON, f"{WINDOW} seconds", "ts", buckets=2, select=["a.id", "b.id", "c.id"], policy="chart", statistics=KNOWN,
        seed=1,
    )  # fmt: skip
    table = streams["c"].finished(spark).drop("ts")
    run(j(a=streams["a"].stream(spark), b=streams["b"].stream(spark), c=table), tmp_path)
    found = ids(results(spark, tmp_path), "abc")
    joined = expected({alias: whole[alias] for alias in "ab"}, "a.k = b.k", dict.fromkeys("ab", WINDOW * 10**6), "ts")
    with duckdb.connect(":memory:", config=CONFIG) as connection:
        connection.register("joined", joined)
        connection.register("c", whole["c"])
        found_there = connection.sql("SELECT a_id, b_id, id AS c_id FROM joined, c WHERE b_m = m").to_arrow_table()
    assert found == ids(found_there, "abc")
    wait_until(lambda: bool(j.report().sections[-1].plans.rates), "rounds are reported")
    assert {len(each.rates) for each in j.report().sections[-1].plans.rates} == {2}
    assert j.chart(k=2).track == []
