"""What a join on Spark refuses, and the remedy each refusal names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.joins.streams import files, ids, results, rows, run, start, streaming
from thalweg.errors import PlanError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"

Put = Callable[[str, str], None]
"""Sets a key of the configuration."""
Pair = dict[str, DataFrame]


@pytest.fixture
def pair(spark: SparkSession) -> Pair:
    """Two streams with `ts`, `k` and a whole number `n`."""
    ticks = spark.readStream.format("rate").load().select(F.col("timestamp").alias("ts"), F.col("value").alias("k"))
    return {"a": ticks, "b": ticks}


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Put]:
    """Sets what is put back afterwards."""
    before: dict[str, str | None] = {}

    def put(name: str, value: str) -> None:
        before[name] = spark.conf.get(name, None)
        spark.conf.set(name, value)

    yield put
    for name, value in before.items():
        spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def simple(**settings: Any) -> tw.Join:
    return tw.join(**{"on": "a.k = b.k", "window": "5 seconds", "time": "ts", **settings})


def test_a_state_store_that_cannot_hold_the_windows(pair: Pair, conf: Put) -> None:
    conf(PROVIDER, HDFS)
    with pytest.raises(PlanError, match=r"uses \S+HDFSBackedStateStoreProvider.*spark\.conf\.set\(.*RocksDB"):
        simple()(**pair)


def test_a_watermark_that_follows_the_fastest_stream(pair: Pair, conf: Put) -> None:
    conf(POLICY, "max")
    with pytest.raises(PlanError, match=r'is \'max\'.*late.*spark\.conf\.set\("\S+", "min"\)'):
        simple()(**pair)


def test_a_watermark_on_a_column_that_is_gone(spark: SparkSession, pair: Pair) -> None:
    marked = pair["a"].withColumn("seen", F.col("ts")).withWatermark("seen", "1 second").drop("seen")
    with pytest.raises(PlanError, match=r"b has a watermark on a column that was dropped.*set it on ts, or remove"):
        simple()(a=pair["a"], b=marked)
    with pytest.raises(PlanError, match="lateness="):
        simple().explain(a=marked, b=pair["b"])
    # one of finished data is none, and a name is not one
    names = spark.range(3).select(F.current_timestamp().alias("seen"), F.col("id").alias("k"))
    named = pair["a"].join(names.withWatermark("seen", "1 second"), "k").drop("seen")
    simple()(a=named, b=pair["b"].withColumn("EventTimeWatermark", F.lit(1)))


def test_finished_data_beside_streams_is_taken_as_a_table(spark: SparkSession, pair: Pair) -> None:
    finished = spark.range(3).select(F.current_timestamp().alias("ts"), F.col("id").alias("k"))
    join = simple(on="a.k = b.k AND a.k = c.k", window={"a": "5 seconds", "b": "5 seconds"})
    with pytest.warns(
        UserWarning, match=r"c is finished data.*has the column ts\..*spark\.readStream.*dict without c"
    ) as told:
        join(**pair, c=finished)
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join(**pair, c=finished)
        # said, or without times
        simple(on="b.k = a.k AND a.k = c.k", time={"a": "ts", "b": "ts"})(**pair, c=finished)
        simple(on="c.k = a.k AND a.k = b.k")(**pair, c=finished.drop("ts"))
    with pytest.warns(UserWarning, match="d is finished data"):
        simple(on="a.k = d.k")(a=pair["a"], d=finished)


def test_whole_numbers_as_times_of_streams(pair: Pair) -> None:
    with pytest.raises(PlanError, match=r"time=.*TIMESTAMP or TIMESTAMP_NTZ; use F\.timestamp_micros"):
        simple(time="k", window=5)(**pair)


def test_streams_that_do_not_fit_the_conditions(spark: SparkSession, pair: Pair) -> None:
    join = simple()
    with pytest.raises(PlanError, match=r"'bb' is not a stream in on='a\.k = b\.k'.*did you mean 'b'"):
        join(**pair, bb=pair["b"])
    with pytest.raises(PlanError, match=r"there is no DataFrame for b; add b=df to the call"):
        join(a=pair["a"])
    with pytest.raises(PlanError, match=r"b: a pyarrow Table is not a Spark DataFrame.*j\.over\("):
        join(a=pair["a"], b=pa.table({"k": [1]}))
    with pytest.raises(PlanError, match=r"on=: b has no column 'k'.*it has ts, key"):
        join(a=pair["a"], b=pair["b"].withColumnRenamed("k", "key"))


def test_a_stream_as_a_table(pair: Pair) -> None:
    with pytest.raises(PlanError, match=r"b is a stream, but window= or time= leaves it out; add 'b': \.\.\. there"):
        simple(window={"a": "5 seconds"})(**pair)
    with pytest.raises(PlanError, match="time="):
        simple().explain(a=pair["a"], b=pair["b"].withColumn("ts", F.lit("noon")))


def failure(df: DataFrame, folder: Path) -> str:
    """What a query that cannot run says."""
    query = start(df, folder)
    with pytest.raises(StreamingQueryException) as failed:
        query.awaitTermination(120)
    return str(failed.value)


@pytest.mark.parametrize("which", ["its window", pytest.param("all four", marks=pytest.mark.long)])
def test_a_checkpoint_of_another_join(spark: SparkSession, tmp_path: Path, which: str) -> None:
    streams = files(tmp_path, {alias: [rows([0, 1])] for alias in "ab"})
    run(simple(buckets=2)(**streaming(spark, streams)), tmp_path)
    for files_of_one in streams.values():
        files_of_one.add(rows([2], first_id=2))
    others: dict[str, dict[str, Any]] = {
        "it had 'a: window of 5 s, .*now there is 'a: window of 5 s 10 ms, ": {"window": "5.01 seconds"},
        "it had 'buckets=2 by a.k = b.k'; now there is 'buckets=3 .*as it was, with buckets=2": {"buckets": 3},
        # sources must stay in their places, or the checkpoint is of no use to the join that wrote it either
        "it had 'on a.k = b.k'.*now there is 'on b.k = a.k'": {"on": "b.k = a.k"},
        "it had 'a: .*stored .*id int64.*now there is 'a: [^']*stored k int64'": {"select": ["a.k", "b.*"]},
    }
    for said, settings in list(others.items())[: 1 if which == "its window" else None]:
        error = failure(simple(**{"buckets": 2, **settings})(**streaming(spark, streams)), tmp_path)
        assert re.search(f"written by another join: {said}", error), error
        assert "give the new join its own checkpoint" in error
    # lateness and policy may change, and nothing was lost by the attempts
    run(simple(buckets=2, lateness="1 second", policy="static")(**streaming(spark, streams)), tmp_path)
    assert ids(results(spark, tmp_path), "ab") == [(a, b) for a in range(3) for b in range(3)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_matches": 30}, r"one row of [ab] \(k='common'\) has more than 30 matches.*filter it out.*max_matches="),
        (
            {"max_bytes": 60_000},
            r"more than 60.0 kB of memory \(a [\d.]+ kB in .* rows, b .* rows\).*make windows shorter.*max_bytes=",
        ),
        (
            {"max_bytes": 500},
            r"a micro-batch has more than 500 bytes for one of 2 buckets; read less at a time.*max_bytes=",
        ),
    ],
)
def test_limits_fail_the_query_and_say_at_what(
    spark: SparkSession, tmp_path: Path, settings: dict[str, int], said: str
) -> None:
    keys = ["common"] * 40 + [f"key {n}" for n in range(60)]
    streams = files(tmp_path, {alias: [rows([0] * 100, keys)] for alias in "ab"})
    error = failure(simple(**settings)(**streaming(spark, streams)), tmp_path)
    assert "JoinLimitError" in error
    assert re.search(said, error.replace("\n", " ")), error
