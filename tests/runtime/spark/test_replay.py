"""A micro-batch that Spark runs again (its commit is removed, an exact fault) counts once, in report and events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.runtime.spark.counting import multiple_of, not_multiple_of
from tests.runtime.spark.test_stream import add_file, finish, ids, source, start
from tests.runtime.spark.waiting import wait_until
from thalweg.events import Observed, Record, VerdictGiven, read
from thalweg.report import Report, fold

ROWS = 2_000


def chain(events: Path) -> tw.Filters:
    return tw.filters(
        tw.predicate(not_multiple_of(50), "id", vectorized=True, name="mostly"),
        tw.predicate(multiple_of(3), "id", vectorized=True, name="thirds"),
        tw.predicate(multiple_of(11), "id", vectorized=True, name="rarely"),
        policy="a-greedy(p=0.3, profile_window=40)",
        slice_rows=50,
        events=events,
    )


def forget_last_commit(checkpoint: Path) -> int:
    """Spark then holds that the last micro-batch was begun and not finished."""
    last = max((path for path in (checkpoint / "commits").glob("[0-9]*")), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    return int(last.name)


def totals(report: Report) -> tuple[int, int]:
    return sum(s.rows for s in report.sections), sum(s.kept for s in report.sections)


def rows_by_batch(records: list[Record]) -> dict[int | None, int]:
    found: dict[int | None, int] = {}
    for record in records:
        if isinstance(record, Observed):
            found[record.origin.batch] = found.get(record.origin.batch, 0) + record.chain.rows
    return found


def start_overwriting(df: DataFrame, folder: Path) -> StreamingQuery:
    """A sink that runs a replayed batch again and is still exactly once: a folder a batch, overwritten."""

    def each(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / "out" / f"batch={number}"))

    return df.writeStream.foreachBatch(each).option("checkpointLocation", str(folder / "out-checkpoint")).start()


@pytest.mark.parametrize("same", [True, False], ids=["same filter set", "new one, as after a restart"])
def test_a_replayed_batch_counts_once(spark: SparkSession, tmp_path: Path, same: bool) -> None:
    for number in range(3):
        add_file(tmp_path / "in", number, number * ROWS, ROWS)
    events = tmp_path / "events.jsonl"
    first = chain(events)
    finish(start_overwriting(source(spark, tmp_path / "in").transform(first), tmp_path))
    wait_until(lambda: totals(fold(read(events)))[0] == 3 * ROWS, "three micro-batches in the file")

    assert forget_last_commit(tmp_path / "out-checkpoint") == 2
    second = first if same else chain(events)
    add_file(tmp_path / "in", 3, 3 * ROWS, ROWS)
    finish(start_overwriting(source(spark, tmp_path / "in").transform(second), tmp_path))
    wait_until(lambda: 3 in rows_by_batch(list(read(events))), "the new micro-batch in the file")

    expected = [i for i in range(4 * ROWS) if i % 50 and i % 3 == 0 and i % 11 == 0]
    assert ids(spark, tmp_path / "out") == expected
    wait_until(lambda: totals(fold(read(events))) == (4 * ROWS, len(expected)), "each row once in the file's report")
    told = list(read(events))
    assert rows_by_batch(told) == dict.fromkeys(range(4), ROWS)
    written = [json.loads(line) for line in events.read_text().splitlines()]
    starts = {line["start"] for line in written if line["event"] == "observed" and line["batch"] == 2}
    assert len(starts) == 2, "the file holds the replayed batch twice, once for each start"
    spans = [(s.first_batch, s.last_batch) for s in fold(told).sections]
    assert spans == [(0, 1), (2, 3)], "the replayed batch belongs to the start that ran it last"
    verdicts = [record for record in told if isinstance(record, VerdictGiven)]
    assert sum(s.switch_count for s in fold(told).sections) >= len(verdicts) > 0
    if same:
        assert second.report().to_dict()["sections"] == fold(told).to_dict()["sections"]
    else:
        assert totals(second.report())[0] == 2 * ROWS, "the restarted one knows what it did itself"


def test_a_replayed_batch_of_a_file_sink_keeps_its_count(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number, number * ROWS, ROWS)
    events = tmp_path / "events.jsonl"
    finish(start(source(spark, tmp_path / "in").transform(chain(events)), tmp_path, "out"))
    wait_until(lambda: totals(fold(read(events)))[0] == 2 * ROWS, "both micro-batches in the file")
    forget_last_commit(tmp_path / "out-checkpoint")
    add_file(tmp_path / "in", 2, 2 * ROWS, ROWS)
    finish(start(source(spark, tmp_path / "in").transform(chain(events)), tmp_path, "out"))
    expected = [i for i in range(3 * ROWS) if i % 50 and i % 3 == 0 and i % 11 == 0]
    assert ids(spark, tmp_path / "out") == expected
    wait_until(lambda: totals(fold(read(events))) == (3 * ROWS, len(expected)), "each row once")


def test_a_replayed_batch_counts_once_inside_for_each_batch(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number, number * ROWS, ROWS)
    events = tmp_path / "events.jsonl"
    keep = chain(events)
    ran: list[int] = []

    def each(batch: DataFrame, number: int) -> None:
        ran.append(number)
        batch.transform(keep).count()

    def to_the_end() -> None:
        writer = source(spark, tmp_path / "in").writeStream.foreachBatch(each)
        finish(writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start())

    to_the_end()
    forget_last_commit(tmp_path / "checkpoint")
    to_the_end()
    assert ran == [0, 1, 1]
    kept = sum(1 for i in range(2 * ROWS) if i % 50 and i % 3 == 0 and i % 11 == 0)
    assert totals(keep.report()) == (2 * ROWS, kept)
    wait_until(lambda: len(fold(read(events)).sections) == 2, "the file")
    assert totals(fold(read(events))) == (2 * ROWS, kept)
