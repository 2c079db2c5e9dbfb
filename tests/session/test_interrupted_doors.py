"""Ctrl-C at random moments, clocks that jump and few open files, at each door of a process without Spark: afterwards
the same rows as plain Python finds, and nothing is left."""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.runtime.spark.waiting import wait_until
from thalweg.adapt.registry import POLICIES
from thalweg.kernels.compiling import WorkingClock
from thalweg.session import local_sink

ROWS, WINDOW = 4_000, 20
LEFT = pa.table({"ts": pa.array(range(ROWS), pa.timestamp("us")), "k": [n * 7919 % 97 for n in range(ROWS)]})
RIGHT = pa.table({"ts": LEFT["ts"], "k": [n * 104_729 % 89 for n in range(ROWS)]})
SMALL = 250
"""The rows of a batch."""
Numbers = list[tuple[int, ...]]


def batches(table: pa.Table) -> list[pa.RecordBatch]:
    made: list[pa.RecordBatch] = table.to_batches(max_chunksize=SMALL)
    return made


def is_odd(k: int) -> bool:
    return k % 2 == 1


def is_small(k: int) -> bool:
    return k < 50


PASSED: Numbers = sorted((k,) for k in LEFT["k"].to_pylist() if is_odd(k) and is_small(k))
_TIMES: dict[int, list[int]] = {}
for _at, _k in enumerate(RIGHT["k"].to_pylist()):
    _TIMES.setdefault(_k, []).append(_at)
JOINED: Numbers = sorted(
    (k, other)
    for at, k in enumerate(LEFT["k"].to_pylist())
    for other in _TIMES.get(k, ())
    if abs(at - other) <= WINDOW
)  # fmt: skip


def session() -> tw.Session:
    s = tw.session()
    for name, table in (("a", LEFT), ("b", RIGHT)):
        s.stream(name, batches(table), time="ts")
    s.function("is_odd", is_odd, "boolean")
    s.function("is_small", is_small, "boolean")
    return s


FILTER = "SELECT k FROM a WHERE is_odd(k) AND is_small(k)"
JOIN = f"SELECT a.k, b.ts FROM a [RANGE {WINDOW} MICROSECONDS], b [RANGE {WINDOW} MICROSECONDS] WHERE a.k = b.k"


def numbers(table: pa.Table) -> Numbers:
    columns = [column.cast(pa.int64()).to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True))


def written(text: str, folder: Path) -> Numbers:
    shutil.rmtree(folder, ignore_errors=True)
    run = session().query(text, name="mine").start(path=folder)
    try:
        run.awaitTermination(60)
    except KeyboardInterrupt:
        run.stop()
        raise
    return numbers(pq.read_table(folder))


def in_rounds() -> Numbers:
    s = session()
    rounds = s.rounds([s.query(FILTER, name="mine"), s.query(JOIN, name="other")])
    try:
        rounds.awaitTermination(60)
    except KeyboardInterrupt:
        rounds.stop()
        raise
    return numbers(rounds.table("mine")) + numbers(rounds.table("other"))


def joined() -> Numbers:
    join = tw.join(on="a.k = b.k", window=f"{WINDOW} microseconds", time="ts", select=["a.k", "b.ts"])
    return numbers(pa.Table.from_batches(list(join.over(a=LEFT, b=RIGHT))).select(["a_k", "b_ts"]))


def filtered() -> Numbers:
    kept = tw.filters(tw.predicate(is_odd, "k"), tw.predicate(is_small, "k")).over(batches(LEFT))
    return numbers(pa.Table.from_batches(list(kept)).select(["k"]))


DOORS: dict[str, tuple[Callable[[Path], Numbers], Numbers]] = {
    "a table of a filter": (lambda folder: numbers(session().query(FILTER).dataframe()), PASSED),
    "a table of a join": (lambda folder: numbers(session().query(JOIN).dataframe()), JOINED),
    "a file of a filter": (lambda folder: written(FILTER, folder), PASSED),
    "a file of a join": (lambda folder: written(JOIN, folder), JOINED),
    "rounds": (lambda folder: in_rounds(), PASSED + JOINED),
    "join": (lambda folder: joined(), JOINED),
    "filters": (lambda folder: filtered(), PASSED),
}


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C, as the system sends it."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def check_interrupts(door: str, folder: Path, moments: int, draw: random.Random) -> None:
    run, expected = DOORS[door]
    assert run(folder) == expected  # loads and compiles what it needs
    begun = time.perf_counter()
    assert run(folder) == expected
    took = time.perf_counter() - begun
    interrupts = 0
    for n in range(20 * moments):
        if n >= moments and interrupts:
            break  # all may come too late, if a run is faster than the one that was timed
        try:
            with interrupted_after(max(draw.random() * took, 1e-4)):
                assert run(folder) == expected
        except KeyboardInterrupt:
            interrupts += 1
        wait_until(lambda: not [t for t in threading.enumerate() if t.name.startswith("thalweg ")], "no run")
        assert not local_sink._held
    assert interrupts
    assert run(folder) == expected


@pytest.mark.parametrize("door", DOORS)
def test_ctrl_c_changes_nothing(tmp_path: Path, door: str) -> None:
    check_interrupts(door, tmp_path / "out", 5, random.Random(door))


@pytest.mark.long(sample="test_ctrl_c_changes_nothing")
@pytest.mark.parametrize("door", DOORS)
def test_ctrl_c_at_many_moments(tmp_path: Path, door: str) -> None:
    check_interrupts(door, tmp_path / "out", 100, random.Random())


YEAR_NS, HOUR_NS = 365 * 86_400 * 10**9, 3_600 * 10**9


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_clocks_that_jump(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that work is measured by goes forward a year or back an hour, at one of 20 readings."""
    draw, ahead = random.Random(policy), 0

    def jumping(self: WorkingClock) -> int:
        nonlocal ahead
        if draw.random() < 0.05:
            ahead += draw.choice([YEAR_NS, -HOUR_NS, -HOUR_NS])
        return time.perf_counter_ns() + ahead

    monkeypatch.setattr(WorkingClock, "__call__", jumping)
    settings: dict[str, Any] = {"classify_by": ["a.k"]} if policy == "mesh" else {}
    queries = [session().query(FILTER, policy=policy, **settings)]
    if policy in ("auto", "static"):
        queries.append(session().query(JOIN, policy=policy))
    for query, expected in zip(queries, (PASSED, JOINED), strict=False):
        assert numbers(query.dataframe()) == expected
        assert str(query.report())
        assert str(query.explain())


def test_few_open_files(tmp_path: Path) -> None:
    """Runs close what they open, and say so if they cannot open a file."""
    run, expected = DOORS["a file of a filter"]
    assert run(tmp_path / "out") == expected  # loads what it needs
    gc.collect()
    most, limits = max(*map(int, os.listdir("/proc/self/fd")), 54), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 10, limits[1]))
    held: list[int] = []
    try:
        for _ in range(30):
            assert run(tmp_path / "out") == expected
        for free in range(2):  # the lock needs one, and the file
            gc.collect()  # so that nothing else is closed meanwhile
            with suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(free):
                os.close(held.pop())
            with pytest.raises(tw.ThalwegError, match=r"/new.* Too many open files; raise the limit .*\(ulimit -n\)"):
                session().query(FILTER).start(path=tmp_path / "new").awaitTermination(60)
    finally:
        for opened in held:
            os.close(opened)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list((tmp_path / "new").iterdir()) == []
    assert run(tmp_path / "out") == expected
