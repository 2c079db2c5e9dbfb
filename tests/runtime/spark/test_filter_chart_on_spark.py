"""Charts of filters on Spark: a finished DataFrame, and a stream that follows a chart; its rows are the right ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.waiting import wait_until
from thalweg.report import Report

N = 4_000


def third(n: int) -> bool:
    return n % 3 == 0


def small(n: int) -> bool:
    return n % 10 < 4


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_finished_data_have_a_rate_and_shares(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(third, "id"), tw.predicate(small, "id"), policy="chart")
    found = spark.range(N).transform(keep).collect()
    assert sorted(row.id for row in found) == [n for n in range(N) if third(n) and small(n)]
    wait_until(lambda: bool(keep.report().sections), "the action is reported")
    chart = keep.chart(k=4)
    assert chart.names == ("rows_per_second", "third", "small")
    assert chart.ranges["rows_per_second"][0] > 0
    assert {chart.plan_at(third=0.1, small=0.9), chart.plan_at(third=0.9, small=0.1)} <= {
        "third → small", "small → third",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_stream_has_rounds_of_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for part in range(3):
        rows = range(part * N, (part + 1) * N)
        times = pa.array([datetime(2026, 1, 1, 12, part, tzinfo=UTC)] * N, pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"id": pa.array(rows, pa.int64()), "ts": times}), source / f"{part}.parquet")
    df = spark.readStream.schema("id long, ts timestamp").option("maxFilesPerTrigger", 1).parquet(str(source))
    s = tw.session(spark)
    s.stream("e", df, time="ts", statistics={"rows_per_second": 200})
    s.function("third", third, returns="boolean")
    s.function("small", small, returns="boolean")
    q = s.query("SELECT id FROM e WHERE third(id) AND small(id)", policy="chart")
    out = str(tmp_path / "out")
    q.start(out, checkpoint=str(tmp_path / "checkpoint"), trigger="availableNow").awaitTermination()
    found = sorted(row.id for row in spark.read.parquet(out).collect())
    assert found == [n for n in range(3 * N) if third(n) and small(n)]

    def rounds() -> int:
        filters = [part for _, part in q.report().parts if isinstance(part, Report)]
        return sum(len(section.rounds) for part in filters for section in part.sections)

    wait_until(lambda: rounds() >= 3, "all micro-batches are reported")
    text = str(q.report())
    assert re.search(r"chart: \d+ rounds?, \d+ moves? to another region", text), text
    chart = q.chart(k=4)
    assert len(chart.track) == 3
    assert {each["rows_per_second"] for each in chart.track} == {200}
    assert chart.names == ("rows_per_second", "third(e.id)", "small(e.id)")
