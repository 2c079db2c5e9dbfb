"""Commits that are interrupted anywhere and run again: both kinds of readers see every row once."""

from __future__ import annotations

import json
import os
import shutil
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runtime.sink.folder_readers import listed, logged
from tests.runtime.sink.interrupted import Killed, interrupted_at, killed_at
from thalweg.errors import CheckpointError, QueryError
from thalweg.runtime.sink.batch_commit import BatchCommit, disown_unused, forget_emptied, owner_of, withdraw_interrupted
from thalweg.runtime.sink.parquet_form import ParquetForm
from thalweg.runtime.sink.sink_log import LogSettings, SinkLog
from thalweg.runtime.sink.staged_files import StagedFile, StagedFiles

QUERY = "0b5c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3"
ANOTHER = "11111111-3f40-4a5b-8c6d-7e8f90a1b2c3"
LOG = LogSettings(interval=3)
SCHEMA = pa.schema([("n", pa.int64()), ("day", pa.int64())])


def numbers(batch: int) -> list[int]:
    return list(range(10 * batch, 10 * batch + 7))


def staged(folder: Path, batch: int, cut: int, by: Sequence[str] = (), compression: str = "snappy") -> list[StagedFile]:
    """The files of two buckets. Runs of one micro-batch may cut the same rows differently."""
    files: list[StagedFile] = []
    for bucket, part in enumerate((numbers(batch)[:cut], numbers(batch)[cut:])):
        form = ParquetForm(str(folder), SCHEMA, compression=compression, partition_by=tuple(by))
        writing = StagedFiles(form, QUERY, batch, bucket)
        writing.write(pa.record_batch([part, [n % 2 for n in part]], schema=SCHEMA))
        files += writing.close()
    return files


def orphans(folder: Path) -> list[str]:
    """What is in the hidden folder, but for the query and the list of the last micro-batch."""
    names = sorted(path.name for path in (folder / ".thalweg").iterdir() if path.name != "query")
    lists = [name for name in names if name.endswith(".json")]
    return [name for name in names if lists != [name]]


@pytest.mark.parametrize("by", [(), ("day",)])
@pytest.mark.parametrize("batch", [0, 1, 2], ids=["the first one", "a plain one", "a compact one"])
def test_a_commit_that_is_killed_at_any_change_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, by: tuple[str, ...]
) -> None:
    before = [n for earlier in range(batch) for n in numbers(earlier)]
    seen_partly = 0
    for kill in range(100):
        folder = tmp_path / str(kill)
        folder.mkdir()
        for earlier in range(batch):
            BatchCommit(str(folder), LOG).commit(QUERY, earlier, staged(folder, earlier, 3, by))
        first = staged(folder, batch, 4, by)
        ended = False
        try:
            with killed_at(kill, monkeypatch):
                BatchCommit(str(folder), LOG).commit(QUERY, batch, first)
                ended = True
        except Killed:
            pass
        now = listed(folder)
        assert len(set(now)) == len(now)
        assert set(before) <= set(now) <= {*before, *numbers(batch)}
        assert logged(folder) in (before, sorted(before + numbers(batch)))
        seen_partly += set(before) < set(now) < {*before, *numbers(batch)}
        # the same micro-batch again, killed again at the same place, and again
        for cut, limit in ((5, kill), (2, 10_000)):
            again = staged(folder, batch, cut, by)
            try:
                with killed_at(limit, monkeypatch):
                    BatchCommit(str(folder), LOG).commit(QUERY, batch, again)
            except Killed:
                pass
            assert set(now) <= set(listed(folder)), "a row that was visible is gone"
            now = listed(folder)
            assert len(set(now)) == len(now)
        assert now == logged(folder) == sorted(before + numbers(batch))
        assert orphans(folder) == []
        if ended:
            break
    else:
        pytest.fail("it never came to its end")
    assert kill > 8
    assert seen_partly, "no kill was between two files"


def test_files_of_tasks_that_failed_or_were_too_late_are_removed(tmp_path: Path) -> None:
    for attempt in range(3):
        staged(tmp_path, 0, attempt + 1)  # failed, speculative, or of a killed driver
    good = staged(tmp_path, 0, 3)
    assert BatchCommit(str(tmp_path)).commit(QUERY, 0, good)
    assert orphans(tmp_path) == []
    staged(tmp_path, 0, 6)  # a task that Spark has given up, and that is still running
    assert BatchCommit(str(tmp_path)).commit(QUERY, 1, staged(tmp_path, 1, 3))
    assert orphans(tmp_path) == []
    assert listed(tmp_path) == logged(tmp_path) == numbers(0) + numbers(1)


def test_a_committed_batch_is_not_written_again(tmp_path: Path) -> None:
    commits = BatchCommit(str(tmp_path), LOG)
    for batch in range(5):
        assert commits.commit(QUERY, batch, staged(tmp_path, batch, 3))
    assert not commits.commit(QUERY, 4, staged(tmp_path, 4, 5))
    with pytest.raises(QueryError, match=r"up to micro-batch 4, .*is at micro-batch 2: another query.*or .* old copy"):
        commits.commit(QUERY, 2, staged(tmp_path, 2, 5))
    expected = [n for batch in range(5) for n in numbers(batch)]
    assert listed(tmp_path) == logged(tmp_path) == expected
    assert not commits.commit(QUERY, 4, staged(tmp_path, 4, 2))
    assert orphans(tmp_path) == []


@pytest.mark.parametrize("before", [0, 5], ids=["it had none", "it had others"])
def test_rows_of_a_batch_whose_number_was_given_before(tmp_path: Path, before: int) -> None:
    """The newest files of the checkpoint were lost, so Spark gives the number to new rows."""

    def files(count: int) -> list[StagedFile]:
        writing = StagedFiles(ParquetForm(str(tmp_path), SCHEMA), QUERY, 1, 0)
        writing.write(pa.record_batch([list(range(count))] * 2, schema=SCHEMA))
        return writing.close()

    commits = BatchCommit(str(tmp_path))
    commits.commit(QUERY, 0, staged(tmp_path, 0, 3))
    commits.commit(QUERY, 1, files(before))
    new = files(9)
    with pytest.raises(QueryError, match="or the checkpoint is an old copy"):
        BatchCommit(str(tmp_path)).commit(QUERY, 1, new)
    assert all((tmp_path / file.staged).exists() for file in new)
    # if it had been planned before the start, a table or a function has changed
    assert not BatchCommit(str(tmp_path), run_again=1).commit(QUERY, 1, new)
    assert listed(tmp_path) == logged(tmp_path) == sorted(numbers(0) + list(range(before)))


@pytest.mark.parametrize("other", ["batch", "query"])
def test_a_list_of_other_files(tmp_path: Path, other: str) -> None:
    """As after a copy of another one: its files are visible already, or do not belong here."""
    commits = BatchCommit(str(tmp_path))
    commits.commit(QUERY, 0, staged(tmp_path, 0, 3))
    text = (tmp_path / ".thalweg" / "0.json").read_text()
    again = staged(tmp_path, 1, 3)
    changed = text if other == "batch" else text.replace("part-00000-", "part-00001-").replace(QUERY[:8], ANOTHER[:8])
    (tmp_path / ".thalweg" / "1.json").write_text(changed)
    assert commits.commit(QUERY, 1, again)
    assert listed(tmp_path) == logged(tmp_path) == numbers(0) + numbers(1)


def test_a_log_that_another_query_has_continued(tmp_path: Path) -> None:
    """Its micro-batch has the same number: the results of this one would be lost."""
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3))
    (tmp_path / "part-of-spark.parquet").write_bytes(
        (tmp_path / "part-00000-00000-0b5c1d2e-c000.snappy.parquet").read_bytes()
    )
    SinkLog(str(tmp_path)).add(1, ["part-of-spark.parquet"])
    with pytest.raises(QueryError, match="another query has written to the folder"):
        BatchCommit(str(tmp_path)).commit(QUERY, 1, staged(tmp_path, 1, 3))


@pytest.mark.parametrize("batch", [1, 2], ids=["a plain one", "a compact one"])
def test_an_entry_of_another_query_without_results(tmp_path: Path, batch: int) -> None:
    for earlier in range(batch):
        BatchCommit(str(tmp_path), LOG).commit(QUERY, earlier, staged(tmp_path, earlier, 3))
    SinkLog(str(tmp_path), LOG).add(batch, [])
    assert (tmp_path / "_spark_metadata" / "2.compact").exists() == (batch == 2)
    with pytest.raises(QueryError, match="another query has written to the folder"):
        BatchCommit(str(tmp_path), LOG).commit(QUERY, batch, staged(tmp_path, batch, 3))


@pytest.mark.parametrize("batch", [1, 2], ids=["a plain one", "a compact one"])
@pytest.mark.parametrize("has_results", [True, False])
@pytest.mark.parametrize("content", [None, ""], ids=["lost", "damaged"])
def test_a_list_that_was_lost_after_its_commit(
    tmp_path: Path, batch: int, has_results: bool, content: str | None
) -> None:
    """The log says whose micro-batch it is, unless that has no results."""
    commits = BatchCommit(str(tmp_path), LOG)
    for earlier in range(batch):
        commits.commit(QUERY, earlier, staged(tmp_path, earlier, 3))
    commits.commit(QUERY, batch, staged(tmp_path, batch, 3) if has_results else [])
    path = tmp_path / ".thalweg" / f"{batch}.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    again = staged(tmp_path, batch, 5) if has_results else []
    assert not commits.commit(QUERY, batch, again)
    assert listed(tmp_path) == logged(tmp_path)
    assert orphans(tmp_path) == []
    if not has_results:  # a micro-batch that is run again gives the same
        with pytest.raises(QueryError, match="another query has written to the folder"):
            commits.commit(QUERY, batch, staged(tmp_path, batch, 5))


@pytest.mark.parametrize("by", [(), ("day",)])
@pytest.mark.parametrize("batch", [0, 1])
def test_results_of_an_interrupted_commit_are_withdrawn_before_spark_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: tuple[str, ...], batch: int
) -> None:
    for earlier in range(batch):
        BatchCommit(str(tmp_path), LOG).commit(QUERY, earlier, staged(tmp_path, earlier, 3, by))
    before = [n for earlier in range(batch) for n in numbers(earlier)]
    if batch:
        withdraw_interrupted(str(tmp_path))
        assert listed(tmp_path) == before
    files = staged(tmp_path, batch, 3, by)
    with monkeypatch.context() as patched:
        patched.setattr(SinkLog, "add", full)
        with pytest.raises(QueryError):
            BatchCommit(str(tmp_path), LOG).commit(QUERY, batch, files)
    assert listed(tmp_path) == before + numbers(batch)
    withdraw_interrupted(str(tmp_path))
    assert listed(tmp_path) == before if batch else list(tmp_path.glob("**/*.parquet")) == []
    # should tasks write again after all, nothing is missing
    assert BatchCommit(str(tmp_path), LOG).commit(QUERY, batch, staged(tmp_path, batch, 5, by))
    assert listed(tmp_path) == logged(tmp_path) == before + numbers(batch)


@pytest.mark.parametrize("by", [(), ("day",)])
def test_an_empty_list_of_a_micro_batch_that_is_not_in_the_log(tmp_path: Path, by: tuple[str, ...]) -> None:
    """The folder was emptied but for its hidden files, and the checkpoint is an old copy, which has more input now."""
    commits = BatchCommit(str(tmp_path))
    commits.commit(QUERY, 0, staged(tmp_path, 0, 3, by))
    commits.commit(QUERY, 1, [])
    for path in tmp_path.iterdir():
        if path.name != ".thalweg":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert (tmp_path / ".thalweg" / "1.json").read_text() == "[]"
    assert commits.commit(QUERY, 1, staged(tmp_path, 1, 3, by))
    assert listed(tmp_path) == logged(tmp_path) == numbers(1)


def test_a_folder_belongs_to_a_query_from_its_start_unless_it_has_no_results(tmp_path: Path) -> None:
    BatchCommit(str(tmp_path)).claim(QUERY)
    with pytest.raises(QueryError, match="results of another query"):
        BatchCommit(str(tmp_path)).claim(ANOTHER)
    assert disown_unused(str(tmp_path))
    BatchCommit(str(tmp_path)).claim(ANOTHER)
    assert disown_unused(str(tmp_path))
    BatchCommit(str(tmp_path)).commit(QUERY, 0, [])
    assert not disown_unused(str(tmp_path))
    assert owner_of(str(tmp_path)) == QUERY


@pytest.mark.parametrize("step", ["_move", "_clean_up"])
def test_a_folder_of_an_interrupted_commit_is_not_disowned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    files = staged(tmp_path, 0, 3)
    with monkeypatch.context() as patched:
        patched.setattr(BatchCommit, step, full)
        with pytest.raises(QueryError):
            BatchCommit(str(tmp_path)).commit(QUERY, 0, files)
    assert not disown_unused(str(tmp_path))


def test_a_log_entry_that_was_removed(tmp_path: Path) -> None:
    """Its files are visible, and replaced by those of the next run: their names are the same."""
    commits = BatchCommit(str(tmp_path))
    for batch in range(2):
        commits.commit(QUERY, batch, staged(tmp_path, batch, 3))
    (tmp_path / "_spark_metadata" / "1").unlink()
    commits.commit(QUERY, 1, staged(tmp_path, 1, 5))
    assert listed(tmp_path) == logged(tmp_path) == numbers(0) + numbers(1)


def test_files_that_were_decided_and_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = staged(tmp_path, 0, 3)
    with pytest.raises(Killed), killed_at(10, monkeypatch):
        BatchCommit(str(tmp_path)).commit(QUERY, 0, first)
    decided = json.loads((tmp_path / ".thalweg" / "0.json").read_text())
    assert [each["final"] for each in decided] == [file.final for file in first]
    shutil.rmtree(tmp_path / ".thalweg" / "0")
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 5))
    assert listed(tmp_path) == logged(tmp_path) == numbers(0)


def test_a_folder_of_another_query_is_refused(tmp_path: Path) -> None:
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3))
    with pytest.raises(QueryError, match="results of another query"):
        BatchCommit(str(tmp_path)).commit(ANOTHER, 1, [])


def test_a_folder_that_vanishes(tmp_path: Path) -> None:
    folder, aside = tmp_path / "out", tmp_path / "aside"
    folder.mkdir()
    commits = BatchCommit(str(folder))
    commits.commit(QUERY, 0, staged(folder, 0, 3))
    second = staged(folder, 1, 3)
    folder.rename(aside)
    with pytest.raises(QueryError, match=r"does not exist any more; mount or restore it"):
        commits.commit(QUERY, 1, second)
    with pytest.raises(QueryError, match=r"does not exist any more; mount or restore it"):
        staged(folder, 1, 3)
    aside.rename(folder)
    commits.commit(QUERY, 1, staged(folder, 1, 5))
    assert listed(folder) == logged(folder) == numbers(0) + numbers(1)
    assert orphans(folder) == []


def test_a_folder_that_was_emptied_goes_on_without_the_earlier_results(tmp_path: Path) -> None:
    for batch in range(5):
        BatchCommit(str(tmp_path), LOG).commit(QUERY, batch, staged(tmp_path, batch, 3))
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    for batch in (5, 6, 7, 8, 9):
        BatchCommit(str(tmp_path), LOG).commit(QUERY, batch, staged(tmp_path, batch, 3))
        assert listed(tmp_path) == logged(tmp_path)


def full(*given: object, **named: object) -> None:
    raise OSError(28, "No space left on device", "/out/day=secret/file")


@pytest.mark.parametrize("step", ["rename", "link", "mkdir"])
def test_a_full_disk_at_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def commit(cut: int) -> None:
        BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, cut, ["day"]))

    make: Callable[..., object] = full
    with monkeypatch.context() as patched:
        files = staged(tmp_path, 0, 3, ["day"])
        patched.setattr(os, step, make)
        if step == "link":  # the way without links is taken, and fails too
            patched.setattr(os, "rename", make)
        with pytest.raises(QueryError, match="No space left on device; free space") as raised:
            BatchCommit(str(tmp_path)).commit(QUERY, 0, files)
        assert "secret" not in "".join(traceback.format_exception(raised.value))
    commit(5)
    assert listed(tmp_path) == logged(tmp_path) == numbers(0)
    assert orphans(tmp_path) == []


def test_a_disk_that_is_full_for_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = ParquetForm(str(tmp_path), SCHEMA)
    writing = StagedFiles(form, QUERY, 0, 0)
    writing.write(pa.record_batch([[1], [2]], schema=SCHEMA))
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(QueryError, match="No space left on device; free space") as raised:
        writing.close()
    assert "secret" not in str(raised.value)
    writing.discard()
    assert list((tmp_path / ".thalweg" / "0").iterdir()) == []


@pytest.mark.parametrize("content", ["", "[{", '[{"staged": 1}]', "null"])
def test_a_list_that_a_disk_has_damaged(tmp_path: Path, content: str) -> None:
    files = staged(tmp_path, 0, 3)
    (tmp_path / ".thalweg" / "0.json").write_text(content)
    assert BatchCommit(str(tmp_path)).commit(QUERY, 0, files)
    assert listed(tmp_path) == logged(tmp_path) == numbers(0)


@pytest.mark.parametrize("by", [(), ("day",)])
def test_a_damaged_list_of_files_that_are_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: tuple[str, ...]
) -> None:
    """The next run may write under other names, because its options are others."""
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3, by))
    files = staged(tmp_path, 1, 3, by)
    with monkeypatch.context() as patched:
        patched.setattr(SinkLog, "add", full)
        with pytest.raises(QueryError):
            BatchCommit(str(tmp_path)).commit(QUERY, 1, files)
    assert listed(tmp_path) == numbers(0) + numbers(1)
    (tmp_path / ".thalweg" / "1.json").write_text("")
    again = staged(tmp_path, 1, 5, by, compression="zstd")
    assert BatchCommit(str(tmp_path)).commit(QUERY, 1, again)
    assert listed(tmp_path) == logged(tmp_path) == numbers(0) + numbers(1)


@pytest.mark.parametrize("content", ["", "\0" * 20])
def test_a_damaged_owner_is_replaced(tmp_path: Path, content: str) -> None:
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3))
    (tmp_path / ".thalweg" / "query").write_text(content)
    assert BatchCommit(str(tmp_path)).commit(QUERY, 1, staged(tmp_path, 1, 3))
    with pytest.raises(QueryError, match="results of another query"):
        BatchCommit(str(tmp_path)).commit(ANOTHER, 2, [])


@pytest.mark.parametrize("content", [b"hello", QUERY[:20].encode(), b"\xff\xfe" + b"x" * 34])
def test_a_damaged_owner_is_not_another_one(tmp_path: Path, content: bytes) -> None:
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3))
    owner = tmp_path / ".thalweg" / "query"
    owner.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"/\.thalweg/query, which names .*, is damaged; remove it, and start"):
        BatchCommit(str(tmp_path)).commit(QUERY, 1, staged(tmp_path, 1, 3))
    owner.unlink()
    assert BatchCommit(str(tmp_path)).commit(QUERY, 1, staged(tmp_path, 1, 3))
    assert owner_of(str(tmp_path)) == QUERY
    assert listed(tmp_path) == logged(tmp_path) == numbers(0) + numbers(1)


@pytest.mark.parametrize("by", [(), ("day",)])
@pytest.mark.parametrize("batch", [0, 1, 2], ids=["the first one", "a plain one", "a compact one"])
def test_a_second_driver_that_commits_the_same_batch_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, by: tuple[str, ...]
) -> None:
    """Whenever it comes: the results of one of them are there, and the log describes the files."""
    steps = 0
    for step in range(100):
        folder = tmp_path / str(step)
        folder.mkdir()
        for earlier in range(batch):
            BatchCommit(str(folder), LOG).commit(QUERY, earlier, staged(folder, earlier, 3, by))
        mine, others = staged(folder, batch, 4, by), staged(folder, batch, 2, by)

        def commit_of_another(folder: Path = folder, others: list[StagedFile] = others) -> None:
            with suppress(QueryError):  # each of them may say that there are two
                BatchCommit(str(folder), LOG).commit(QUERY, batch, others)

        with suppress(QueryError), interrupted_at(step, monkeypatch, commit_of_another) as changes:
            BatchCommit(str(folder), LOG).commit(QUERY, batch, mine)
        if changes() <= step:
            break
        BatchCommit(str(folder), LOG).commit(QUERY, batch + 1, staged(folder, batch + 1, 3, by))
        expected = [n for each in range(batch + 2) for n in numbers(each)]
        assert listed(folder) == logged(folder) == expected
        assert orphans(folder) == []
        steps += 1
    assert steps > 8


def test_a_folder_that_was_emptied_but_for_its_hidden_files_is_as_good_as_new(tmp_path: Path) -> None:
    BatchCommit(str(tmp_path)).commit(QUERY, 0, staged(tmp_path, 0, 3))
    staged(tmp_path, 1, 3)
    forget_emptied(str(tmp_path))
    assert owner_of(str(tmp_path)) == QUERY, "there are results"
    for path in tmp_path.glob("*.parquet"):
        path.unlink()
    forget_emptied(str(tmp_path))
    assert owner_of(str(tmp_path)) == QUERY, "there is the log"
    shutil.rmtree(tmp_path / "_spark_metadata")
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "_metadata").touch()
    forget_emptied(str(tmp_path))
    assert owner_of(str(tmp_path)) == QUERY, "there is a file that is not hidden"
    shutil.rmtree(tmp_path / "day=1")
    (tmp_path / ".part.parquet.crc").touch()  # `rm -r *` leaves files whose names begin with a dot
    (tmp_path / ".checkpoint").mkdir()
    (tmp_path / ".checkpoint" / "metadata").touch()
    forget_emptied(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {".part.parquet.crc", ".checkpoint"}
    forget_emptied(str(tmp_path))
    assert BatchCommit(str(tmp_path)).is_first()


def test_a_first_batch_without_results_leaves_the_columns(tmp_path: Path) -> None:
    def empty(*by: str) -> list[StagedFile]:
        return StagedFiles(ParquetForm(str(tmp_path), SCHEMA, partition_by=by), QUERY, 0, 0).close(also_empty=True)

    assert empty("day") == []
    assert BatchCommit(str(tmp_path)).commit(QUERY, 0, empty())
    assert listed(tmp_path) == logged(tmp_path) == []
    (file,) = tmp_path.glob("*.parquet")
    assert pq.read_schema(file).names == SCHEMA.names
    assert not BatchCommit(str(tmp_path)).is_first()
    writing = StagedFiles(ParquetForm(str(tmp_path), SCHEMA), QUERY, 1, 0)
    writing.write(pa.record_batch([[1], [2]], schema=SCHEMA))
    assert len(writing.close(also_empty=True)) == 1
