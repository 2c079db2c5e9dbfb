"""A predicate that hangs is ended and named in the error; other alarms are restored."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.kernels import CallEnded
from thalweg.runtime.filters.time_limit import TimeLimit

ROWS = pa.table({"id": range(3000)})
FOREVER_S = 60.0


def slept(seconds: float) -> bool:
    """Return True after sleeping: a predicate in one expression."""
    time.sleep(seconds)
    return True


def sleeps(i: int) -> bool:
    return i != 2000 or slept(FOREVER_S)


def spins(i: int) -> bool:
    end = time.monotonic() + FOREVER_S
    while i == 2000 and time.monotonic() < end:
        pass
    return True


def swallows(i: int) -> bool:
    end = time.monotonic() + FOREVER_S
    while i == 2000 and time.monotonic() < end:
        with contextlib.suppress(Exception):
            time.sleep(0.01)
    return True


def searches(i: int) -> bool:
    return i != 2000 or re.match("(a+)+b", "a" * 60) is None


def swallows_everything(i: int) -> bool:
    try:
        return sleeps(i)
    except:  # noqa: E722  (as people write it)
        return False


def swallows_in_every_row(i: int) -> bool:
    """As a look-up in a service that is down for many rows."""
    try:
        return not 2000 <= i < 2200 or slept(FOREVER_S)
    except BaseException:
        return False


def returns_in_finally(i: int) -> bool:
    try:
        sleeps(i)
    finally:
        return i < 0  # noqa: B012  (it does, and Python lets it)


def raises_something_else(i: int) -> bool:
    try:
        return sleeps(i)
    except BaseException as error:
        raise ValueError("the service did not answer") from error


def goes_on_for_a_while(i: int) -> bool:
    end = time.monotonic() + 0.6
    while i == 2000 and time.monotonic() < end:
        try:
            time.sleep(0.01)
        except BaseException:
            continue
    return False


def cleans_up(i: int) -> bool:
    try:
        return sleeps(i)
    finally:
        time.sleep(0.2 if i == 2000 else 0.0)


HANGS = [(hangs, on_error) for hangs in (sleeps, spins, swallows, searches) for on_error in ("raise", "dead-letter")]
SWALLOWS = [swallows_everything, swallows_in_every_row, returns_in_finally, goes_on_for_a_while, cleans_up]


@pytest.mark.parametrize(
    ("hangs", "on_error"),
    [*HANGS, *((swallows, "raise") for swallows in SWALLOWS), (raises_something_else, "dead-letter")],
)
def test_a_predicate_that_hangs_is_ended_by_name(hangs: Callable[[int], bool], on_error: str) -> None:
    keep = tw.filters(tw.predicate(hangs, "id"), time_limit=0.3, slice_rows=1000, on_error=on_error)
    begun = time.monotonic()
    message = rf"{hangs.__name__!r} did not .* time limit of 0.3 s, on a slice of rows 2,000 to 2,999 \(from 0\) of the"
    with pytest.raises(tw.TimeLimitError, match=message):
        list(keep.over(ROWS))
    assert time.monotonic() - begun < FOREVER_S / 4


def arrays(hangs: Callable[[int], bool]) -> Callable[[pa.Array], pa.Array]:
    """As a vectorized predicate, which is called again on halves where it raises."""

    def by_array(ids: pa.Array) -> pa.Array:
        return pa.array([bool(hangs(i)) for i in ids.to_pylist()])

    return by_array


@pytest.mark.parametrize("hangs", [swallows_everything, raises_something_else])
def test_a_vectorized_predicate_cannot_swallow_the_limit_either(hangs: Callable[[int], bool]) -> None:
    predicate = tw.predicate(arrays(hangs), "id", name="hangs", vectorized=True)
    keep = tw.filters(predicate, time_limit=0.2, slice_rows=1000, on_error="dead-letter")
    begun = time.monotonic()
    with pytest.raises(tw.TimeLimitError, match="'hangs' did not"):
        list(keep.tagged_over(ROWS))
    assert time.monotonic() - begun < FOREVER_S / 4


def test_an_array_function_that_swallows_the_limit_is_late() -> None:
    def swallows_it(ids: pa.Array) -> pa.Array:
        with contextlib.suppress(BaseException):
            time.sleep(FOREVER_S)
        return pa.array([True] * len(ids))

    keep = tw.filters(tw.predicate(swallows_it, "id", vectorized=True), time_limit=0.1)
    with pytest.raises(tw.TimeLimitError, match="'swallows_it' did not"):
        list(keep.over(ROWS))


def test_rows_before_a_swallowed_limit_are_not_returned() -> None:
    keep = tw.filters(tw.predicate(swallows_everything, "id"), time_limit=0.2, slice_rows=1000)
    kept = keep.over(ROWS.to_batches(max_chunksize=1000))
    assert [next(kept).num_rows, next(kept).num_rows] == [1000, 1000]
    with pytest.raises(tw.TimeLimitError):
        next(kept)


def test_a_limit_swallowed_while_profiling_is_only_counted() -> None:
    def swallows_it(i: int) -> bool:
        with contextlib.suppress(BaseException):
            time.sleep(FOREVER_S)
        return True

    keep = tw.filters(
        tw.predicate(lambda i: i < 0, "id", name="drops_all"),
        tw.predicate(swallows_it, "id"),
        policy="local-swaps(p=1.0)",
        time_limit=0.1,
        slice_rows=1,
    )
    assert sum(batch.num_rows for batch in keep.over(ROWS.slice(0, 3))) == 0
    assert {p.name: p.profile_errors for p in keep.report().sections[0].predicates} == {
        "drops_all": 0,
        "swallows_it": 3,
    }


def test_time_is_a_calls_not_the_querys() -> None:
    keep = tw.filters(tw.predicate(lambda i: slept(0.05), "id"), time_limit=1.0, slice_rows=1)
    assert sum(batch.num_rows for batch in keep.over(ROWS.slice(0, 24))) == 24


def test_a_hang_in_profiling_fails_nothing() -> None:
    keep = tw.filters(
        tw.predicate(lambda i: i < 0, "id", name="drops_all"),
        tw.predicate(lambda i: slept(0.4), "id", name="slow"),
        policy="local-swaps(p=1.0)",
        time_limit=0.1,
        slice_rows=1,
    )
    assert sum(batch.num_rows for batch in keep.over(ROWS.slice(0, 3))) == 0
    assert {p.name: p.profile_errors for p in keep.report().sections[0].predicates} == {"drops_all": 0, "slow": 3}


def test_outside_the_main_thread_the_error_comes_on_return() -> None:
    keep = tw.filters(tw.predicate(lambda i: slept(0.3), "id", name="slow"), time_limit=0.1)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            list(keep.over(ROWS.slice(0, 1)))
        except tw.TimeLimitError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (error,) = caught
    assert "'slow' did not return" in str(error)


@pytest.fixture
def alarms() -> Iterator[list[float]]:
    """A handler of the surrounding program; the previous one (of pytest) is restored."""
    rung: list[float] = []
    timer = signal.setitimer(signal.ITIMER_REAL, 0)
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    yield rung
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


def test_another_alarm_fires_in_time_even_during_a_call(alarms: list[float]) -> None:
    begun = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    limit = TimeLimit(30.0, ("patient",))
    with limit:
        limit.enter(0)
        time.sleep(0.5)
        limit.leave()
    (rung,) = alarms
    assert 0.19 < rung - begun < 0.5


def test_another_alarm_is_restored(alarms: list[float]) -> None:
    before = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 30.0, 7.0)
    with TimeLimit(0.05, ("p",)):
        time.sleep(0.2)
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 29.0 < remaining < 29.9
    assert interval == 7.0
    assert signal.getsignal(signal.SIGALRM) is before
    assert alarms == []


def test_without_one_nothing_is_left_ticking(alarms: list[float]) -> None:
    limit = TimeLimit(0.05, ("p",))
    with limit:
        limit.enter(0)
        with pytest.raises(CallEnded):
            time.sleep(FOREVER_S)
        with pytest.raises(CallEnded):  # whatever the call made of it
            limit.leave()
    time.sleep(0.15)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert alarms == []


STUCK = "sum(range(10**13))"
"""A C function that never checks for signals, and holds the interpreter lock."""
SWALLOWING = """
            while True:
                try:
                    time.sleep(1)
                except BaseException:
                    pass
"""


@pytest.mark.parametrize("stuck", [STUCK, SWALLOWING], ids=["in C", "swallowing"])
def test_a_process_that_may_be_ended_is_when_nothing_else_helps(stuck: str) -> None:
    """As in a Spark worker."""
    code = f"""
        import time
        import thalweg.runtime.filters.time_limit as t
        t.GRACE_S = 0.2
        limit = t.TimeLimit(0.2, ("stuck",), kills=True)
        with limit:
            limit.enter(0)
            {stuck}
    """
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"Timeout" in done.stderr
    assert time.monotonic() - begun < 30
