"""CPU time of Spark: of the JVM and its Python workers, so that other work on the machine disturbs less."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import numpy as np
import psutil

EVERY_S = 0.1


class CpuClock:
    """Reads all processes below this one, now and then, while it is entered; a process that has ended is told by the
    one that waited for it."""

    def __init__(self) -> None:
        self._read: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> CpuClock:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def seconds(self, begin: float, end: float) -> float:
        """Between two moments, told as seconds since 1970."""
        moments, spent = zip(*self._read, strict=True)
        early, late = np.interp([begin, end], moments, spent)
        return float(late - early)

    def _follow(self) -> None:
        this = psutil.Process()
        while True:
            self._read.append((time.time(), sum(map(_spent, this.children(recursive=True)))))
            if self._over.wait(EVERY_S):
                self._read.append((time.time(), sum(map(_spent, this.children(recursive=True)))))
                return


def _spent(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has ended
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
