"""A folder of results that is not as its checkpoint has left it: nothing is lost, or one sentence says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.runtime.sink.folder_readers import listed, logged
from tests.runtime.sink.interrupted import Killed, killed_at
from tests.runtime.sink.test_batch_commit import LOG, QUERY, full, numbers, staged
from thalweg.errors import CheckpointError, QueryError
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.sink.earlier_results import continue_spark, continue_tasks
from thalweg.runtime.sink.sink_log import LogSettings, SinkLog

BATCHES = 7
"""Of which the log has two compact files and one after them."""


def log_of(folder: Path) -> SinkLog:
    return SinkLog(str(folder), LOG)


def commit(folder: Path, batches: range) -> None:
    for batch in batches:
        BatchCommit(str(folder), LOG).commit(QUERY, batch, staged(folder, batch, 3, ["day"]))


def interrupt(folder: Path, batch: int) -> None:
    """Commit a micro-batch until its files are visible, and not in the log."""
    files = staged(folder, batch, 3, ["day"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SinkLog, "add", full)
        with pytest.raises(QueryError):
            BatchCommit(str(folder), LOG).commit(QUERY, batch, files)


def continued(folder: Path, planned: int | None, committed: int | None) -> int:
    return continue_tasks(log_of(folder), str(folder), QUERY, planned, committed)


def expected(batches: int) -> list[int]:
    return [n for batch in range(batches) for n in numbers(batch)]


def cut(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[: max(len(path.read_bytes()) // 2, 1)])


def cut_after_a_line(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes().rpartition(b"\n")[0])


def empty(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def zeros(path: Path, other: Path) -> None:
    path.write_bytes(b"\0" * len(path.read_bytes()))


def delete(path: Path, other: Path) -> None:
    path.unlink()


def swap(path: Path, other: Path) -> None:
    aside = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(aside)


def copy(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


DAMAGES: list[Callable[[Path, Path], None]] = [cut, cut_after_a_line, empty, zeros, delete, swap, copy]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_the_log(tmp_path: Path, damage: Callable[[Path, Path], None]) -> None:
    """Whichever it is: readers see all results, or the start says how to get there, and that is so."""
    (tmp_path / "a").mkdir()
    commit(tmp_path / "a", range(BATCHES))
    names = sorted(path.name for path in (tmp_path / "a" / "_spark_metadata").iterdir())
    assert {"2.compact", "5.compact", "6"} <= set(names)
    refused = 0
    for number, name in enumerate(names):
        folder = tmp_path / f"damaged-{number}"
        folder.mkdir()
        commit(folder, range(BATCHES))
        log = folder / "_spark_metadata"
        damage(log / name, log / names[number - 1])
        error = None
        try:
            assert continued(folder, BATCHES - 1, BATCHES - 1) == 0
        except QueryError as raised:
            error = str(raised)
        if error is not None:
            refused += 1
            assert str(log) in error
            assert "start the query again: it writes the log anew from the files of the results" in error
            shutil.rmtree(log)
            assert continued(folder, BATCHES - 1, BATCHES - 1) == 4 * BATCHES
        assert logged(folder) == listed(folder) == expected(BATCHES)
        commit(folder, range(BATCHES, BATCHES + 4))
        assert logged(folder) == listed(folder) == expected(BATCHES + 4)
    assert refused >= 2


def test_a_log_that_was_lost_is_written_anew(tmp_path: Path) -> None:
    """Also while the last micro-batch is being committed: it runs again. Copies of files that no reader sees, such as
    snapshots of a disk, stay out of it."""
    commit(tmp_path, range(3))
    interrupt(tmp_path, 3)
    shutil.rmtree(tmp_path / "_spark_metadata")
    assert listed(tmp_path) == expected(4)
    hidden = [tmp_path / ".snapshot", tmp_path / "_old"]
    for place in hidden:
        shutil.copytree(tmp_path, place / "1", ignore=lambda *_: [".snapshot", "_old"])
    assert continued(tmp_path, 3, 2) == 12
    assert logged(tmp_path) == expected(3)
    for place in hidden:
        shutil.rmtree(place)
    assert listed(tmp_path) == expected(4), "its list is there, so nothing is taken back"
    commit(tmp_path, range(3, 6))
    assert logged(tmp_path) == listed(tmp_path) == expected(6)


@pytest.mark.parametrize("lost", ["the list", "the offset"])
def test_an_interrupted_commit_that_cannot_be_completed(tmp_path: Path, lost: str) -> None:
    """The rows of the micro-batch may be others, or divided differently, when it is run."""
    commit(tmp_path, range(2))
    interrupt(tmp_path, 2)
    if lost == "the list":
        (tmp_path / ".thalweg" / "2.json").unlink()
    continued(tmp_path, 2 if lost == "the list" else 1, 1)
    assert listed(tmp_path) == logged(tmp_path) == expected(2)
    assert not (tmp_path / ".thalweg" / "2.json").exists()
    commit(tmp_path, range(2, 4))
    assert listed(tmp_path) == logged(tmp_path) == expected(4)


@pytest.mark.parametrize(("begin", "count", "now"), [(0, 6, 3), (0, 7, 5), (5, 1, 3)])
def test_no_kill_leaves_a_folder_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: int, count: int, now: int
) -> None:
    """Also while files of the log are written that an emptied folder, or another interval, lacks."""
    for kill in range(100):
        folder = tmp_path / str(kill)
        folder.mkdir()
        commit(folder, range(begin, begin + count - 1))
        last = begin + count - 1
        files = staged(folder, last, 3, ["day"])
        ended = False
        with suppress(Killed), killed_at(kill, monkeypatch):
            BatchCommit(str(folder), LogSettings(interval=now)).commit(QUERY, last, files)
            ended = True
        log = SinkLog(str(folder), LogSettings(interval=now))
        assert continue_tasks(log, str(folder), QUERY, last, last - 1) == 0
        if ended:
            break
    assert kill > 8


@pytest.mark.parametrize("planned", [None, 1])
def test_a_checkpoint_without_its_newest_files(tmp_path: Path, planned: int | None) -> None:
    """Also if the last micro-batch was empty, as often after `availableNow`."""
    commit(tmp_path, range(2))
    BatchCommit(str(tmp_path), LOG).commit(QUERY, 2, [])
    calls: list[Callable[[], object]] = [
        lambda: continued(tmp_path, planned, planned),
        lambda: continue_spark(log_of(tmp_path), str(tmp_path), planned, planned),
    ]
    for call in calls:
        with pytest.raises(CheckpointError, match=r"results up to micro-batch 2, and .* is an old copy, .*Restore the"):
            call()
    assert continued(tmp_path, 2, 1) == 0
    assert logged(tmp_path) == listed(tmp_path) == expected(2)


def test_a_log_of_spark_s_sink(tmp_path: Path) -> None:
    """A new or emptied folder gets a log, without which Spark's readers would fail. One that has results is not
    guessed."""
    tmp_path = tmp_path / "new"
    (tmp_path / "_checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "_checkpoint" / "offsets" / "4").touch()
    warning = r"new has no results, but the checkpoint .* up to micro-batch 3: the folder gets only those of later ones"
    with pytest.warns(UserWarning, match=warning):
        continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
    shutil.rmtree(tmp_path)
    with pytest.warns(UserWarning, match=warning):
        continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
    assert logged(tmp_path, 3) == []
    (tmp_path / "part-of-spark.parquet").touch()
    continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
    newest = tmp_path / "_spark_metadata" / "3"
    newest.unlink()
    with pytest.raises(QueryError, match=r"has no file of micro-batch 3, .* Restore what is missing, or start"):
        continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
    newest.write_text("")
    with pytest.raises(QueryError, match=r"/3, .* Restore it; or"):
        continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
    shutil.rmtree(tmp_path / "_spark_metadata")
    with pytest.raises(QueryError, match="has no file of micro-batch 3"):
        continue_spark(log_of(tmp_path), str(tmp_path), 4, 3)
