"""Filters on streams: the same rows however the stream is cut, stopped and replayed, and reports per micro-batch."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.runtime.spark.counting import counting, multiple_of, not_multiple_of, processes, rows_shown
from tests.runtime.spark.waiting import wait_until

SCHEMA = "id long"


def add_file(folder: Path, number: int, start: int, rows: int) -> None:
    folder.mkdir(exist_ok=True)
    aside = folder / f".{number}"
    pq.write_table(pa.table({"id": pa.array(range(start, start + rows), pa.int64())}), aside)
    aside.rename(folder / f"part-{number:03}.parquet")
    os.utime(folder / f"part-{number:03}.parquet", (1_000_000 + number, 1_000_000 + number))


def source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def start(df: DataFrame, folder: Path, name: str) -> StreamingQuery:
    return (
        df.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .start()
    )


def finish(query: StreamingQuery) -> None:
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(row.id for row in spark.read.schema(SCHEMA).parquet(str(folder)).collect())


def chain(folder: Path, **settings: Any) -> tw.Filters:
    return tw.filters(
        tw.predicate(counting(folder, "mostly", not_multiple_of(50)), "id", vectorized=True),
        tw.predicate(counting(folder, "thirds", multiple_of(3)), "id", vectorized=True),
        tw.predicate(counting(folder, "rarely", multiple_of(11)), "id", vectorized=True),
        **settings,
    )


def passes(i: int) -> bool:
    return i % 50 != 0 and i % 3 == 0 and i % 11 == 0


@pytest.mark.parametrize("policy", ["a-greedy", "sweep", "local-swaps", "independent"])
def test_a_stream_gives_the_rows_of_the_finished_data(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    rng, at = random.Random(3), 0
    for number in range(4):
        rows = rng.randrange(1, 9_000)
        add_file(tmp_path / "in", number, at, rows)
        at += rows
    seen = tmp_path / "seen"
    seen.mkdir()
    keep = chain(seen, policy=tw.policy(policy, p=0.3, profile_window=60))
    finish(start(source(spark, tmp_path / "in").transform(keep), tmp_path, "out"))
    assert ids(spark, tmp_path / "out") == [i for i in range(at) if passes(i)]
    wait_until(lambda: [s.rows for s in keep.report().sections] == [at], "every micro-batch in the report")
    (section,) = keep.report().sections
    assert (section.first_batch, section.last_batch) == (0, 3)
    for predicate in section.predicates:
        assert predicate.evaluated + predicate.profiled == rows_shown(seen, predicate.name), predicate.name
    assert "micro-batches 0 to 3 of streaming query" in section.counted


def test_a_query_is_called_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    add_file(tmp_path / "in", 0, 0, 100)
    keep = tw.filters(tw.predicate(lambda i: i > 5, "id", name="above"))
    writer = source(spark, tmp_path / "in").transform(keep).writeStream.format("memory").queryName("orders")
    finish(writer.start())
    wait_until(lambda: bool(keep.report().sections), "the micro-batch in the report")
    (section,) = keep.report().sections
    assert "of micro-batches 0 to 0 of streaming query orders, start " in section.counted
    assert len(section.counted) < 100


def test_one_dataframe_started_twice_and_two_chains_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number, number * 5_000, 5_000)
    folders = [tmp_path / name for name in ("seen", "other")]
    for folder in folders:
        folder.mkdir()
    keep, other = (chain(folder, policy="a-greedy(p=0.2)") for folder in folders)
    filtered = source(spark, tmp_path / "in").transform(keep)
    queries = [
        start(filtered, tmp_path, "first"),
        start(filtered, tmp_path, "second"),
        start(source(spark, tmp_path / "in").transform(other).transform(keep), tmp_path, "third"),
    ]
    for query in queries:
        finish(query)
    expected = [i for i in range(10_000) if passes(i)]
    for name in ("first", "second", "third"):
        assert ids(spark, tmp_path / name) == expected
    wait_until(lambda: sum(s.rows for s in keep.report().sections) == 20_000 + len(expected), "three sections")
    assert sorted(s.rows for s in keep.report().sections) == [len(expected), 10_000, 10_000]
    assert [s.rows for s in other.report().sections] == [10_000]
    assert len({s.run for s in keep.report().sections}) == 3


def test_chains_that_write_to_one_file_are_distinguished(spark: SparkSession, tmp_path: Path) -> None:
    from thalweg.events import read
    from thalweg.report import fold

    add_file(tmp_path / "in", 0, 0, 6_000)
    events = tmp_path / "events.jsonl"
    one = tw.filters(tw.predicate(multiple_of(2), "id", vectorized=True, name="even"), events=events)
    two = tw.filters(
        tw.predicate(multiple_of(3), "id", vectorized=True, name="thirds"),
        tw.predicate(multiple_of(5), "id", vectorized=True, name="fifths"),
        events=events,
    )
    finish(start(source(spark, tmp_path / "in").transform(one).transform(two).transform(one), tmp_path, "out"))
    assert ids(spark, tmp_path / "out") == list(range(0, 6_000, 30))

    def told() -> list[tuple[int, int]]:
        return sorted((section.rows, section.kept) for section in fold(read(events)).sections)

    wait_until(lambda: len(told()) == 3, "three chains in the file")
    assert told() == [(200, 200), (3_000, 200), (6_000, 3_000)]
    assert sorted((s.rows, s.kept) for s in one.report().sections) == [(200, 200), (6_000, 3_000)]


def test_a_stop_and_a_replayed_batch_give_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    keep = chain(seen, policy="a-greedy(p=0.3, profile_window=40)")
    for number in range(5):
        add_file(tmp_path / "in", number, number * 3_000, 3_000)
        finish(start(source(spark, tmp_path / "in").transform(keep), tmp_path, "out"))
        if number in (1, 3):  # Spark forgets that the last batch was committed, and runs it again
            commits = sorted((tmp_path / "out-checkpoint" / "commits").glob("[0-9]*"), key=lambda p: int(p.name))
            commits[-1].unlink()
            (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
    assert ids(spark, tmp_path / "out") == [i for i in range(15_000) if passes(i)]


def workers_with(seen: Path) -> set[int]:
    return {pid for name in ("mostly", "thirds", "rarely") for pid in processes(seen, name)}


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def second_batch_begins_in_the_learned_order(
    spark: SparkSession, tmp_path: Path, between: Callable[[set[int]], None]
) -> None:
    """Two micro-batches, `between` which the workers are replaced. The written order shows `mostly` every row."""
    seen = tmp_path / "seen"
    seen.mkdir()
    keep = chain(seen, policy="a-greedy(p=0.05)")
    rows = 40_000
    add_file(tmp_path / "in", 0, 0, rows)
    query = start(source(spark, tmp_path / "in").transform(keep), tmp_path, "out")
    try:
        query.processAllAvailable()
        old = workers_with(seen)
        assert old
        shown = rows_shown(seen, "mostly")
        between(old)
        add_file(tmp_path / "in", 1, rows, rows)
        query.processAllAvailable()
    finally:
        query.stop()
    new = workers_with(seen) - old
    assert new, "the workers were not replaced"
    # in the learned order `mostly` comes last: it sees what passes the others, and profiled rows
    later = rows_shown(seen, "mostly") - shown
    assert later < rows * (1 / 33 + 0.05) + 1_000, f"{later} rows: the new worker began with the written order"
    assert ids(spark, tmp_path / "out") == [i for i in range(2 * rows) if passes(i)]


def test_new_workers_begin_with_what_their_siblings_learned(spark: SparkSession, tmp_path: Path) -> None:
    def kill(old: set[int]) -> None:
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in old), "the workers are gone")
        time.sleep(0.5)  # until Spark's daemon has noticed

    second_batch_begins_in_the_learned_order(spark, tmp_path, kill)


@pytest.mark.slow
def test_replaced_workers_begin_with_what_was_learned(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself ends Python workers that were idle for a minute, which no setting shortens: it looks every ten
    seconds, and is made to believe here that the minute is over."""

    def a_minute_later(old: set[int]) -> None:
        jvm, env = spark.sparkContext._jvm, spark.sparkContext._jsc.sc().env()
        assert jvm is not None
        factories = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv").getDeclaredField("pythonWorkers")
        factories.setAccessible(True)
        each = factories.get(env).values().iterator()
        begun = jvm.System.nanoTime() - jvm.org.apache.spark.api.python.PythonWorkerFactory.IDLE_WORKER_TIMEOUT_NS()
        while each.hasNext():
            getattr(each.next(), "org$apache$spark$api$python$PythonWorkerFactory$$lastActivityNs_$eq")(begun)
        wait_until(lambda: not any(alive(pid) for pid in old), "the workers are gone", seconds=60)

    second_batch_begins_in_the_learned_order(spark, tmp_path, a_minute_later)


def test_a_null_is_false_in_a_stream_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": pa.array([1, None, 3], pa.int64())}), tmp_path / "in" / "a.parquet")
    keep = tw.filters(tw.predicate(lambda c: pc.greater(c, 1), "id", vectorized=True, name="large"))
    finish(start(source(spark, tmp_path / "in").transform(keep), tmp_path, "out"))
    assert ids(spark, tmp_path / "out") == [3]
