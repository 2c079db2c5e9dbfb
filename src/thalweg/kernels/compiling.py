"""A clock that stops while numba compiles, or loads what it compiled in another process.

Compiling takes tenths of a second per function, once per process (or once per machine, with a cache). Charged to the
call that happened to need it, it would be reported as profiling, make a predicate look expensive, and use up a budget.
So it is counted separately.

Guarantee: the clock never goes back. It stops for all threads while one of them compiles.
Cost: one more Python call per reading of the clock.

>>> clock = WorkingClock()
>>> before = clock()
>>> clock() >= before, compiled_by(clock) >= 0, compiled_by(lambda: 7)
(True, True, 0)
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_EVENT = "numba:compiler_lock"
"""Numba compiles and loads under this lock, and reports when a thread requests it and when it has released it."""

NOTICE = (
    "thalweg: compiling the loops of joins, which takes up to a minute. This happens once per installation; the result "
    "is cached. To compile in advance: python -m thalweg.kernels.warm_up"
)
_SAID: set[str] = set()


class _Compiling:
    """How long numba has compiled in this process since `watch` was first called, and when it last began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._watching = False
        self.state: tuple[int, int | None] = (0, None)
        """Total nanoseconds, and the start of the compilation in progress; one tuple, so that both are read at once."""

    def watch(self) -> None:
        """Start counting. Does nothing if it has started already."""
        if self._watching:
            return
        from numba.core import event

        begin, end = self._begin, self._end

        class Listener(event.Listener):
            def on_start(self, event: object) -> None:
                begin()

            def on_end(self, event: object) -> None:
                end()

        with self._lock:
            if not self._watching:
                self._watching = True
                event.register(_EVENT, Listener())  # type: ignore[no-untyped-call]

    def _begin(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self.state = (self.state[0], time.perf_counter_ns())

    def _end(self) -> None:
        with self._lock:
            self._depth -= 1
            total, begun = self.state
            if self._depth == 0 and begun is not None:
                self.state = (total + time.perf_counter_ns() - begun, None)


_COMPILING = _Compiling()


class WorkingClock:
    """A clock, called like `time.perf_counter_ns`, that leaves out compiling."""

    __slots__ = ()

    def __call__(self) -> int:
        """Return the time in nanoseconds, without compiling."""
        while True:
            state = _COMPILING.state
            total, begun = state
            now = time.perf_counter_ns() if begun is None else begun
            # else another thread began or ended in between, and the two values do not belong together
            if _COMPILING.state is state:
                return now - total

    def compiled_ns(self) -> int:
        """Return the nanoseconds of compiling so far."""
        total, begun = _COMPILING.state
        return total if begun is None else total + time.perf_counter_ns() - begun


def watch_compiling(only_if_loaded: bool = False) -> None:
    """Start counting. Imports numba, unless `only_if_loaded`: half a second that most filters do not need."""
    if not only_if_loaded or "numba" in sys.modules:
        _COMPILING.watch()


def compiled_by(clock: Callable[[], int]) -> int:
    """Return the nanoseconds of compiling that a clock has left out; 0 for other clocks, such as virtual ones."""
    return clock.compiled_ns() if isinstance(clock, WorkingClock) else 0


@contextmanager
def announced() -> Iterator[None]:
    """Print `NOTICE` if numba compiles something in this context. Loading from its cache is not announced. Only code
    that runs in the user's process uses this, so that workers of Spark print nothing."""
    from numba.core import event

    class Announcing(event.Listener):
        def on_start(self, event: object) -> None:
            announce()

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Announcing()):
        yield


def announce() -> None:
    """Say once per process that loops are compiled: to the logger `thalweg`, or to a terminal or notebook if the logger
    is not configured to show it."""
    if NOTICE in _SAID:
        return
    _SAID.add(NOTICE)
    log = logging.getLogger("thalweg")
    if log.isEnabledFor(logging.INFO):
        log.info(NOTICE)
    elif sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(NOTICE, file=sys.stderr, flush=True)


def is_compiled() -> bool:
    """Whether the loops of joins have been compiled on this machine, by this user. Numba's cache is beside the package,
    or elsewhere if that folder cannot be written to; only then is numba imported to find it."""
    files = "probing.find_partners-*.nbi"
    if any((Path(__file__).parent / "__pycache__").glob(files)):
        return True
    from thalweg.kernels.probing import find_partners

    folder = find_partners.stats.cache_path
    return folder is not None and any(Path(folder).glob(files))
