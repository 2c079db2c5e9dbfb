"""Spark's window aggregates equal DuckDB's: all of finished data, and for streams those that the watermark passed."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.kernels.aggregates_oracle import in_ticks, rows
from tests.kernels.generated_aggregates import Case, cases
from tests.long_run import examples
from tests.runtime.spark.joins.streams import BEGIN_US, NTZ, UTC, Files, frame, results, run, streaming
from thalweg.errors import PlanError
from thalweg.plan.joins.window import GroupWindow
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec
from thalweg.runtime.spark.joins.stream_watermarks import has_watermark
from thalweg.runtime.spark.sql.aggregates import aggregate

ZONE = "spark.sql.session.timeZone"
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
COUNT = AggregateColumn("count", None, pa.int64())
MINUTE_US = 60 * 10**6
FEW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

SetZone = Callable[[str], None]


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[SetZone]:
    """A function that sets the session's time zone, which is restored at the end."""
    yield lambda name: spark.conf.set(ZONE, name)
    spark.conf.set(ZONE, "UTC")


@examples(4, long=100, suppress_health_check=FEW)
@given(case=cases(spark=True), zone_name=st.sampled_from(ZONES))
def test_finished_data(spark: SparkSession, zone: SetZone, case: Case, zone_name: str) -> None:
    zone(zone_name)
    out = aggregate(frame(spark, case.table), case.spec).toArrow()
    assert out.schema.names == list(case.spec.output_names)
    assert [kind for _, kind in _types(out)] == [kind for _, kind in _types(case.spec.output(case.table.schema))]
    assert rows(in_ticks(out)) == case.expected()


@examples(2, long=40, suppress_health_check=FEW)
@given(case=cases(spark=True, begin=BEGIN_US), zone_name=st.sampled_from(ZONES))
def test_streams(spark: SparkSession, zone: SetZone, case: Case, zone_name: str) -> None:
    zone(zone_name)
    # in milliseconds, as Spark's watermarks are
    ticks = [None if tick is None else BEGIN_US + (tick - BEGIN_US) * 1000 for tick in case.ticks]
    window = GroupWindow(case.length * 1000, case.slide * 1000)
    plain = tuple(replace(a, distinct=False) for a in case.spec.aggregates)
    spec = replace(case.spec, window=window, aggregates=plain)
    times = pa.array(ticks, pa.int64()).cast(case.table.schema.field("t").type)
    table = case.table.set_column(0, "t", times)
    case = replace(case, table=table, ticks=ticks, spec=spec, length=window.length_us, slide=window.slide_us)
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder) / "in", table.schema)
        for batch in case.batches[:2]:
            files.add(pa.Table.from_batches([batch]))
        files.add(table.slice(sum(batch.num_rows for batch in case.batches[:2])))
        run(aggregate(files.stream(spark), spec, case.lateness * 1000), Path(folder))
        out = in_ticks(results(spark, Path(folder)))
    mark = max((tick for tick in ticks if tick is not None), default=BEGIN_US) - case.lateness * 1000
    assert rows(out) == [row for row in case.expected() if int(row[1]) <= mark]


def _types(schema: pa.Schema | pa.Table) -> list[tuple[str, str]]:
    fields = schema.schema if isinstance(schema, pa.Table) else schema
    return [(f.name, "timestamp" if pa.types.is_timestamp(f.type) and f.type.tz else str(f.type)) for f in fields]


@pytest.mark.parametrize(
    ("kind", "zone_name"),
    [(NTZ, ZONES[1]), (UTC, ZONES[1]), (UTC, ZONES[2]), (pa.int64(), ZONES[1])],
    ids=["ntz", "instants", "half hours", "numbers"],
)
def test_windows_of_seven_minutes_when_hours_occur_twice(
    spark: SparkSession, zone: SetZone, tmp_path: Path, kind: pa.DataType, zone_name: str
) -> None:
    """They begin at multiples of seven minutes since 1970 in UTC; 60 is not a multiple of seven."""
    zone(zone_name)
    minutes = [
        *range(0, 24 * 60, 11),
        *range(238 * 24 * 60, 239 * 24 * 60, 13),
    ]  # the nights when clocks change in New York
    ticks = [BEGIN_US + minute * MINUTE_US for minute in minutes]
    table = pa.table({"t": pa.array(ticks, pa.int64()).cast(kind), "x": pa.array(range(len(ticks)), pa.int64())})
    spec = GroupSpec(
        "t", GroupWindow(7 * MINUTE_US, 7 * MINUTE_US), (), (AggregateColumn("sum", "x", pa.int64()), COUNT)
    )
    sums: dict[int, list[int]] = {}
    for tick, x in zip(ticks, range(len(ticks)), strict=True):
        sums.setdefault(tick // (7 * MINUTE_US) * 7 * MINUTE_US, []).append(x)
    expected = sorted((start, start + 7 * MINUTE_US, sum(xs), len(xs)) for start, xs in sums.items())
    files = Files(tmp_path / "in", table.schema)
    for start in range(0, table.num_rows, 100):
        files.add(table.slice(start, 100))
    windows = aggregate(files.stream(spark), spec)
    name = {NTZ: "timestamp_ntz", UTC: "timestamp"}.get(kind, "bigint")
    assert windows.dtypes == [("window_start", name), ("window_end", name), ("agg 0", "bigint"), ("agg 1", "bigint")]
    run(windows, tmp_path)
    passed = [row for row in expected if row[1] <= max(ticks)]
    assert len(passed) < len(expected)
    for out, rows_ in (
        (results(spark, tmp_path), passed),
        (aggregate(files.finished(spark), spec).toArrow(), expected),
    ):
        assert sorted(tuple(row.values()) for row in in_ticks(out).to_pylist()) == rows_


def test_an_existing_watermark_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    ticks = [BEGIN_US + second * 10**6 for second in (0, 5, 61, 59, 130, 131, 10, 190)]
    table = pa.table({"t": pa.array(ticks, pa.int64()).cast(UTC)})
    files = Files(tmp_path / "in", table.schema)
    for n in range(len(ticks)):
        files.add(table.slice(n, 1))
    df = files.stream(spark).withWatermark("t", "1 minute")
    assert has_watermark("s", df, "t")
    spec = GroupSpec("t", GroupWindow(MINUTE_US, MINUTE_US), (), (COUNT,))
    run(aggregate(df, spec, watermarked=True), tmp_path)
    out = in_ticks(results(spark, tmp_path)).to_pylist()
    # second 10 arrived when the watermark had been at 70 for two micro-batches; at the end it reached 130
    starts = [(row["window_start"] - BEGIN_US) // MINUTE_US for row in out]
    assert sorted(zip(starts, (row["agg 0"] for row in out), strict=True)) == [(0, 3), (1, 1)]


@pytest.mark.slow
def test_after_a_join_its_watermark_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    """For TIMESTAMP_NTZ, on which Spark does not let a user define a watermark."""
    ticks = [BEGIN_US + second * 10**6 for second in range(100)]
    table = pa.table({"t": pa.array(ticks, pa.int64()).cast(NTZ), "k": [n % 3 for n in range(100)]})
    streams = {alias: Files(tmp_path / alias, table.schema) for alias in "ab"}
    for each in streams.values():
        each.add(table.slice(0, 60))
        each.add(table.slice(60))
    joined = tw.join(on="a.k = b.k", window="10 seconds", time="t")(**streaming(spark, streams))
    spec = GroupSpec("event_time", GroupWindow(30 * 10**6, 30 * 10**6), ("a_k",), (COUNT,))
    df = aggregate(joined, spec, watermarked=has_watermark("ab", joined, "event_time"))
    assert df.dtypes[:2] == [("window_start", "timestamp_ntz"), ("window_end", "timestamp_ntz")]
    run(df, tmp_path)
    expected = Counter(
        ((BEGIN_US + max(i, j) * 10**6) // (30 * 10**6) * 30 * 10**6, i % 3)
        for i in range(100)
        for j in range(100)
        if i % 3 == j % 3 and abs(i - j) <= 10
    )
    out = in_ticks(results(spark, tmp_path)).to_pylist()
    found = {(row["window_start"], row["key 0"]): row["agg 0"] for row in out}
    assert len(found) == len(out) == 9  # the watermark is at second 99 and has passed three windows
    assert found == {group: count for group, count in expected.items() if group[0] + 30 * 10**6 <= ticks[-1]}


def test_a_late_row_that_only_spark_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Second 20 is below the watermark of 30, and its window [0, 60) has not ended."""
    table = pa.table({"t": pa.array([BEGIN_US + s * 10**6 for s in (30, 20, 70)], pa.int64()).cast(UTC)})
    files = Files(tmp_path / "in", table.schema)
    for n in range(3):
        files.add(table.slice(n, 1))
    run(aggregate(files.stream(spark), GroupSpec("t", GroupWindow(MINUTE_US, MINUTE_US), (), (COUNT,))), tmp_path)
    assert results(spark, tmp_path)["agg 0"].to_pylist() == [2]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"t": pa.array([BEGIN_US], pa.int64()).cast(UTC), "x": ["a"]})
    files = Files(tmp_path / "in", table.schema)
    files.add(table)
    distinct = AggregateColumn("count", "x", pa.int64(), distinct=True, text="count(DISTINCT x)")
    spec = GroupSpec("t", GroupWindow(MINUTE_US, MINUTE_US), (), (distinct,))
    with pytest.raises(
        PlanError, match=r"count\(DISTINCT x\): Spark cannot count distinct values.*; group by the column"
    ):
        aggregate(files.stream(spark), spec)
    assert aggregate(files.finished(spark), spec).toArrow()["agg 0"].to_pylist() == [1]
    with pytest.raises(PlanError, match="no column 'y'"):
        aggregate(files.stream(spark), replace(spec, keys=("y",)))
    with pytest.raises(PlanError, match="the time x is string; cast it to a timestamp or a whole number"):
        aggregate(files.stream(spark), replace(spec, time="x"))


def test_a_sum_that_does_not_fit_raises(spark: SparkSession) -> None:
    from pyspark.errors import ArithmeticException

    table = pa.table({"t": pa.array([0, 1], pa.int64()).cast(UTC), "x": pa.array([2**63 - 1, 1], pa.int64())})
    spec = GroupSpec("t", GroupWindow(MINUTE_US, MINUTE_US), (), (AggregateColumn("sum", "x", pa.int64()),))
    with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
        aggregate(frame(spark, table), spec).collect()


def test_zeros_of_either_sign(spark: SparkSession) -> None:
    """The minimum and maximum of zeros are 0.0, whichever comes first, in this process and on Spark."""
    zeros = [[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [-0.0, -1.0], [-0.0, 1.0], [math.nan, -0.0]]
    numbers = [number for pair in zeros for number in pair]
    table = pa.table({
        "ts": pa.array([0] * len(numbers), pa.timestamp("us")),
        "k": [n // 2 for n in range(len(numbers))],
        "d": numbers,
        "f": pa.array(numbers, pa.float32()),
    })  # fmt: skip
    aggregates = [f"{function}({column})" for function in ("min", "max", "sum", "avg") for column in "df"]
    listed = ", ".join(f"{each} AS x{n}" for n, each in enumerate(aggregates))
    text = f"SELECT k, {listed} FROM s GROUP BY k, TUMBLE(1 DAY)"
    found = []
    for s, data in ((tw.session(), table), (tw.session(spark), spark.createDataFrame(table).repartition(3))):
        s.stream("s", data, time="ts")
        rows = s.query(text).dataframe()
        made = rows if isinstance(rows, pa.Table) else rows.toArrow()
        found.append([repr(row) for row in made.sort_by("k").to_pylist()])
        signs = [math.copysign(1, row[f"x{n}"]) for row in made.sort_by("k").to_pylist()[:3] for n in range(4)]
        assert signs == [1.0] * 12
    assert found[0] == found[1]
