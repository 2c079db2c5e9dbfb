"""Receives the event records of a filter or a join, which may be applied to data several times.

Every record goes to the report, to the file that the setting `events` names, and to listeners. A DataFrame of finished
data reports with its first action; until then the fetch of what that observes is pending.
"""

from __future__ import annotations

import itertools
import os
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from thalweg.events import JsonLines, Record

MOST_PENDING = 1000
"""The maximum number of pending fetches: with `foreachBatch` DataFrames are many and `report()` may never be called."""
MOST_DEATHS = 10
"""The maximum number of dead workers that a report lists."""

R_co = TypeVar("R_co", covariant=True)


class Fold(Protocol[R_co]):
    """Adds up records: a `Tally` or a `JoinTally`."""

    def add(self, record: Record) -> None:
        """Add a record to what is known."""
        ...

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> R_co:
        """Return what is known now."""
        ...


class Fetch(Protocol):
    """Fetches once what the first action on a DataFrame observed, as `ObservationFetch` does."""

    ended: bool
    observed: bool

    def __call__(self) -> bool:
        """Return whether the first action has ended. What it observed is used before this returns."""
        ...


class Receiver(Generic[R_co]):
    """Receives the records of one filter or join: of each run in this process, and of each DataFrame."""

    def __init__(
        self, fold: Fold[R_co], identity: str | None = None, listener: Callable[[Record], None] | None = None
    ) -> None:
        """Create it without any records. `identity`: names the filter or join in files of workers; None for a new
        one."""
        self._fold = fold
        self.identity = identity or uuid.uuid4().hex
        self._passes = itertools.count(1)
        self._files: dict[str, JsonLines] = {}
        self._fetches: list[Fetch] = []
        self._unobserved = 0
        self._lock = threading.Lock()
        self.listeners = [] if listener is None else [listener]
        """Functions that are called with every event record."""
        self.before_report: set[Callable[[], None]] = set()
        """Functions that are called before a report is made."""
        self.deaths: dict[str, Callable[[], Iterable[str]]] = {}
        """By Spark application, a function that returns sentences about workers that died."""

    def next_run(self) -> str:
        """Return a name for the next run in this process."""
        return f"local pass {next(self._passes)} of {self.identity[:8]}"

    def sink(self, path: str | os.PathLike[str] | None) -> Callable[[Record], None]:
        """Return the function that receives the records of one application. Each file at `path` is opened only once."""
        lines = None
        if path is not None:
            with self._lock:
                if str(path) not in self._files:
                    self._files[str(path)] = JsonLines(path)
                lines = self._files[str(path)]

        def take(record: Record) -> None:
            self._fold.add(record)
            if lines is not None:
                lines.write(record)
            for listener in self.listeners:
                listener(record)

        return take

    def expect(self, fetch: Fetch | None) -> None:
        """Remember the fetch of a DataFrame that reports with its first action; None for one that reports by itself."""
        if fetch is not None:
            with self._lock:
                self._fetches = [*self._fetches[-MOST_PENDING:], fetch]

    def report(self) -> R_co:
        """Return what has been received so far. What has been observed is fetched first, without waiting."""
        for settle in list(self.before_report):
            settle()
        with self._lock:
            pending = [fetch for fetch in self._fetches if not fetch()]
            self._unobserved += sum(1 for fetch in self._fetches if fetch.ended and not fetch.observed)
            self._fetches = pending
            unobserved = self._unobserved
        deaths = [sentence for found in list(self.deaths.values()) for sentence in found()]
        return self._fold.report(len(pending), unobserved, tuple(deaths[-MOST_DEATHS:]))
