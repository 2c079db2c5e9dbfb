"""Conditions on joined rows that tasks evaluate before they write results: the rows that DuckDB and Spark's sink give,
counted as elsewhere, and rows that fail."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, files
from tests.runtime.spark.sink.test_choice import configured
from tests.runtime.spark.test_replay import forget_last_commit
from thalweg.events import Observed, read
from thalweg.report import Report
from thalweg.report.explanation import SINK

WITHIN = "epoch_us(greatest(a.ts, b.ts)) - epoch_us(least(a.ts, b.ts)) <= 5000000"
ALL = "SELECT a.id AS a, b.id AS b, {columns} FROM a, b WHERE a.k = b.k AND {conditions}"


ODD = "odd(a.x, b.x)"


def piece(seed: int, number: int, count: int = 40) -> pa.Table:
    """The rows of ten seconds, in order of time."""
    r = random.Random(f"{seed} {number}")
    ticks = sorted(r.randrange(10 * number * 10**6, 10 * (number + 1) * 10**6) for _ in range(count))
    return pa.table(
        {
            "ts": pa.array([BEGIN_US + tick for tick in ticks], pa.int64()).cast(UTC),
            "k": pa.array([r.choice([0, 1, 2, 3, None]) for _ in ticks], pa.int64()),
            "x": pa.array([r.randrange(6) for _ in ticks], pa.int64()),
            "id": pa.array(range(1000 * number, 1000 * number + count), pa.int64()),
        }
    )


class TwoStreams:
    """Files of two streams, and what DuckDB finds in all of them."""

    def __init__(self, folder: Path, seed: int, pieces: int = 3) -> None:
        self.pieces = {name: [piece(seed + n, k) for k in range(pieces)] for n, name in enumerate("ab")}
        self.files: dict[str, Files] = files(folder / "in", self.pieces)

    def session(self, spark: SparkSession) -> tw.Session:
        s = tw.session(spark)
        for name, each in self.files.items():
            s.stream(name, each.stream(spark), time="ts")
        s.function("near", lambda one, other: abs(one - other) <= 2, returns="boolean")
        s.function("odd", lambda one, other: (one + other) % 2 == 1, returns="boolean")
        s.function("exceeds", lambda one, other: one // other >= 1, returns="boolean")
        return s

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(config={"error_on_division_by_zero": "false"}) as other:
            for name, pieces in self.pieces.items():
                other.register(name, pa.concat_tables(pieces))
            return sorted(other.execute(query).fetchall())


def run(s: tw.Session, text: str, folder: Path, sink: str, **given: Any) -> tuple[list[tuple[Any, ...]], Any]:
    """The rows in the folder, and the handle."""
    handle = s.query(text + " WINDOW 5 SECONDS", **given).start(
        path=folder / sink, checkpoint=folder / f"{sink}-checkpoint", trigger="availableNow", sink=sink
    )
    handle.awaitTermination()
    return written(folder / sink), handle


def written(folder: Path) -> list[tuple[Any, ...]]:
    found = list(folder.glob("*.parquet"))
    if not found:
        return []
    return sorted(duckdb.connect().execute(f"SELECT * FROM read_parquet('{folder}/*.parquet')").fetchall())


CONDITIONS = {
    "functions": ("near(a.x, b.x) AND odd(a.x, b.x)", "abs(a.x - b.x) <= 2 AND (a.x + b.x) % 2 = 1"),
    "functions and an expression that can raise": (
        "odd(a.x, b.x) AND a.x <> 0 AND 10 / a.x > b.x", "(a.x + b.x) % 2 = 1 AND a.x <> 0 AND 10.0 / a.x > b.x",
    ),
    "only expressions, which Spark's sink leaves to the JVM": (
        "a.x <> 0 AND 10 / a.x > b.x AND a.id <> b.id", "a.x <> 0 AND 10.0 / a.x > b.x AND a.id <> b.id",
    ),
}  # fmt: skip


@pytest.mark.parametrize("conditions", CONDITIONS)
def test_the_rows_of_duckdb_and_of_spark_s_sink(spark: SparkSession, tmp_path: Path, conditions: str) -> None:
    ours, theirs = CONDITIONS[conditions]
    streams = TwoStreams(tmp_path, seed=len(conditions))
    columns = "a.x + b.x AS total"
    expected = streams.ask(ALL.format(columns=columns, conditions=f"{theirs} AND {WITHIN}"))
    assert expected
    text = ALL.format(columns=columns, conditions=ours)
    s = streams.session(spark)
    found, handle = run(s, text, tmp_path, "tasks")
    assert found == expected
    if "JVM" in conditions:  # the same rows, evaluated elsewhere
        assert run(s, text, tmp_path, "spark")[0] == expected
    assert handle.explain().lines(SINK)[0].startswith("the tasks that find results write them")
    (condition,) = re.findall(r"/ a\.x > .*\((\w+)\)", str(handle.explain())) or [None]
    assert condition == ("Arrow" if "/ a.x" in ours else None)


@pytest.fixture
def only_batches_with_rows(spark: SparkSession) -> Iterator[None]:
    with configured(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"):
        yield


@pytest.mark.usefixtures("only_batches_with_rows")
def test_the_filter_reports_and_a_batch_that_is_run_again_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    streams = TwoStreams(tmp_path, seed=8)
    joined = streams.ask(f"SELECT a.id, b.id FROM a, b WHERE a.k = b.k AND {WITHIN}")
    expected = streams.ask(f"SELECT a.id, b.id FROM a, b WHERE a.k = b.k AND (a.x + b.x) % 2 = 1 AND {WITHIN}")
    s = streams.session(spark)
    text = f"SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND {ODD}"
    events = tmp_path / "events.jsonl"
    found, handle = run(s, text, tmp_path, "tasks", events=events)
    assert found == expected

    def section(run: Any) -> Any:
        (report,) = [part for name, part in run.report().parts if name == "filter of joined rows"]
        assert isinstance(report, Report)
        return report.sections[0]

    assert (section(handle).rows, section(handle).kept) == (len(joined), len(expected)), "at once, without waiting"
    forget_last_commit(tmp_path / "tasks-checkpoint")
    found, again = run(s, text, tmp_path, "tasks", events=events)
    assert found == expected
    assert 0 < section(again).rows < len(joined), "the last micro-batch again"
    found_in = [record for record in read(events) if isinstance(record, Observed) and record.predicates == (ODD,)]
    last = {record.origin.batch: record.origin.start for record in found_in}
    counted_last = sum(record.chain.rows for record in found_in if last[record.origin.batch] == record.origin.start)
    assert counted_last == len(joined), "a micro-batch has the records of its last run"


def test_rows_that_fail(spark: SparkSession, tmp_path: Path) -> None:
    streams = TwoStreams(tmp_path, seed=3)
    s = streams.session(spark)
    text = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND exceeds(a.x, b.x) AND odd(a.x, b.x)"
    with pytest.raises(tw.QueryError, match=r"exceeds\(a.x, b.x\)' raised ZeroDivisionError") as raised:
        run(s, text, tmp_path / "raise", "tasks")
    assert "of the joined rows of one task" in str(raised.value)
    both = f"FROM a, b WHERE a.k = b.k AND a.x // b.x >= 1 AND (a.x + b.x) % 2 = 1 AND {WITHIN}"
    expected = streams.ask(f"SELECT a.id, b.id {both}")
    assert expected
    found, _ = run(s, text, tmp_path / "aside", "tasks", on_error="dead-letter")
    assert found == expected
    with pytest.raises(tw.QueryError) as hidden:
        run(s, text, tmp_path / "hidden", "tasks", redact=True)
    assert "ZeroDivisionError" in str(hidden.value)
    assert "redacted" in str(hidden.value)


def test_a_condition_that_raises_on_rows_that_another_drops(spark: SparkSession, tmp_path: Path) -> None:
    """In tasks, as in this process, the written order of conditions does not matter. Spark's sink leaves them to the
    JVM, which fails at the first row on which one raises."""
    streams = TwoStreams(tmp_path, seed=5)
    s = streams.session(spark)
    conditions = "12 % (a.x - b.x) = 0 AND a.x + 0 * b.x <> b.x"
    expected = streams.ask(
        f"SELECT a.id, b.id FROM a, b WHERE a.k = b.k AND a.x <> b.x AND 12 % (a.x - b.x) = 0 AND {WITHIN}"
    )
    assert expected
    text = f"SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND {conditions}"
    assert run(s, text, tmp_path, "tasks")[0] == expected
    with pytest.raises(tw.QueryError, match=r"REMAINDER_BY_ZERO|DIVIDE_BY_ZERO"):
        run(s, text, tmp_path, "spark")


def test_errors_before_the_join_and_after_it(spark: SparkSession, tmp_path: Path) -> None:
    """A row on which a condition raises before the join fails only if no condition after the join drops it."""
    streams = TwoStreams(tmp_path, seed=4)
    s = streams.session(spark)
    s.function("fifth", lambda x: 10 // x == 2, returns="boolean")
    text = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND fifth(a.x) AND a.x <> 0 AND exceeds(b.x, a.x)"
    expected = streams.ask(
        "SELECT a.id, b.id FROM a, b WHERE a.k = b.k AND a.x <> 0 AND 10 // a.x = 2 AND b.x // a.x >= 1 AND " + WITHIN
    )
    assert expected
    assert run(s, text, tmp_path, "tasks")[0] == expected
    failing = text.replace("a.x <> 0 AND ", "")
    with pytest.raises(tw.QueryError, match=r"fifth\(a.x\)' raised ZeroDivisionError.*exceeds\(b.x, a.x\)' raised"):
        run(s, failing, tmp_path / "raise", "tasks")
    aside, _ = run(s, failing, tmp_path / "aside", "tasks", on_error="dead-letter")
    assert aside == expected
