"""Records which predicate a worker is in, as a byte in a file that outlives the process.

A worker that ends by a segmentation fault, an out-of-memory kill or a time limit cannot report anything. So a worker
writes the number of the predicate to a memory-mapped file of its host before each call (one store to memory, which the
kernel keeps whatever happens to the process), and removes the file when its task ends. Files that remain belong to
workers that ended inside a task. They are read by the driver's report, if driver and worker share a host, and by the
last attempt of the task on that host. On other hosts they are not read.

Spark also ends workers inside a predicate, when a query is stopped or the rest of a partition is not needed. The file
does not distinguish this case.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.errors import WorkerDiedError
from thalweg.runtime.spark.host_file import HostFile, lives

LEAST_DEATHS = 2
"""The number of deaths before the last attempt is given up; a single one may be a coincidence."""
_BYTES = 512


@dataclass(frozen=True, slots=True)
class Death:
    """A worker that ended inside a predicate."""

    predicate: int
    pid: int
    stage: int
    partition: int
    attempt: int


class CallMark:
    """A sentry that records the current predicate in a file. If the disk is full, the query runs without the file."""

    def __init__(self, application: str, filters: str, stage: int, partition: int, attempt: int) -> None:
        pid = os.getpid()
        host = HostFile(application, f"{_prefix(filters)}{pid}-{stage}-{partition}-{attempt}")
        self._path = host.path.with_suffix(".call")
        self._map: mmap.mmap | bytearray = bytearray(_BYTES)
        record = {
            "pid": pid, "host": socket.gethostname(), "stage": stage, "partition": partition, "attempt": attempt,
        }  # fmt: skip
        with contextlib.suppress(OSError):
            if host.ready():
                flags = os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_RDWR
                with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
                    file.truncate(_BYTES)
                    self._map = mmap.mmap(file.fileno(), _BYTES)
                    text = json.dumps(record).encode()
                    self._map[1 : 1 + len(text)] = text

    def enter(self, k: int) -> None:
        """Record that predicate k is called. From the 255th on, predicates share one number, because it is a byte."""
        self._map[0] = min(k + 1, 255)

    def leave(self) -> None:
        """Record that no predicate is called."""
        self._map[0] = 0

    def remove(self) -> None:
        """Remove the file, because the task has ended and the worker is alive."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def deaths(application: str, filters: str) -> list[Death]:
    """Return the workers of this host that ended inside a predicate of this filter set."""
    host = HostFile(application, "")
    if not host.ours():
        return []
    folder = host.path.parent
    found = []
    here = socket.gethostname()
    for path in sorted(folder.glob(f"{_prefix(filters)}*.call")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = path.read_bytes()
            record = json.loads(content[1:].rstrip(b"\0"))
            if content[0] and record["host"] == here and not lives(record["pid"]):
                found.append(
                    Death(content[0] - 1, record["pid"], record["stage"], record["partition"], record["attempt"])
                )  # fmt: skip
    return found


def sentence(death: Death, names: Sequence[str]) -> str:
    """Return a sentence about a death for the report."""
    name = names[death.predicate] if death.predicate < len(names) else f"number {death.predicate + 1}"
    return (
        f"Python worker {death.pid} ended inside predicate {name!r} (stage {death.stage}, partition "
        f"{death.partition}): it crashed, ran out of memory, was ended by the time limit, or Spark stopped its task."
    )


def give_up_if_it_always_dies(
    application: str, filters: str, names: Sequence[str], stage: int, partition: int, attempt: int, attempts: int
) -> None:
    """Raise a WorkerDiedError before the last attempt that Spark allows, if all earlier attempts died in one predicate.
    A worker that dies again could not report it."""
    if attempt + 1 < attempts or attempt < LEAST_DEATHS:
        return
    before = [d for d in deaths(application, filters) if (d.stage, d.partition) == (stage, partition)]
    if len({d.attempt for d in before}) == attempt and len({d.predicate for d in before}) == 1:
        raise WorkerDiedError(
            f"{attempt} Python workers ended inside predicate {names[before[0].predicate]!r}, all of partition "
            f"{partition}, so it is not tried again: it crashes the interpreter, takes too much memory, or does not "
            "end. Keep such rows from it with after=, give workers more memory, or end long calls with time_limit=. "
            "The stack traces are in the standard error of the workers"
        )


def _prefix(filters: str) -> str:
    return f"in-{filters}-"
