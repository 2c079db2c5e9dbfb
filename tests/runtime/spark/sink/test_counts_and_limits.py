"""What is counted, limited, redacted and stopped when tasks write the results."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows, streaming
from tests.runtime.spark.joins.test_late_rows import LATENESS, WINDOW, A, B, by_hand
from tests.runtime.spark.waiting import wait_until
from thalweg.events import JoinObserved, read


def start(j: tw.Join, folder: Path, streams: dict[str, Any], **given: Any) -> StreamingQuery:
    query: StreamingQuery = j.start(
        path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", sink="tasks", **given, **streams
    )
    return query


def written(folder: Path) -> list[tuple[int, int]]:
    query = f"SELECT a_id, b_id FROM read_parquet('{folder}/out/*.parquet') ORDER BY ALL"
    return duckdb.connect().execute(query).fetchall() if list(folder.glob("out/*.parquet")) else []


def test_late_rows_events_and_reports_are_those_of_other_sinks(spark: SparkSession, tmp_path: Path) -> None:
    joined, late, no_time = by_hand()
    cut = {}
    for alias, times in (("a", A), ("b", B)):
        starts = [sum(map(len, times[:n])) for n in range(len(times))]
        cut[alias] = [rows(each, first_id=first) for each, first in zip(times, starts, strict=True)]
    streams, events = files(tmp_path, cut), tmp_path / "events.jsonl"
    j = tw.join(
        on="a.k = b.k", window=f"{WINDOW} seconds", time="ts", events=events,
        lateness={alias: f"{seconds} seconds" for alias, seconds in LATENESS.items()},
    )  # fmt: skip
    query = start(j, tmp_path, streaming(spark, streams))
    assert query.awaitTermination(120)
    assert written(tmp_path) == joined
    wait_until(lambda: [s.results for s in j.report().sections] == [len(joined)], "all results in the report")
    (section,) = j.report().sections
    counted = {
        alias: (stream.stream.rows, stream.stream.late, stream.stream.no_time)
        for alias, stream in section.streams.items()
    }
    assert counted == {"a": (10, len(late["a"]), len(no_time["a"])), "b": (11, len(late["b"]), len(no_time["b"]))}
    records = [record for record in read(events) if isinstance(record, JoinObserved)]
    assert sum(record.matches.results for record in records) == len(joined)
    assert sum(record.stream.late for record in records) == len(late["a"]) + len(late["b"])
    progress = [each["observedMetrics"]["thalweg_written"] for each in query.recentProgress]
    assert sum(each["rows"] for each in progress) == len(joined)


@pytest.mark.parametrize("redact", [False, True])
def test_a_limit_ends_the_query_and_a_restart_continues(spark: SparkSession, tmp_path: Path, redact: bool) -> None:
    keys = ["frequent"] * 40 + [f"key {n}" for n in range(60)]
    first = {alias: [rows([0], ["other"]), rows([1] * 100, keys, first_id=1)] for alias in "ab"}
    streams = streaming(spark, files(tmp_path, first))
    j = tw.join(on="a.k = b.k", window="5 seconds", time="ts", max_matches=30, redact=redact)
    with pytest.raises(Exception, match=r"has more than 30 matches.*max_matches=") as raised:
        start(j, tmp_path, streams).awaitTermination(120)
    assert ("frequent" in str(raised.value)) is not redact
    assert written(tmp_path) == [(0, 0)]
    # with another limit it continues where it failed
    again = tw.join(on="a.k = b.k", window="5 seconds", time="ts", redact=redact)
    assert start(again, tmp_path, streams).awaitTermination(120)
    expected = [(0, 0), *((1 + a, 1 + b) for a in range(100) for b in range(100) if keys[a] == keys[b])]
    assert written(tmp_path) == sorted(expected)
    hidden = sorted(path.name for path in (tmp_path / "out" / ".thalweg").iterdir())
    assert [name.partition(".")[2] for name in hidden] == ["json", ""], "the last list, and the query"


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "called"
    yield path
    path.unlink(missing_ok=True)


def test_a_query_that_is_stopped_while_it_writes_ends_quietly(
    spark: SparkSession, tmp_path: Path, marker: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spark recognizes that its job was interrupted, and does not fail while it looks at the error."""
    streams = files(tmp_path, {alias: [rows([0]), rows([1], first_id=1)] for alias in "ab"})
    s = tw.session(spark)
    for name, each in streams.items():
        s.stream(name, each.stream(spark), time="ts")
    place = str(marker)

    def slow(one: int, other: int) -> bool:
        if one + other:  # not in the first micro-batch
            Path(place).touch()
            time.sleep(60)
        return True

    s.function("slow", slow, returns="boolean")
    handle = s.query(
        "SELECT a.id AS a_id, b.id AS b_id FROM a, b WHERE a.k = b.k AND slow(a.id, b.id) WINDOW 5 SECONDS"
    )
    run = handle.start(path=tmp_path / "out", checkpoint=tmp_path / "checkpoint", sink="tasks")
    wait_until(marker.exists, "the second micro-batch filters joined rows", seconds=60)
    begun = time.monotonic()
    run.stop()
    assert time.monotonic() - begun < 30
    assert run.exception() is None
    assert not re.search("StackOverflowError|Py4JJavaError", "".join(capfd.readouterr()))
    assert written(tmp_path) == [(0, 0)]
