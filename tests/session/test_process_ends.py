"""What is left when a process ends while a query that was started in it runs: nothing incomplete, no abort, and a
folder that the next run can take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.runtime.spark.joins.streams import rows
from thalweg.session.handle import Handle

SECONDS = 60.0
"""That a process may take; it ends within two or so."""
COMMON = """
import itertools, os, signal, sys, threading, time
import pyarrow as pa
import thalweg as tw
from datetime import datetime, timedelta

def batch(n):
    times = pa.array([datetime(2026, 1, 1) + timedelta(seconds=n)], pa.timestamp("us"))
    return pa.record_batch({"ts": times, "id": [n]})

def slow(number):
    time.sleep(0.01)
    return number

def blocked():
    yield batch(0)
    time.sleep(600)

SOURCES = {
    "blocked": blocked,
    "iterator": lambda: map(batch, itertools.count()),
    "reader": lambda: pa.RecordBatchReader.from_batches(batch(0).schema, map(batch, itertools.count())),
    "table": lambda: pa.Table.from_batches([batch(n) for n in range(10_000)]),
}

def start(source, path, kind):
    s = tw.session()
    s.stream("a", SOURCES[source](), time="ts")
    s.function("slow", slow, "bigint")
    h = s.query("SELECT slow(id) AS id FROM a", name="endless").start(path=path, format=kind)
    while h.lastProgress is None:
        time.sleep(0.01)
    print("running", flush=True)
    return h

h = start(*sys.argv[1:4])
"""
Processes = list[subprocess.Popen[str]]
ENDS = {
    "the script ends": ("", 0),
    "an exception": ("raise KeyError('mine')", 1),
    "sys.exit": ("sys.exit(3)", 3),
    "sys.exit in a thread": ("t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()", 0),
    "waiting elsewhere": ("time.sleep(600)", None),
    "waiting for it": ("h.awaitTermination()", None),
    "waiting, then stop": (
        """
try:
    print("waiting", flush=True)
    h.awaitTermination()
except KeyboardInterrupt:
    h.stop()
""",
        0,
    ),
}


@pytest.fixture
def processes() -> Iterator[Processes]:
    started: Processes = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def begun(processes: Processes, end: str, source: str, folder: Path, kind: str = "parquet") -> subprocess.Popen[str]:
    """A process in which a query has written its first batch."""
    given = [sys.executable, "-c", COMMON + end, source, str(folder), kind]
    process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    processes.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n", process.communicate(timeout=SECONDS)[1]
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said


def start(query: tw.ContinuousQuery, folder: str | Path, kind: str | None = None) -> Handle:
    """Start a query; it accepts a Path too."""
    return query.start(path=folder, format=kind)


def can_be_taken(folder: Path, kind: str = "parquet") -> None:
    s = tw.session()
    s.stream("a", rows([0, 1, 2]), time="ts")
    start(s.query("SELECT id FROM a"), folder, kind).awaitTermination()
    assert [file.name for file in folder.iterdir()] == [f"results.{kind}"]
    read = pq.read_table if kind == "parquet" else csv.read_csv
    assert read(folder / f"results.{kind}").column("id").to_pylist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("how", "source", "kind"),
    [
        ("the script ends", "iterator", "parquet"),
        ("the script ends", "reader", "csv"),
        ("the script ends", "table", "parquet"),
        ("an exception", "iterator", "csv"),
        ("sys.exit", "reader", "parquet"),
        ("sys.exit in a thread", "table", "csv"),
    ],
)
def test_a_script_that_ends_ends_its_runs(
    tmp_path: Path, processes: Processes, how: str, source: str, kind: str
) -> None:
    end, code = ENDS[how]
    folder = tmp_path / "out"
    returned, said = ended(begun(processes, end, source, folder, kind))
    assert returned == code, said
    assert "thalweg: the process ended while the query endless was running" in said
    assert "KeyError: 'mine'" in said if code == 1 else "Traceback" not in said
    assert list(folder.iterdir()) == []
    can_be_taken(folder, kind)


@pytest.mark.parametrize(
    ("how", "source"),
    [("waiting elsewhere", "iterator"), ("waiting for it", "reader"), ("waiting for it", "table")],
)
def test_ctrl_c_ends_runs(tmp_path: Path, processes: Processes, how: str, source: str) -> None:
    folder = tmp_path / "out"
    process = begun(processes, ENDS[how][0], source, folder)
    process.send_signal(signal.SIGINT)
    returned, said = ended(process)
    assert returned == -signal.SIGINT, said  # as Python ends on it
    assert "KeyboardInterrupt" in said
    assert "wrote no results" in said
    assert list(folder.iterdir()) == []


def test_stop_after_ctrl_c_keeps_what_was_found(tmp_path: Path, processes: Processes) -> None:
    folder = tmp_path / "out"
    process = begun(processes, ENDS["waiting, then stop"][0], "iterator", folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "")
    found = pq.read_table(folder).column("id").to_pylist()
    assert found == list(range(len(found)))
    assert found


@pytest.mark.parametrize(
    ("sent", "source", "kind"), [(signal.SIGTERM, "iterator", "parquet"), (signal.SIGKILL, "table", "csv")]
)
def test_what_a_killed_process_left_is_taken_over(
    tmp_path: Path, processes: Processes, sent: int, source: str, kind: str
) -> None:
    folder = tmp_path / "out"
    process = begun(processes, ENDS["waiting for it"][0], source, folder, kind)
    with pytest.raises(tw.PlanError, match="another query is writing to"):  # while it lives
        can_be_taken(folder)
    process.send_signal(sent)
    returned, _ = ended(process)
    assert returned == -sent
    assert not list(folder.glob("results.*"))
    can_be_taken(folder, "parquet")  # also for a file of the other kind


def test_a_forked_child_leaves_the_run_to_its_parent(tmp_path: Path, processes: Processes) -> None:
    """It neither ends the run, nor holds the folder when the parent was killed."""
    folder = tmp_path / "out"
    end = """
forked, says = os.pipe()
child = os.fork()
if not child:
    os.write(says, b"!")
    time.sleep(600 if sys.argv[4] == 'lives' else 0)
    sys.exit()
os.read(forked, 1)  # what runs in a child before its `fork` returns has run
print(child, flush=True)
if sys.argv[4] == 'ends':
    os.waitpid(child, 0)
    time.sleep(0.2)
    h.stop()
else:
    time.sleep(600)
"""
    for what in ("ends", "lives"):
        given = [sys.executable, "-c", COMMON + end, "iterator", str(folder / what), "parquet", what]
        process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        child = int(process.stdout.readline())
        if what == "ends":
            assert process.wait(SECONDS) == 0
            found = pq.read_table(folder / what).column("id").to_pylist()
            assert found == list(range(len(found)))
        else:
            process.kill()
            process.wait(SECONDS)
            try:
                can_be_taken(folder / what)
            finally:
                os.kill(child, signal.SIGKILL)


def test_a_source_that_blocks_does_not_keep_a_process(tmp_path: Path, processes: Processes) -> None:
    folder = tmp_path / "out"
    end = """
import importlib
importlib.import_module("thalweg.session.handle").SECONDS_AT_EXIT = 0.2
"""
    returned, said = ended(begun(processes, end, "blocked", folder))
    assert returned == 0, said
    assert "wrote no results" in said
    assert list(folder.iterdir()) == []


def test_sys_exit_in_a_function_fails_the_run(tmp_path: Path) -> None:
    s = tw.session()
    s.stream("a", rows([0]), time="ts")
    s.function("leave", lambda number: sys.exit(number), "bigint")
    handle = start(s.query("SELECT leave(id) AS id FROM a"), tmp_path / "out")
    with pytest.raises(tw.QueryError, match=r"ended by SystemExit\(0\)"):
        handle.awaitTermination()
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_is_one_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            time.sleep(0.01)
            yield rows([0]).to_batches()[0]

    def endless() -> tw.ContinuousQuery:
        s = tw.session()
        s.stream("a", batches(), time="ts")
        return s.query("SELECT id FROM a")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    first = endless().start(path="out")
    try:
        for other in (tmp_path / "out", "./out/", "x/../out", "link"):
            (tmp_path / "x").mkdir(exist_ok=True)
            with pytest.raises(tw.PlanError, match="another query is writing to"):
                start(endless(), other, "csv")
        monkeypatch.chdir("/")
    finally:
        first.stop()
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["results.parquet"]


NESTED = pa.array([[1]], pa.list_(pa.int64()))


@pytest.mark.parametrize(
    ("kind", "column", "remedy"),
    [
        ("csv", NESTED, "use format='parquet'"),
        ("csv", pa.array([{"a": 1}]), "use format='parquet'"),
        ("csv", pa.array([b"\xff"]), "use format='parquet'"),
        ("csv", pa.array([None], pa.map_(pa.string(), pa.int64())), "use format='parquet'"),
        ("parquet", pa.array([None], pa.month_day_nano_interval()), "remove it from SELECT"),
        ("parquet", pa.array([{}], pa.struct([])), "remove it from SELECT"),
    ],
    ids=lambda value: str(getattr(value, "type", value))[:30],
)
def test_types_that_a_file_cannot_hold_are_refused(tmp_path: Path, kind: str, column: pa.Array, remedy: str) -> None:
    table = rows([0]).append_column("odd", column)
    s = tw.session()
    s.stream("a", iter(table.to_batches()), time="ts")  # read once: by the start that is not refused
    folder = tmp_path / "out"
    with pytest.raises(tw.PlanError, match=f"cannot store the column 'odd', which is .*; {remedy}"):
        start(s.query("SELECT id, odd FROM a"), folder, kind)
    assert not folder.exists()
    if remedy.startswith("use"):
        start(s.query("SELECT id, odd FROM a"), folder, "parquet").awaitTermination()
        assert pq.read_table(folder).column("odd").to_pylist() == column.to_pylist()
    else:
        start(s.query("SELECT id FROM a"), folder, kind).awaitTermination()
        assert pq.read_table(folder).column("id").to_pylist() == [0]
