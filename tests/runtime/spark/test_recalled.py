"""On Spark, a new start of a query begins with what the event records of an earlier run hold."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.counting import multiple_of
from tests.runtime.spark.test_stream import add_file, finish, ids, source, start
from tests.runtime.spark.waiting import wait_until

ROWS = 40_000
ANSWER = [x for x in range(ROWS) if x % 2 == 0 and x % 50 == 0]


def noted(folder: Path, name: str, k: int) -> tw.Predicate:
    """Writes its name to a file of its process, if it is the first to be called there. `even` costs many times as much
    per row, so that a busy machine cannot make it look cheaper."""
    test = multiple_of(k)
    times = 100 if name == "even" else 1

    def predicate(column: pa.Array) -> pa.Array:
        first = folder / f"first-{os.getpid()}"
        if not first.exists():
            first.write_text(name)
        for _ in range(times):
            answer = test(column)
        return answer

    return tw.predicate(predicate, "id", name=name, vectorized=True)


def chain(folder: Path, events: Path | None) -> tw.Filters:
    return tw.filters(
        noted(folder, "even", 2), noted(folder, "rare", 50), policy="a-greedy(p=0.5, alpha=0.5)", seed=1, events=events
    )


def first_calls(folder: Path) -> set[str]:
    """Of every worker process: the predicate that saw its first slice. Forgets the calls."""
    first = list(folder.glob("first-*"))
    found = {path.read_text() for path in first}
    for path in first:
        path.unlink()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "calls").mkdir()
    return tmp_path / "calls"


def test_a_second_batch_run_starts_in_the_learned_order(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    df, events = spark.range(ROWS).repartition(2), tmp_path / "events.jsonl"

    def run(filters: tw.Filters) -> list[int]:
        kept = sorted(row.id for row in df.transform(filters).collect())
        assert filters.report().sections[0].rows == ROWS
        return kept

    assert run(chain(folder, events)) == ANSWER
    assert "even" in first_calls(folder), "the first worker; a later one starts from what it has learned"
    second = chain(folder, events)
    assert run(second) == ANSWER
    assert first_calls(folder) == {"rare"}
    assert second.report().sections[0].order[0] == "rare"
    assert run(chain(folder, None)) == ANSWER
    assert "even" in first_calls(folder), "without the file it learns from zero"


def test_a_restarted_stream_starts_in_the_learned_order(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    events, files = tmp_path / "events.jsonl", tmp_path / "files"
    for number in range(2):
        add_file(files, number, number * ROWS // 4, ROWS // 4)
    first = chain(folder, events)
    finish(start(source(spark, files).transform(first), tmp_path, "out"))
    wait_until(lambda: [s.rows for s in first.report().sections] == [ROWS // 2], "the records of both micro-batches")
    assert "even" in first_calls(folder), "the first worker; a later one starts from what it has learned"
    for number in range(2, 4):
        add_file(files, number, number * ROWS // 4, ROWS // 4)
    finish(start(source(spark, files).transform(chain(folder, events)), tmp_path, "out"))
    assert first_calls(folder) == {"rare"}
    assert ids(spark, tmp_path / "out") == ANSWER
