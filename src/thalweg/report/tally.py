"""Folds event records into the reports of filters and of joins; each micro-batch counts once.

If a restarted query runs a micro-batch again, its records replace those of the earlier start, even if those arrive
later. Memory is bounded: a limited number of runs, and for each run its latest micro-batches and the sum of all before
them.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from thalweg.events import JoinObserved, NativeObserved, Observed, Record
from thalweg.report.join_report import JoinReport
from thalweg.report.join_section import JoinSection
from thalweg.report.report import Report
from thalweg.report.section import Section

MOST_SECTIONS = 100
"""The maximum number of runs that are kept; the one that was updated least recently is removed first."""
LATEST_BATCHES = 32
"""The number of micro-batches per run that can still be removed from the sums if a restart runs them again. Spark runs
the last one again, and more only if part of the checkpoint was deleted."""
MOST_EARLY = 100
"""The maximum number of runs of which only verdicts have arrived; their first observation may never arrive."""

ObservedRecord = Observed | NativeObserved | JoinObserved
"""Records of what was done; the other kinds are records of decisions."""
S = TypeVar("S", bound="RunTotals")


class RunTotals(Protocol):
    """Sums over the records of one run."""

    def add(self, record: Record) -> None:
        """Add a record of this run."""
        ...

    def take_in(self: S, later: S) -> None:
        """Add what a later part of the same run holds."""
        ...


class _RunTally(Generic[S]):
    """The latest micro-batches, and the sum of those before them."""

    def __init__(self, first: ObservedRecord, number: int, empty: Callable[[], S]) -> None:
        self.query, self.start = first.origin.query, first.origin.start
        self.number = number
        """Of two starts of a query, the later one is the one whose records arrived later."""
        self._empty = empty
        self._before = empty()
        self._latest: deque[tuple[int | None, S]] = deque()

    def add(self, record: Record) -> None:
        batch = record.origin.batch
        if not self._latest or self._latest[-1][0] != batch:
            self._latest.append((batch, self._empty()))
            if len(self._latest) > LATEST_BATCHES:
                self._before.take_in(self._latest.popleft()[1])
        self._latest[-1][1].add(record)

    def has(self, batch: int) -> bool:
        return any(part[0] == batch for part in self._latest)

    def forget(self, batch: int) -> None:
        self._latest = deque(part for part in self._latest if part[0] != batch)

    def section(self) -> S:
        whole = self._empty()
        for part in (self._before, *(section for _, section in self._latest)):
            whole.take_in(part)
        return whole


class Runs(Generic[S]):
    """Folds records into sections. Safe to use from several threads. `begin` makes an empty section from a run's first
    record."""

    def __init__(self, begin: Callable[[ObservedRecord], S]) -> None:
        self._begin = begin
        self._runs: OrderedDict[str, _RunTally[S]] = OrderedDict()
        self._lock = threading.Lock()
        self._early: OrderedDict[str, list[Record]] = OrderedDict()
        self._left_out = 0
        self._numbers = itertools.count()

    def add(self, record: Record) -> None:
        """Add a record. Verdicts that arrive before the first observation of their run wait for it."""
        origin = record.origin
        with self._lock:
            run = self._runs.get(origin.run)
            if run is None:
                if not isinstance(record, ObservedRecord):
                    self._early.setdefault(origin.run, []).append(record)
                    while len(self._early) > MOST_EARLY:
                        self._early.popitem(last=False)
                    return
                run = self._runs[origin.run] = self._new(record)
                for early in self._early.pop(origin.run, ()):
                    run.add(early)
                while len(self._runs) > MOST_SECTIONS:
                    self._runs.popitem(last=False)
                    self._left_out += 1
            if origin.query is not None and origin.batch is not None:
                others = [r for r in self._runs.values() if r.query == origin.query and r.start != origin.start]
                if any(other.number > run.number and other.has(origin.batch) for other in others):
                    return
                for other in others if isinstance(record, ObservedRecord) else ():
                    other.forget(origin.batch)
            run.add(record)
            self._runs.move_to_end(origin.run)  # the run updated least recently is removed first

    def _new(self, first: ObservedRecord) -> _RunTally[S]:
        return _RunTally(first, next(self._numbers), lambda: self._begin(first))

    def sections(self) -> tuple[list[S], int]:
        """Return a copy of what is known now, one section per run, and the number of runs that are no longer kept."""
        with self._lock:
            return [run.section() for run in self._runs.values()], self._left_out


class Tally:
    """Folds records of filters into sections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._runs = Runs(_begin)

    def add(self, record: Record) -> None:
        """Add a record. Records of joins are ignored: `JoinTally` takes those."""
        if not isinstance(record, JoinObserved):
            self._runs.add(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> Report:
        """Return a copy of what is known now, without runs whose micro-batches a later start has all run again."""
        sections, left_out = self._runs.sections()
        counted = tuple(section for section in sections if section.order or section.native)
        return Report(counted, pending, unobserved, deaths, left_out)


def _begin(first: ObservedRecord) -> Section:
    assert isinstance(first, Observed | NativeObserved)
    names = first.predicates if isinstance(first, Observed) else first.chain
    return Section(first.origin.run, first.origin.kind, first.origin.policy, names)


class JoinTally:
    """Folds records of joins into sections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._runs = Runs(_begin_join)

    def add(self, record: Record) -> None:
        """Add a record. Records of filters are ignored: `Tally` takes those."""
        if not isinstance(record, Observed | NativeObserved):
            self._runs.add(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> JoinReport:
        """Return a copy of what is known now, without runs whose micro-batches a later start has all run again."""
        sections, left_out = self._runs.sections()
        counted = tuple(section for section in sections if section.streams)
        return JoinReport(counted, pending, unobserved, deaths, left_out)


def _begin_join(first: ObservedRecord) -> JoinSection:
    assert isinstance(first, JoinObserved)
    return JoinSection(first.origin.run, first.origin.kind, first.origin.policy)


def fold(records: Iterable[Record]) -> Report:
    """Return a report from recorded events: `fold(thalweg.events.read(path))`."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.report()
