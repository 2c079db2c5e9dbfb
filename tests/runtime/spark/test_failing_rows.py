"""Rows on which predicates raise, on Spark: set aside with all their columns or failing the query, in any order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.filters.outcomes import Outcomes
from tests.runtime.spark.waiting import wait_until
from thalweg.plan import Pipeline

ERRORS_TYPE = "array<struct<predicate:string,error:string>>"


def sevens(i: int) -> bool:
    if i % 1000 == 7:
        raise ValueError(f"seven in {i}")
    return i % 2 == 1


def not_thirds(i: int) -> bool:
    return i % 3 != 0


def fails(i: int) -> bool:
    return i % 1000 == 7 and i % 3 != 0


def filters(**options: Any) -> tw.Filters:
    return tw.filters(tw.predicate(sevens, "id"), tw.predicate(not_thirds, "id"), **options)


PIPELINE = Pipeline(("a", "b", "c", "d"), ((), (0,), (), (2,)))


@pytest.mark.parametrize("seed", range(4))
def test_any_order_against_brute_force(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    case = Outcomes(["".join(rng.choices("TFE", (8, 2, 1), k=4)) for _ in range(4000)], PIPELINE, [True, False] * 2)
    name = ["a-greedy", "sweep", "local-swaps", "duckdb-swap"][seed]
    policy = name if name == "duckdb-swap" else tw.policy(name, p=0.5, profile_window=50)
    keep = tw.filters(*case.predicates, policy=policy, slice_rows=100, on_error="dead-letter")
    df = spark.range(0, 4000, 1, 3).select(F.col("id").alias("row"), F.lit("payload").alias("other"))
    out = df.transform(keep.tagged)
    assert out.schema[:2] == df.schema[:]  # type: ignore[index]  # pyspark's annotations leave slices out
    assert out.schema["thalweg_errors"].dataType.simpleString() == ERRORS_TYPE
    fates = {row: case.fate(row) for row in range(4000)}
    collected = out.collect()
    got = {
        r.row: r.thalweg_errors if r.thalweg_errors is None else list(map(tuple, r.thalweg_errors)) for r in collected
    }
    assert len(got) == len(collected)
    assert {r.other for r in collected} == {"payload"}
    assert got == {row: None if fate is True else fate for row, fate in fates.items() if fate is not False}
    (section,) = keep.report().sections
    failed = sum(isinstance(fate, list) for fate in fates.values())
    assert (section.rows, section.kept, section.calls.failed) == (4000, len(got) - failed, failed)
    assert failed > 20


def test_survivors_alone_and_failures_alone(spark: SparkSession) -> None:
    keep = filters(on_error="dead-letter", policy="a-greedy(p=0.5)")
    df = spark.range(0, 10_000, 1, 2)
    assert df.transform(keep).schema == df.schema
    assert df.transform(keep).count() == sum(1 for i in range(10_000) if i % 1000 != 7 and i % 2 and i % 3)
    failed = keep.failed(df, column="why")
    assert sorted((r.id, [tuple(e) for e in r.why]) for r in failed.collect()) == [
        (i, [("sevens", f"ValueError: seven in {i}")]) for i in range(10_000) if fails(i)
    ]
    renamed = df.transform(keep.tagged, column="why")
    assert renamed.columns == ["id", "why"]
    assert renamed.filter("why is not null").count() == 7
    assert [s.calls.failed for s in keep.report().sections] == [7, 7, 7]


def test_a_message_of_any_characters_arrives(spark: SparkSession) -> None:
    messages = ["\x1e separator", '"quoted" \\ back', "kept?\nline", "\U0001f30a \ud800 ü", "\x00", ""]

    def raises(i: int) -> None:
        raise ValueError(messages[i])

    keep = tw.filters(tw.predicate(raises, "id", name="k\x1e'name'"), on_error="dead-letter")
    rows = keep.failed(spark.range(0, len(messages), 1, 1)).orderBy("id").collect()
    told = [f"ValueError: {m}" if m else "ValueError" for m in messages]
    told[3] = "ValueError: \U0001f30a ? ü"
    assert [[tuple(e) for e in r.thalweg_errors] for r in rows] == [[("k\x1e'name'", text)] for text in told]
    assert keep.report().sections[0].calls.failed == len(messages), "the first row carries errors and work"


def test_the_error_has_names_partition_row_and_values(spark: SparkSession) -> None:
    df = spark.range(0, 3_000, 1, 1)
    told = (
        r"predicate 'sevens' raised ValueError: seven in 7 \(test_failing_rows\.py:\d+ in \w+\)\. "
        r"This is row 7 \(from 0\) of partition 0, which no predicate drops; values: id=7\. .*dead-letter"
    )
    with pytest.raises(Exception, match=told):
        df.transform(filters(slice_rows=10)).collect()
    with pytest.raises(Exception, match=r"'sevens' raised ValueError \(.* in \w+\)\. This is row 7") as caught:
        df.transform(filters(redact=True)).collect()
    assert "values: redacted" in str(caught.value)
    assert "seven in" not in str(caught.value)


def test_a_row_number_is_the_tasks_own_also_in_a_reused_worker(spark: SparkSession) -> None:
    out = spark.range(0, 40, 1, 4).select((F.col("id") % 10).alias("n"))

    def ninth(n: int) -> bool:
        if n == 9:
            raise ValueError
        return True

    for _ in range(2):
        with pytest.raises(Exception, match=r"This is row 9 \(from 0\) of partition \d,"):
            out.transform(tw.filters(tw.predicate(ninth, "n"))).collect()


def test_in_a_stream_failures_are_written_once(spark: SparkSession, tmp_path: Path) -> None:
    for part in range(3):
        spark.range(part * 2000, (part + 1) * 2000, 1, 1).write.mode("append").parquet(str(tmp_path / "in"))
    keep = filters(on_error="dead-letter")
    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    query = (
        stream.transform(keep.tagged)
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    out = spark.read.parquet(str(tmp_path / "out"))
    expected = [i for i in range(6000) if fails(i)]
    assert sorted(r.id for r in out.filter("thalweg_errors is not null").collect()) == expected
    assert out.filter("thalweg_errors is null").count() == sum(
        1 for i in range(6000) if i % 1000 != 7 and i % 2 and i % 3
    )
    wait_until(lambda: sum(s.rows for s in keep.report().sections) == 6000, "the report of all batches")
    assert sum(s.calls.failed for s in keep.report().sections) == len(expected)


def test_what_cannot_be_given_is_refused_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(tw.PlanError, match='use on_error="dead-letter"'):
        spark.range(3).transform(filters().tagged)
    with pytest.raises(tw.PlanError, match="column 'ID' already exists"):
        filters(on_error="dead-letter").failed(spark.range(3), column="ID")
    spark.conf.set("spark.thalweg.on_error", "dead-letter")
    try:
        with pytest.raises(tw.PlanError, match=r"unset it, and write tw.filters\(..., on_error='dead-letter'\)"):
            spark.range(3).transform(filters())
    finally:
        spark.conf.unset("spark.thalweg.on_error")
