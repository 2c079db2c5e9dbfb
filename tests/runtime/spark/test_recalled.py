"""On Spark, a new start of a query begins with what the event records of an earlier run hold."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.spark.counting import multiple_of
from tests.runtime.spark.test_stream import add_file, finish, ids, source, start

ROWS = 40_000
ANSWER = [x for x in range(ROWS) if x % 2 == 0 and x % 50 == 0]


def noted(folder: Path, name: str, k: int):
    """Writes down each call, with its place among those of its process. `even` costs many times as much per row, so
    that the noise of writing, which is nearly all a call of the other takes, cannot make it look cheaper."""
    test = multiple_of(k)
    times = 30 if name == "even" else 1

    def predicate(column: pa.Array) -> pa.Array:
        with (folder / f"calls-{os.getpid()}").open("a") as out:
            out.write(f"{name} {len(column)}\n")
        for _ in range(times):
            answer = test(column)
        return answer

    return tw.predicate(predicate, "id", name=name, vectorized=True)


def chain(folder: Path, events: Path | None) -> tw.Filters:
    return tw.filters(
        noted(folder, "even", 2), noted(folder, "rare", 50), policy="a-greedy", p=0.5, alpha=0.5, seed=1, events=events
    )


def first_calls(folder: Path) -> set[str]:
    """Of every worker process: the predicate that saw its first slice. Forgets the calls."""
    calls = list(folder.glob("calls-*"))
    found = {path.read_text().split()[0] for path in calls}
    for path in calls:
        path.unlink()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "calls").mkdir()
    return tmp_path / "calls"


def test_a_second_batch_run_starts_in_the_learned_order(spark, folder: Path, tmp_path: Path):
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


def test_a_restarted_stream_starts_in_the_learned_order(spark, folder: Path, tmp_path: Path):
    events, files = tmp_path / "events.jsonl", tmp_path / "files"
    for number in range(2):
        add_file(files, number, number * ROWS // 4, ROWS // 4)
    finish(start(source(spark, files).transform(chain(folder, events)), tmp_path, "out"))
    assert "even" in first_calls(folder), "the first worker; a later one starts from what it has learned"
    for number in range(2, 4):
        add_file(files, number, number * ROWS // 4, ROWS // 4)
    finish(start(source(spark, files).transform(chain(folder, events)), tmp_path, "out"))
    assert first_calls(folder) == {"rare"}
    assert ids(spark, tmp_path / "out") == ANSWER
