"""CPU time of Spark: of the JVM and its Python workers, so that other work on the machine disturbs less."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import numpy as np
import psutil

EVERY_S = 0.1


class CpuClock:
    """A context that regularly reads the CPU time of all processes below this one. The time of an ended process is
    reported by the process that waited for it."""

    def __init__(self) -> None:
        self._read: list[tuple[float, float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> CpuClock:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def ms(self, begin: float, end: float) -> tuple[float, float]:
        """Return the CPU time of the JVM and of Python between two moments, given in seconds since 1970."""
        moments, *read = zip(*self._read, strict=True)
        # the time of a process that has just ended is missing until it was waited for
        grown = [np.interp([begin, end], moments, np.maximum.accumulate(spent)) for spent in read]
        jvm, python = (1000 * float(np.diff(each)[0]) for each in grown)
        return jvm, python

    def _follow(self) -> None:
        over = False
        while not over:
            over = self._over.wait(EVERY_S) if self._read else False
            self._read.append((time.time(), *spent()))


def spent() -> tuple[float, float]:
    """Return the CPU time so far of the JVM and of Python workers, in seconds."""
    jvm = python = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times, name = process.cpu_times(), process.name()
        except psutil.Error:  # it has ended
            continue
        if name == "java":
            jvm += times.user + times.system
            python += times.children_user + times.children_system  # it has no other children
        else:
            python += times.user + times.system + times.children_user + times.children_system
    return jvm, python
