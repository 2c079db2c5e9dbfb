"""A predicate that hangs is ended, by name; other people's alarms come back."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.kernels import CallEnded
from thalweg.runtime.time_limit import TimeLimit

ROWS = pa.table({"id": range(3000)})
FOREVER_S = 60.0


def sleeps(i):
    return i != 2000 or time.sleep(FOREVER_S) or True


def spins(i):
    end = time.monotonic() + FOREVER_S
    while i == 2000 and time.monotonic() < end:
        pass
    return True


def swallows(i):
    end = time.monotonic() + FOREVER_S
    while i == 2000 and time.monotonic() < end:
        with contextlib.suppress(Exception):
            time.sleep(0.01)
    return True


def searches(i):
    return i != 2000 or re.match("(a+)+b", "a" * 60) is None


@pytest.mark.parametrize("hangs", [sleeps, spins, swallows, searches])
@pytest.mark.parametrize("on_error", ["raise", "dead-letter"])
def test_a_predicate_that_hangs_is_ended_by_name(hangs, on_error):
    keep = tw.filters(tw.predicate(hangs, "id"), time_limit=0.3, slice_rows=1000, on_error=on_error)
    begun = time.monotonic()
    message = rf"{hangs.__name__!r} did not .* time limit of 0.3 s, on a slice of rows 2,000 to 2,999 \(from 0\) of the"
    with pytest.raises(tw.TimeLimitError, match=message):
        list(keep.over(ROWS))
    assert time.monotonic() - begun < FOREVER_S / 4


def test_time_is_a_calls_not_the_querys():
    keep = tw.filters(tw.predicate(lambda i: time.sleep(0.05) or True, "id"), time_limit=2.0, slice_rows=1)
    assert sum(batch.num_rows for batch in keep.over(ROWS.slice(0, 60))) == 60


def test_a_hang_in_profiling_fails_nothing():
    keep = tw.filters(
        tw.predicate(lambda i: i < 0, "id", name="drops_all"),
        tw.predicate(lambda i: time.sleep(0.4) or True, "id", name="slow"),
        policy="local-swaps",
        p=1.0,
        time_limit=0.1,
        slice_rows=1,
    )
    assert sum(batch.num_rows for batch in keep.over(ROWS.slice(0, 3))) == 0
    assert {p.name: p.profile_errors for p in keep.report().sections[0].predicates} == {"drops_all": 0, "slow": 3}


def test_outside_the_main_thread_it_is_told_when_the_call_returns():
    keep = tw.filters(tw.predicate(lambda i: time.sleep(0.3) or True, "id", name="slow"), time_limit=0.1)
    caught: list[BaseException] = []

    def run():
        try:
            list(keep.over(ROWS.slice(0, 1)))
        except tw.TimeLimitError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (error,) = caught
    assert "'slow' did not answer" in str(error)


@pytest.fixture
def alarms():
    """Somebody's own handler; what was there before (pytest's) comes back."""
    rung: list[float] = []
    timer = signal.setitimer(signal.ITIMER_REAL, 0)
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    yield rung
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


def test_somebodys_alarm_rings_in_time_also_during_a_call(alarms):
    begun = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    limit = TimeLimit(30.0, ("patient",))
    with limit:
        limit.enter(0)
        time.sleep(0.5)
        limit.leave()
    (rung,) = alarms
    assert 0.19 < rung - begun < 0.5


def test_somebodys_alarm_comes_back(alarms):
    before = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 30.0, 7.0)
    with TimeLimit(0.05, ("p",)):
        time.sleep(0.2)
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 29.0 < remaining < 29.9
    assert interval == 7.0
    assert signal.getsignal(signal.SIGALRM) is before
    assert alarms == []


def test_without_one_nothing_is_left_ticking(alarms):
    limit = TimeLimit(0.05, ("p",))
    with limit:
        limit.enter(0)
        with pytest.raises(CallEnded):
            time.sleep(FOREVER_S)
        limit.leave()
    time.sleep(0.15)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert alarms == []


def test_a_process_that_may_be_ended_is_when_nothing_else_helps():
    """As in a Spark worker: a C function that never looks for signals, and holds the interpreter."""
    code = """
        import thalweg.runtime.time_limit as t
        t.GRACE_S = 0.2
        limit = t.TimeLimit(0.2, ("stuck",), kills=True)
        with limit:
            limit.enter(0)
            sum(range(10**13))
    """
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"Timeout" in done.stderr
    assert time.monotonic() - begun < 30
