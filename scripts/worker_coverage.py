"""Save the coverage data of Spark's Python workers after every task. `make coverage` runs this in every process.

A worker is a fork of PySpark's daemon and serves one task after another. When a session stops, the daemon ends its
workers by SIGHUP, and Spark kills the worker of a task that it cancels. Neither leaves time to save anything, so data
that is saved at the end of a process would be lost.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import coverage


def save_after_each_task() -> None:
    """In a fork of PySpark's daemon, wrap the function that serves a task; do nothing in other processes."""
    daemon: Any = sys.modules["__main__"]
    if getattr(daemon.__spec__, "name", None) != "pyspark.daemon":
        return
    serve = daemon.worker

    def serve_and_save(*args: Any) -> Any:
        try:
            return serve(*args)
        finally:
            save()

    daemon.worker = serve_and_save


def save() -> None:
    """Save what was measured so far. A SIGHUP that arrives meanwhile takes effect afterwards, so no file is damaged."""
    measured = coverage.Coverage.current()
    assert measured is not None, "coverage.py measures no forks: [tool.coverage.run] patch must include 'fork'"
    arrived: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: arrived.append(number))
    try:
        measured.save()
    finally:
        signal.signal(signal.SIGHUP, before)
        if arrived:
            os.kill(os.getpid(), signal.SIGHUP)


os.register_at_fork(after_in_child=save_after_each_task)  # after that of coverage.py, which measures the fork
