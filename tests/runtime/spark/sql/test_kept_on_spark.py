"""On Spark a join is explained with the plan, the buckets and the memory that it begins with, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import frame
from tests.runtime.spark.sql.test_identities import Restarted
from tests.runtime.spark.sql.three_streams import CHAIN, ThreeStreams
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan.query.nodes import WindowJoin
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.task import JoinTask

PARTITIONS = "spark.sql.shuffle.partitions"
STATISTICS: dict[str, Any] = {
    name: {"statistics": {"rows_per_second": rate, "distinct": {"k": 4, "m": values}}}
    for name, rate, values in (("a", 2_000, 3), ("b", 300, 40_000), ("c", 20, 40_000))
}
"""With which the results of b and c are kept. This is not true of the data."""


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[JoinTask]:
    """What joins send to workers."""
    found: list[JoinTask] = []

    def made(*given: Any, **named: Any) -> JoinTask:
        found.append(JoinTask(*given, **named))
        return found[-1]

    monkeypatch.setattr(attach, "JoinTask", made)
    return found


def assert_explained(explained: tw.Explanation, task: JoinTask, buckets: int) -> None:
    """The explanation is that of the plan that workers got."""
    assert len(task.buckets) == task.start.limits.buckets == task.start.estimates.buckets == buckets
    assert task.start.choice is not None
    assert explained.candidates[0] == task.start.choice.chosen
    assert set(task.partitioning.columns) == task.start.estimates.spread
    widths = {alias: sum(each.values()) for alias, each in task.binding.widths.items()}
    assert widths == task.start.estimates.widths


def test_a_query_is_explained_for_the_buckets_in_which_it_is_joined(
    spark: SparkSession, tmp_path: Path, tasks: list[JoinTask]
) -> None:
    """No more than there are partitions."""
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, 1)
    try:
        q = ThreeStreams(tmp_path).session(spark, **STATISTICS).query(CHAIN)
        explained = q.explain()
        handle = q.start(format="noop", trigger="availableNow")
        handle.awaitTermination()
    finally:
        spark.conf.set(PARTITIONS, str(before))
    assert_explained(explained, tasks[-1], 1)
    assert_explained(handle.explain(), tasks[-1], 1)


def test_a_restart_chooses_for_the_buckets_of_its_checkpoint(
    spark: SparkSession, tmp_path: Path, tasks: list[JoinTask]
) -> None:
    """Whatever it chooses, its rows are DuckDB's."""
    restarted = Restarted(spark, tmp_path)
    restarted.go_on(restarted.query())
    assert tasks[-1].start.choice is None
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, 1)
    try:
        restarted.streams.add()
        q = restarted.query(**STATISTICS)
        assert isinstance(q.plan.join, WindowJoin)
        assert start_of(q.plan.join).limits.buckets == 1
        handle = restarted.go_on(q)
    finally:
        spark.conf.set(PARTITIONS, str(before))
    assert_explained(handle.explain(), tasks[-1], 2)
    assert tasks[-1].start.shape is not None
    spark.conf.set("spark.thalweg.max_bytes", 10**9)
    try:
        restarted.streams.add()
        handle = restarted.go_on(restarted.query(**STATISTICS))
    finally:
        spark.conf.unset("spark.thalweg.max_bytes")
    assert_explained(handle.explain(), tasks[-1], 2)
    assert tasks[-1].start.limits.memory == tasks[-1].limits.memory == 10**9


def test_finished_data_are_spread_by_their_sizes(spark: SparkSession, tmp_path: Path, tasks: list[JoinTask]) -> None:
    """They are known when the query runs, and its explanation then has the plan for them."""
    streams = ThreeStreams(tmp_path)
    s = tw.session(spark)
    for name, pieces in streams.pieces.items():
        s.stream(name, frame(spark, pieces[0]), time="ts", **STATISTICS[name])
    handle = s.query(CHAIN).start(format="noop")
    handle.awaitTermination()
    assert_explained(handle.explain(), tasks[-1], 2)


def test_a_join_without_sql_is_explained_with_the_plan_that_workers_get(
    spark: SparkSession, tmp_path: Path, tasks: list[JoinTask]
) -> None:
    frames = {name: each.stream(spark) for name, each in ThreeStreams(tmp_path).files.items()}
    known: dict[str, Any] = {name: {"rows_per_second": rate} for name, rate in (("a", 2_000), ("b", 300), ("c", 20))}
    known["partners"] = {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}
    for given, found in ((None, 2), (3, 3)):
        j = tw.join("a.k = b.k AND b.m = c.m", "5 seconds", "ts", statistics=known, buckets=given)
        assert j(**frames).columns
        assert_explained(j.explain(**frames), tasks[-1], found)
