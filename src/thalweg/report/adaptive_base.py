"""The base class of filters and joins: both can be applied to data several times, and report what happened.

Every event record goes to the report, to the file that the setting `events` names, and to listeners. A DataFrame of
finished data reports with its first action; until then its `ObservationFetch` is pending.
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
    from thalweg.runtime.spark.observed_work import ObservationFetch

MOST_PENDING = 1000
"""The maximum number of pending fetches: with `foreachBatch` DataFrames are many and `report()` may never be called."""


class AdaptiveBase:
    """The base class of :class:`thalweg.Filters` and :class:`thalweg.Join`."""

    def __init__(self, add: Callable[[Record], None], identity: str | None = None) -> None:
        """Create it without any runs. `add` receives every record, for the report."""
        self._add = add
        self._identity = identity or uuid.uuid4().hex
        self._passes = itertools.count(1)
        self._files: dict[str, JsonLines] = {}
        self._fetches: list[ObservationFetch] = []
        self._unobserved = 0
        self._lock = threading.Lock()
        self.listeners: list[Callable[[Record], None]] = []
        """Functions that are called with every event record."""

    def _next_run(self) -> str:
        """Return a name for the next pass in this process."""
        return f"local pass {next(self._passes)} of {self._identity[:8]}"

    def _sink(self, path: str | os.PathLike[str] | None) -> Callable[[Record], None]:
        """Return the function that receives the records of one application. Each file at `path` is opened only once."""
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

    def _await(self, fetch: ObservationFetch | None) -> None:
        """Remember the fetch of a DataFrame that reports with its first action; None for one that reports by itself."""
        if fetch is not None:
            with self._lock:
                self._fetches = [*self._fetches[-MOST_PENDING:], fetch]

    def _fetched(self) -> tuple[int, int]:
        """Fetch what has arrived, without waiting. Return the number of DataFrames that have not reported yet, and of
        those that ended without a report."""
        with self._lock:
            pending = [fetch for fetch in self._fetches if not fetch()]
            self._unobserved += sum(1 for fetch in self._fetches if fetch.ended and not fetch.observed)
            self._fetches = pending
            return len(pending), self._unobserved
