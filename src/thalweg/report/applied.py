"""What filters and joins have in common: they are applied to data again and again, and report what happened.

Every event record goes to the report, to the file that the setting `events` names, and to listeners. A DataFrame of
finished data reports with its first action; until then its `Fetch` is pending.
"""

from __future__ import annotations

import itertools
import os
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from thalweg.events import JsonLines, Record

if TYPE_CHECKING:
    from thalweg.runtime.spark.observed_work import Fetch

MOST_PENDING = 1000
"""Finished DataFrames whose first action is waited for; in a `foreachBatch` nobody may ever ask for a report."""


class Applied:
    """Base of :class:`thalweg.Filters` and :class:`thalweg.Join`."""

    def __init__(self, add: Callable[[Record], None], identity: str | None = None) -> None:
        """`add`: takes every record, for the report."""
        self._add = add
        self._identity = identity or uuid.uuid4().hex
        self._passes = itertools.count(1)
        self._files: dict[str, JsonLines] = {}
        self._fetches: list[Fetch] = []
        self._unobserved = 0
        self._lock = threading.Lock()
        self.listeners: list[Callable[[Record], None]] = []
        """Called with every event record, as the report is."""

    def _next_run(self) -> str:
        """The name of another pass in this process."""
        return f"local pass {next(self._passes)} of {self._identity[:8]}"

    def _sink(self, path: str | os.PathLike[str] | None) -> Callable[[Record], None]:
        """Where the records of one application go. `path`: the file, one object for each of them."""
        lines = None
        if path is not None:
            with self._lock:
                if str(path) not in self._files:
                    self._files[str(path)] = JsonLines(path)
                lines = self._files[str(path)]

        def take(record: Record) -> None:
            self._add(record)
            if lines is not None:
                lines.write(record)
            for listener in self.listeners:
                listener(record)

        return take

    def _await(self, fetch: Fetch | None) -> None:
        """A DataFrame that reports with its first action; None: one that reports by itself."""
        if fetch is not None:
            with self._lock:
                self._fetches = [*self._fetches[-MOST_PENDING:], fetch]

    def _fetched(self) -> tuple[int, int]:
        """Fetch what has come; how many DataFrames have not reported yet, and how many ended without a report. Never
        waits."""
        with self._lock:
            pending = [fetch for fetch in self._fetches if not fetch()]
            self._unobserved += sum(1 for fetch in self._fetches if fetch.ended and not fetch.observed)
            self._fetches = pending
            return len(pending), self._unobserved
