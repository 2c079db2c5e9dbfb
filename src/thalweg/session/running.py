"""Keeps track of the running queries of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.errors import PlanError
from thalweg.session.handle import BatchRun, Handle


@dataclass
class Running:
    """The running queries of a session."""

    lock: ClassVar[threading.Lock] = threading.Lock()
    """Only one query is started at a time over all sessions, because two sessions may be given the same checkpoint."""
    _handles: list[Handle] = field(default_factory=list)

    @contextmanager
    def starting(self) -> Iterator[Callable[[BatchRun], BatchRun]]:
        """Hold the lock while queries are started, and yield the function that starts a run in this process.

        If an error or Ctrl-C ends this, the runs that were started end too, because their handles are lost.
        """
        begun: list[BatchRun] = []

        def begin(run: BatchRun) -> BatchRun:
            begun.append(run)
            run.begin()
            self.add(run)
            return run

        try:
            with self.lock:
                yield begin
        except BaseException:
            for run in begun:
                run.cancel()
            raise

    def __reduce__(self) -> tuple[type[Running], tuple[()]]:
        """Pickle without the queries: none of them runs in another process."""
        return Running, ()

    def add(self, handle: Handle) -> None:
        """Add a query that was started."""
        self._handles.append(handle)

    def refuse(self, name: str | None) -> None:
        """Raise a PlanError if a running query has this name, ignoring case."""
        if name is not None and any((handle.name or "").lower() == name.lower() for handle in self._active()):
            raise PlanError(f"a query {name!r} is already running; stop it first, or give this one another name=")

    def _active(self) -> list[Handle]:
        self._handles = [handle for handle in self._handles if handle.isActive]
        return self._handles
