"""What is wrong around a query that runs in this process is one sentence with the place and a remedy, and leaves no
lock, file or thread: disks, rights, limits, threads, and Ctrl-C at any moment of a start."""

from __future__ import annotations

import linecache
import os
import random
import resource
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.runtime.spark.waiting import wait_until
from tests.small_disk import fill, only_read, small_disk
from thalweg.session import local_sink
from thalweg.session.local_sink import UNFINISHED

BATCHES, ROWS = 20, 5_000
SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("x", pa.string())])


def batch(n: int) -> pa.RecordBatch:
    """Return rows whose texts do not compress."""
    draw = random.Random(n)
    return pa.record_batch({"ts": pa.array([n] * ROWS, SCHEMA.field("ts").type),
                            "x": [draw.randbytes(8).hex() for _ in range(ROWS)]})  # fmt: skip


WHOLE = pa.Table.from_batches([batch(n) for n in range(BATCHES)])


def reading(happens: Callable[[], object] = lambda: None) -> tw.Session:
    """Return a session with a stream in the middle of which something happens."""

    def batches() -> Iterator[pa.RecordBatch]:
        for n, each in enumerate(WHOLE.to_batches()):
            if n == BATCHES // 2:
                happens()
            yield each

    s = tw.session()
    s.stream("a", pa.RecordBatchReader.from_batches(SCHEMA, batches()), time="ts")
    return s


def write(s: tw.Session, folder: Path, kind: str) -> None:
    s.query("SELECT x FROM a", name="mine").start(path=folder, format=kind).awaitTermination(60)


def check_nothing_is_held(folder: Path) -> None:
    opened = (f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd"))
    assert not [file for file in opened if os.path.lexists(file) and str(folder) in os.readlink(file)]
    assert not local_sink._held
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "thalweg mine" and t.is_alive()], "no thread")


def check_all_is_written(folder: Path, kind: str) -> None:
    """Write into the folder what was not written before."""
    write(reading(), folder, kind)
    assert [file.name for file in folder.iterdir()] == [f"results.{kind}"]
    read = pq.read_table if kind == "parquet" else csv.read_csv
    assert read(folder / f"results.{kind}").column("x").combine_chunks() == WHOLE.column("x").combine_chunks()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_full_disk(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path / "disk", 4_000_000) as disk:
        folder = disk / "out"
        ballast = fill(disk, leave=500_000)
        with pytest.raises(tw.QueryError, match=f"^results cannot be written to {folder}: No space left on device; "):
            write(reading(), folder, kind)
        check_nothing_is_held(folder)
        ballast.unlink()
        check_all_is_written(folder, kind)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_limit_of_file_sizes(tmp_path: Path, kind: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(tw.QueryError, match=rf"{tmp_path}/out: File too large; raise .* \(ulimit -f\), and start"):
            write(reading(), tmp_path / "out", kind)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_nothing_is_held(tmp_path)
    check_all_is_written(tmp_path / "out", kind)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("what", ["the folder", "the file"])
def test_what_is_written_is_removed(tmp_path: Path, kind: str, what: str) -> None:
    folder = tmp_path / "out"
    remove = {"the folder": lambda: shutil.rmtree(folder), "the file": (folder / UNFINISHED).unlink}[what]
    with pytest.raises(tw.QueryError, match=f"written to {folder}: No such file or directory; restore the folder, and"):
        write(reading(remove), folder, kind)
    check_nothing_is_held(folder)
    check_all_is_written(folder, kind)


def test_the_folder_is_replaced_by_that_of_another_query(tmp_path: Path) -> None:
    """Neither run touches the file of the other."""
    folder, end, begun = tmp_path / "out", threading.Event(), threading.Event()

    def replace() -> None:
        folder.rename(tmp_path / "moved")
        begun.set()
        assert end.wait(60)

    first = reading(replace).query("SELECT x FROM a").start(path=folder)
    assert begun.wait(60)
    others: list[threading.Event] = [threading.Event(), threading.Event()]

    def held() -> None:
        others[0].set()
        assert others[1].wait(60)

    second = reading(held).query("SELECT x FROM a").start(path=folder)
    assert others[0].wait(60)
    end.set()
    with pytest.raises(tw.QueryError, match="restore the folder"):
        first.awaitTermination()
    others[1].set()
    second.awaitTermination()
    assert pq.read_table(folder).column("x").combine_chunks() == WHOLE.column("x").combine_chunks()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_that_can_only_be_read(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "out"
    with ExitStack() as mounted:
        with pytest.raises(tw.QueryError, match=f"to {folder}: Read-only file system; mount it for writing, and start"):
            write(reading(lambda: mounted.enter_context(only_read(folder))), folder, kind)
        check_nothing_is_held(folder)
        with pytest.raises(
            tw.PlanError, match=r"cannot be written to: Read-only file system; mount it .*, or give another"
        ):
            write(reading(), folder, kind)
        check_nothing_is_held(folder)
    check_all_is_written(folder, kind)


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(tw.PlanError, match=r"path='out' is relative, but the working directory .*; give an absolute p"):
        write(reading(), Path("out"), "parquet")
    check_all_is_written(tmp_path / "out", "parquet")


def test_no_more_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refused(self: threading.Thread) -> None:
        if left.pop():
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refused)
    sentence = "the thread 'thalweg .*' cannot be started: can't start new thread; end other threads or .*ulimit -u"
    left = [True]
    with pytest.raises(tw.QueryError, match=sentence):
        write(reading(), tmp_path / "out", "parquet")
    check_nothing_is_held(tmp_path / "out")
    left = [True, False]
    s = endless()
    with pytest.raises(tw.QueryError, match=sentence):
        s.rounds([s.query("SELECT x FROM a", name=name) for name in ("one", "other")])
    assert not s._running._active()  # the first is not left without a handle
    monkeypatch.undo()
    check_all_is_written(tmp_path / "out", "parquet")


class Endless:
    """A stream that does not end, which several queries can read."""

    schema = SCHEMA

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while True:
            time.sleep(0.001)
            yield WHOLE.to_batches()[0].slice(0, 1)


def endless() -> tw.Session:
    s = tw.session()
    s.stream("a", Endless(), time="ts")
    return s


DOORS: dict[str, Callable[[tw.Session, Path], object]] = {
    "a file": lambda s, folder: s.query("SELECT x FROM a", name="mine").start(path=folder),
    "no file": lambda s, folder: s.query("SELECT x FROM a", name="mine").start(format="noop"),
    "rounds": lambda s, folder: s.rounds([s.query("SELECT x FROM a", name=name) for name in ("mine", "other")]),
}


class Interrupt:
    """Ctrl-C at one moment of a start: before a line of the session, or before or after it starts or waits for a
    thread. Python calls `__exit__` at the end of a `with` before it looks for signals, so that is no such moment."""

    FILES = ("running.py", "handle.py", "local_sink.py", "continuous_query.py")
    WAITS = (threading.Thread.start.__code__, threading.Event.wait.__code__)

    def __init__(self, at: int | None) -> None:
        self.moments, self._at = 0, at
        self._entered: set[tuple[FrameType, int]] = set()

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        file, is_wait = Path(frame.f_code.co_filename), frame.f_code in self.WAITS
        if not is_wait and (file.parent.name != "session" or file.name not in self.FILES):
            return None
        if event in (("call", "return") if is_wait else ("line",)) and not self._is_exit(frame):
            self.moments += 1
            if self.moments == self._at:
                raise KeyboardInterrupt
        return self

    def _is_exit(self, frame: FrameType) -> bool:
        """Whether the line is a `with` that was entered before."""
        if not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            return False
        place = frame, frame.f_lineno
        is_exit = place in self._entered
        self._entered.add(place)
        return is_exit

    def during(self, start: Callable[[], object]) -> object:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return start()
        finally:
            sys.settrace(before)


def is_interrupted(door: str, folder: Path, at: int) -> bool:
    """Check what an interrupted start leaves. Return False if the start has ended before that moment."""
    s = endless()
    try:
        started: Any = Interrupt(at).during(lambda: DOORS[door](s, folder))
    except KeyboardInterrupt:
        pass
    else:  # it took a few moments less than the one that was counted
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)
        return False
    check_nothing_is_held(folder)
    assert not s._running._active(), f"at moment {at}"
    assert not s._running.lock.locked()
    if folder.exists():
        assert list(folder.iterdir()) == []
    write(reading(), folder, "parquet")
    shutil.rmtree(folder)
    return True


def moments_of(door: str, folder: Path) -> int:
    """Return how many moments a start has."""
    s, count = endless(), Interrupt(None)
    DOORS[door](s, folder)
    for run in s._running._active():
        run.stop()
    shutil.rmtree(folder, ignore_errors=True)
    started: Any = count.during(lambda: DOORS[door](s, folder))
    started.stop()
    shutil.rmtree(folder, ignore_errors=True)
    return count.moments


@pytest.mark.parametrize("door", DOORS)
def test_a_start_that_is_interrupted_leaves_nothing(tmp_path: Path, door: str) -> None:
    moments = moments_of(door, tmp_path / "out")
    drawn = random.Random(door).sample(range(1, moments + 1), 5)
    assert sum(is_interrupted(door, tmp_path / "out", at) for at in drawn) >= 4


@pytest.mark.long(sample="test_a_start_that_is_interrupted_leaves_nothing")
@pytest.mark.parametrize("door", DOORS)
def test_a_start_that_is_interrupted_anywhere(tmp_path: Path, door: str) -> None:
    moments = moments_of(door, tmp_path / "out")
    assert moments >= 100
    assert sum(is_interrupted(door, tmp_path / "out", at + 1) for at in range(moments)) >= moments - 5
