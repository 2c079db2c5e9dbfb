"""Native predicates that can raise see no row that one written before them drops: filtered, sampled, learned, moved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.guarded_chains import ROWS, WRITTEN, Part, chain, kept
from tests.runtime.spark.test_guarded import CONFIGURATIONS, configured
from thalweg.runtime.spark import native

SCHEMA = "id int, kind string, x int, s string, p string"


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).repartition(2).localCheckpoint()


def filters_of(parts: Sequence[Part], **settings: Any) -> tw.Filters:
    """The last one perhaps with `after=`, which says no more than the order does if it can raise."""
    names = [f"p{n}" for n in range(len(parts))]
    after = random.Random(parts[-1].sql).choice([[], names[:-1]])
    return tw.filters(
        *(tw.predicate(F.expr(part.sql), name=name) for name, part in zip(names[:-1], parts[:-1], strict=True)),
        tw.predicate(F.expr(parts[-1].sql), name=names[-1], after=after),
        **settings,
    )


def all_at_once(df: DataFrame, sets: Sequence[tw.Filters]) -> DataFrame:
    """Each filters the same rows; one job instead of many."""
    return reduce(
        DataFrame.union, [df.transform(keep).select(F.lit(n).alias("n"), "id") for n, keep in enumerate(sets)]
    )


def by_chain(rows: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    return [sorted(row[1] for row in rows if row[0] == n) for n in range(count)]


def drawn(what: str, count: int) -> tuple[list[list[Part]], list[list[int]]]:
    chains = [WRITTEN, *(chain(random.Random(f"{what} {n}")) for n in range(1, count))]
    return chains, [kept(parts) for parts in chains]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_random_chains(spark: SparkSession, df: DataFrame, configuration: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With almost every row sampled, in the order that is written and in the one that is learned."""
    monkeypatch.setattr(native, "SHARE", 0.9)  # of `auto`, which has no p
    chains, expected = drawn(configuration, 5)
    assert sum(map(bool, expected)) > 2
    sets = [filters_of(parts, seed=5, policy="a-greedy(p=0.9)" if n % 2 else "auto") for n, parts in enumerate(chains)]
    with configured(spark, CONFIGURATIONS[configuration]):
        for _ in range(2):
            assert by_chain(all_at_once(df, sets).collect(), 5) == expected
        written = [filters_of(parts, policy="static") for parts in chains]
        assert by_chain(all_at_once(df, written).collect(), 5) == expected


def test_what_spark_moves(df: DataFrame) -> None:
    """It moves conjuncts below joins and groups, and repeats them on the other side of a join."""
    chains, expected = drawn("moved", 3)
    others = df.select(F.col("x").alias("y"), F.lit(1).alias("one")).distinct()
    joined = df.join(others, F.col("x").eqNullSafe(F.col("y")))
    grouped = df.groupBy("id", "x", "s", "p").agg(F.max("kind").alias("kind"))
    found = []
    for n, parts in enumerate(chains):
        keep = filters_of(parts, policy="static")
        before = df.transform(keep).join(others, F.col("x") == F.col("y"))
        found += [
            rows.select(F.lit(3 * n + m), "id")
            for m, rows in enumerate([before, joined.transform(keep), grouped.transform(keep)])
        ]
    wanted = [(rows_with_x(rows), rows, rows) for rows in expected]
    assert by_chain(reduce(DataFrame.union, found).collect(), 9) == [rows for three in wanted for rows in three]


def rows_with_x(ids: Sequence[int]) -> list[int]:
    return [n for n in ids if ROWS[n].x is not None]


def test_a_stream(spark: SparkSession, tmp_path: Path, df: DataFrame) -> None:
    chains, expected = drawn("stream", 3)
    df.coalesce(1).write.parquet(str(tmp_path / "in"))
    source = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    out = all_at_once(source, [filters_of(parts, policy="a-greedy(p=0.9)", seed=5) for parts in chains])
    query = (
        out.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()
    assert by_chain(spark.read.parquet(str(tmp_path / "out")).collect(), 3) == expected


def test_a_sample_counts_a_predicate_where_its_guards_hold(df: DataFrame) -> None:
    """So the report's shares are of those rows, and nothing else is evaluated."""
    keep = tw.filters(
        tw.predicate(F.expr("coalesce(x, 1) <> 0"), name="guard"),
        tw.predicate(F.expr("lower(kind) = 'good'"), name="good"),
        tw.predicate(F.expr("10 DIV x BETWEEN 2 AND 5"), name="divided"),
        policy="a-greedy(p=1.0)",
    )
    df.transform(keep).count()
    assert keep.learn(df, share=1.0) == len(ROWS)
    part = keep.report().sections[0].native
    assert part is not None
    shown = {p.name: p for p in part.predicates}
    before = [row for row in ROWS if row.x != 0 and row.kind == "good"]
    passed = [row for row in before if row.x is not None and 2 <= 10 // row.x <= 5]
    assert shown["guard"].sampled == shown["good"].sampled == len(ROWS)
    assert (shown["divided"].sampled, shown["divided"].selectivity) == (len(before), len(passed) / len(before))


@pytest.mark.parametrize("policy", ["a-greedy(p=1.0)", "auto"])
def test_a_column_with_its_own_guard_is_safe(spark: SparkSession, policy: str) -> None:
    """Also where rows are sampled, and whatever Spark computes once because it occurs twice."""
    df = spark.createDataFrame(
        [(n, n % 4, "good" if n % 8 else "bad") for n in range(400)], "id int, x int, kind string"
    )
    own = (F.col("x") != 0) & (F.lit(10) / F.col("x") > 2) & (F.lit(10) / F.col("x") < 5.5)
    for column in (own, F.expr("x <> 0 AND 10 DIV x > 2 AND 10 DIV x < 6"), ~((F.col("x") == 0) | ~own)):
        good = F.lower("kind") == "good"
        expected = df.filter(column).filter(good).count()
        assert 0 < expected < 400
        keep = tw.filters(column, good, policy=policy)
        for _ in range(2):
            assert df.transform(keep).count() == expected
        assert tw.filters(column, good).learn(df, share=1.0) == 400
