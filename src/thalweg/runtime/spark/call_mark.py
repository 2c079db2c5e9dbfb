"""Which predicate a worker was in when it died: a byte in a file that outlives the process.

A segmentation fault, an out-of-memory kill or a time limit that had to end the process leaves no time for words. So a
worker writes the number of the predicate into a mapped file of its host before each call (one store into memory: the
kernel keeps it whatever becomes of the process), and removes the file with its task. What is left over tells of workers
that were ended inside a task: the driver's report reads it where driver and worker share a host, and a last attempt of
the task on that host. On another host nobody reads it.

Spark, too, ends workers inside a predicate, when a query is stopped or nobody wants the rest of a partition; the file
cannot tell that apart.
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
"""Before a last attempt is given up: one may have been bad luck."""
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
    """A sentry that leaves word. A disk that is full is no reason to fail a query: then there is no word."""

    def __init__(self, application: str, filters: str, stage: int, partition: int, attempt: int) -> None:
        pid = os.getpid()
        host = HostFile(application, f"{_prefix(filters)}{pid}-{stage}-{partition}-{attempt}")
        self._path = host.path.with_suffix(".call")
        self._map: mmap.mmap | bytearray = bytearray(_BYTES)
        told = {
            "pid": pid, "host": socket.gethostname(), "stage": stage, "partition": partition, "attempt": attempt,
        }  # fmt: skip
        with contextlib.suppress(OSError):
            if host.ready():
                flags = os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_RDWR
                with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
                    file.truncate(_BYTES)
                    self._map = mmap.mmap(file.fileno(), _BYTES)
                    text = json.dumps(told).encode()
                    self._map[1 : 1 + len(text)] = text

    def enter(self, k: int) -> None:
        """In predicate k from now on; of a chain longer than a byte can count, the last ones are not told apart."""
        self._map[0] = min(k + 1, 255)

    def leave(self) -> None:
        """In none."""
        self._map[0] = 0

    def remove(self) -> None:
        """The task has ended, and the worker lives."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def deaths(application: str, filters: str) -> list[Death]:
    """Workers of this host that ended inside a predicate of this filter set."""
    host = HostFile(application, "")
    if not host.ours():
        return []
    folder = host.path.parent
    found = []
    here = socket.gethostname()
    for path in sorted(folder.glob(f"{_prefix(filters)}*.call")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = path.read_bytes()
            told = json.loads(content[1:].rstrip(b"\0"))
            if content[0] and told["host"] == here and not lives(told["pid"]):
                found.append(
                    Death(content[0] - 1, told["pid"], told["stage"], told["partition"], told["attempt"])
                )  # fmt: skip
    return found


def sentence(death: Death, names: Sequence[str]) -> str:
    """For people."""
    name = names[death.predicate] if death.predicate < len(names) else f"number {death.predicate + 1}"
    return (
        f"Python worker {death.pid} ended inside predicate {name!r} (stage {death.stage}, partition "
        f"{death.partition}): it crashed, was out of memory, was ended by the time limit, or Spark stopped its task."
    )


def give_up_if_it_always_dies(
    application: str, filters: str, names: Sequence[str], stage: int, partition: int, attempt: int, attempts: int
) -> None:
    """Before the last attempt Spark allows: when all before it died in one predicate, say so, since a worker that dies
    once more can say nothing."""
    if attempt + 1 < attempts or attempt < LEAST_DEATHS:
        return
    before = [d for d in deaths(application, filters) if (d.stage, d.partition) == (stage, partition)]
    if len({d.attempt for d in before}) == attempt and len({d.predicate for d in before}) == 1:
        raise WorkerDiedError(
            f"{attempt} Python workers ended inside predicate {names[before[0].predicate]!r}, all of partition "
            f"{partition}, so it is not tried again: it crashes the interpreter, takes too much memory, or does not "
            "end. Their stack traces are in the workers' standard error"
        )


def _prefix(filters: str) -> str:
    return f"in-{filters}-"
