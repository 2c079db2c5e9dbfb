"""Queries that are started in this process: files, names, stopping, and what goes wrong."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.runtime.spark.joins.streams import rows
from tests.runtime.spark.waiting import wait_until
from thalweg.session.handle import Handle


def found(folder: Path) -> list[tuple[Any, ...]]:
    table = pq.read_table(folder)
    return sorted(tuple(row.values()) for row in table.to_pylist())


def local() -> tw.Session:
    s = tw.session()
    s.stream("a", rows([0, 1, 2, 3]), time="ts")
    return s


def _slow(number: int) -> int:
    import time

    time.sleep(0.01)
    return number


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_results_in_this_process_go_to_files(tmp_path: Path, kind: str) -> None:
    handle = local().query("SELECT id FROM a WHERE id > 1", name="late").start(path=str(tmp_path / "out"), format=kind)
    assert handle.awaitTermination(60) is True
    assert not handle.isActive
    read = pq.read_table if kind == "parquet" else csv.read_csv
    assert read(tmp_path / "out" / f"results.{kind}").column("id").to_pylist() == [2, 3]
    assert handle.lastProgress["numOutputRows"] == 2
    assert handle.recentProgress == [handle.lastProgress]
    assert handle.lastProgress["name"] == "late"


def test_a_run_in_this_process_stops_between_batches(tmp_path: Path) -> None:
    given: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for n in range(1000):
            given.append(n)
            yield rows([n], first_id=n).to_batches()[0]

    s = tw.session()
    s.stream("a", pa.RecordBatchReader.from_batches(rows([0]).schema, batches()), time="ts")
    s.function("slow", _slow, "bigint")
    handle = s.query("SELECT slow(id) AS id FROM a").start(format="noop")
    wait_until(lambda: handle.lastProgress is not None, "a first result")
    handle.stop()
    assert not handle.isActive
    assert 0 < handle.lastProgress["numOutputRows"] < 1000


def test_errors_in_this_process_are_raised_when_waiting(tmp_path: Path) -> None:
    handle = local().query("SELECT 1 / id AS x FROM a").start(path=str(tmp_path / "out"))
    with pytest.raises(tw.ExpressionError, match="division by zero"):
        handle.awaitTermination()
    assert isinstance(handle.exception(), tw.ExpressionError)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"path": "x", "checkpoint": "y"}, "is only for Spark streams"),
        ({"path": "x", "trigger": "availableNow"}, "is only for Spark streams"),
        ({"path": "s3://bucket/x"}, "a local folder"),
        ({"path": f"{__file__}/x"}, "cannot be written to: Not a directory; give another folder"),
        ({"path": "x" * 300}, "cannot be written to: File name too long; give another folder"),
    ],
)
def test_what_finished_data_do_not_have_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(tw.PlanError, match=says):
        local().query("SELECT id FROM a").start(**given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"format": "kafka"}, "'parquet', 'csv'"),
        ({"format": "csv"}, "needs path"),
        ({"format": "noop", "options": {"a": "b"}}, "takes no options"),
    ],
)
def test_sinks_that_this_process_does_not_have_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(tw.PlanError, match=says):
        local().query("SELECT id FROM a").start(**given).awaitTermination()


def test_a_handle_tells_of_its_own_run() -> None:
    query = local().query("SELECT id FROM a WHERE id > 0 AND id < 3")
    first = query.start(format="noop")
    first.awaitTermination()
    told = str(first.report())
    query.start(format="noop").awaitTermination()
    assert str(first.report()) == told
    assert len(query.events()) == 2 * len(first.events()) > 0


def test_of_a_run_that_fails_nothing_is_left(tmp_path: Path) -> None:
    s = local()
    s.function("inverse", lambda number: 1 // (number - 3), "bigint")
    folder = tmp_path / "out"
    with pytest.raises(tw.FunctionError, match="given 3"):
        s.query("SELECT inverse(id) AS x FROM a").start(path=str(folder)).awaitTermination()
    assert list(folder.iterdir()) == []
    s.query("SELECT id FROM a").start(path=str(folder)).awaitTermination()  # the folder can be taken again
    assert [file.name for file in folder.iterdir()] == ["results.parquet"]


def test_what_goes_wrong_while_a_run_stops_is_not_lost(tmp_path: Path) -> None:
    reading, stopping = threading.Event(), threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows([0]).to_batches()[0]
        reading.set()
        assert stopping.wait(10)
        raise OSError("the disk is gone")

    s = tw.session()
    s.stream("a", batches(), time="ts")
    handle = s.query("SELECT id FROM a").start(path=str(tmp_path / "out"))
    assert reading.wait(10)
    threading.Timer(0.1, stopping.set).start()
    handle.stop()
    assert "the disk is gone" in str(handle.exception())
    with pytest.raises(OSError, match="the disk is gone"):
        handle.awaitTermination()


@pytest.mark.parametrize(
    "text", ["SELECT id FROM a WHERE id < 0", "SELECT count(*) AS n FROM a [RANGE 1000 DAYS]",
             "SELECT a.id FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k AND a.id < 0"],
)  # fmt: skip
def test_a_run_stops_that_finds_nothing(tmp_path: Path, text: str) -> None:
    """It would read indefinitely, and no result makes it stop."""
    s = tw.session()
    for name in "ab":
        batches = (rows([n], first_id=n).to_batches()[0] for n in itertools.count())
        s.stream(name, pa.RecordBatchReader.from_batches(rows([0]).schema, batches), time="ts")
    handle = s.query(text).start(path=str(tmp_path / "out"))
    assert handle.awaitTermination(0.2) is False
    stopping = threading.Thread(target=handle.stop, daemon=True)
    stopping.start()
    stopping.join(30)
    assert not handle.isActive
    assert handle.exception() is None
    assert pq.read_table(tmp_path / "out").num_rows == 0  # windows that are open stay open


def test_two_runs_into_one_folder_are_told_apart(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield rows([0]).to_batches()[0]
        waiting.wait(30)

    waiting = threading.Event()
    s = local()
    s.stream("b", pa.RecordBatchReader.from_batches(rows([0]).schema, batches()), time="ts")
    folder = tmp_path / "out"
    first = s.query("SELECT id FROM b").start(path=folder)
    with pytest.raises(tw.PlanError, match=r"is not empty|another query is writing to"):
        s.query("SELECT id FROM a").start(path=str(folder))
    waiting.set()
    first.awaitTermination()
    assert found(folder) == [(0,)]


def test_a_name_is_taken_once_however_many_ask_for_it() -> None:
    def start() -> None:
        try:
            handles.append(s.query("SELECT slow(id) AS id FROM a", name="one").start(format="noop"))
        except tw.PlanError as error:
            refused.append(str(error))

    def held(number: int) -> int:
        assert everybody_asked.wait(60)
        return number

    s = local()
    s.function("slow", held, "bigint")
    for _ in range(10):
        everybody_asked = threading.Event()
        handles: list[Handle] = []
        refused: list[str] = []
        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        everybody_asked.set()
        assert len(handles) == 1
        assert len(refused) == 3
        handles[0].stop()
