"""Plans on Spark: the streams of the benchmark, its targets, and a quick run; few rows measure nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

from bench.joins.spark.query_run import BatchProgress
from bench.joins.spark.variants import Ran
from bench.plans import __main__ as command
from bench.plans.fan_out import KEPT
from bench.plans.measured import AGAIN
from bench.plans.on_spark import DEFAULT, fan_out, fan_out_lines, held_by_class
from bench.plans.shapes import MULTIWAY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ran(ms: int) -> Ran:
    one = BatchProgress(0, 100, (1, 1), {"triggerExecution": ms}, 0.0, 0, 0)
    slow = replace(one, durations={"triggerExecution": 99_999})
    return Ran([slow, slow, one, replace(one, number=3)])


def test_speed_on_spark_is_judged_by_batches_that_are_steady() -> None:
    runs = {MULTIWAY: [ran(1000), ran(800)], AGAIN: [ran(1100), ran(800)], KEPT: [ran(250), ran(200)]}
    lines = list(fan_out_lines(fan_out(3_000, 10), {**runs, DEFAULT: [ran(500), ran(400)]}))
    assert {line["variant"]: line["batch_ms_median"] for line in lines[:4]} == {
        MULTIWAY: 900, AGAIN: 950, KEPT: 225, DEFAULT: 450,
    }  # fmt: skip
    assert [(line["value"], line["verdict"], line["aa"]) for line in lines[4:]] == [
        (4.0, "reached", 1.1), (2.0, "missed", 1.1),
    ]  # fmt: skip


def test_the_streams_of_the_fan_out_have_the_declared_numbers() -> None:
    scenario = fan_out(300_000, 300)
    assert scenario.batch_rows == pytest.approx(300_000, abs=3)
    tables = {alias: scenario.table(alias, 1) for alias in "abc"}
    assert {alias: rows.num_rows for alias, rows in tables.items()} == scenario.counts
    found = scenario.statistics["partners"]["a.k = b.k"]
    assert found[0] == pytest.approx(300, rel=0.01)
    keys = tables["b"].column("k").combine_chunks().unique()
    assert tables["b"].num_rows / len(keys) == pytest.approx(found[0])
    assert scenario.statistics["partners"]["b.m = c.m"][0] == pytest.approx(0.01)
    assert held_by_class({"a": 1.0, "b": 10.0, "c": 1000.0}) == {"k": 8011.0, "m": 1018.0}


@pytest.mark.benchmark
@pytest.mark.slow
def test_a_quick_run_on_spark_has_every_variant_and_target(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--quick", "--spark"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    variants = {line["variant"]: line for line in lines if line["line"] == "variant"}
    assert set(variants) == {MULTIWAY, AGAIN, KEPT, DEFAULT}
    assert all(line["batch_ms_median"] > 0 for line in variants.values())
    buckets = [line for line in lines if line["line"] == "buckets"]
    for line in buckets:
        assert sorted(line["copies"].values()) == [1, 1, 8]
        assert line["over_best"] >= 1
        for alias, rows in line["rows_per_batch"].items():  # a window is as long as a batch
            assert line["rows_held"][alias] == pytest.approx(rows, rel=0.1)
    assert [line["scenario"] for line in lines if line["line"] == "target"] == ["fan-out", "fan-out", "buckets"]
