"""Folds event records into a report, each micro-batch once."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable

from thalweg.events import NativeObserved, Observed, Record
from thalweg.report.report import Report
from thalweg.report.section import Section

MOST_SECTIONS = 100
"""Runs remembered; the oldest is forgotten first."""
LATEST_BATCHES = 32
"""Micro-batches a run that can still be taken out of the sums, when a restart runs them again. Spark runs the last one
again; more only when somebody removes more of its checkpoint."""
MOST_EARLY = 100
"""Runs of which only verdicts have come; their first observation may never come."""


class _Run:
    """The latest micro-batches apart, and the sum of those before."""

    def __init__(self, first: Observed | NativeObserved, number: int) -> None:
        self.query, self.start = first.query, first.start
        self.number = number
        """Starts of a query that were heard of later are later."""
        self._first = first
        self._before = self._empty()
        self._latest: deque[tuple[int | None, Section]] = deque()

    def _empty(self) -> Section:
        first = self._first
        names = first.predicates if isinstance(first, Observed) else first.chain
        return Section(first.run, first.kind, first.policy, names)

    def add(self, record: Record) -> None:
        if not self._latest or self._latest[-1][0] != record.batch:
            self._latest.append((record.batch, self._empty()))
            if len(self._latest) > LATEST_BATCHES:
                self._before.take_in(self._latest.popleft()[1])
        self._latest[-1][1].add(record)

    def has(self, batch: int) -> bool:
        return any(part[0] == batch for part in self._latest)

    def forget(self, batch: int) -> None:
        self._latest = deque(part for part in self._latest if part[0] != batch)

    def section(self) -> Section:
        whole = self._empty()
        for part in (self._before, *(section for _, section in self._latest)):
            whole.take_in(part)
        return whole


class Tally:
    """Folds records into sections, from any thread."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()
        self._early: OrderedDict[str, list[Record]] = OrderedDict()
        self._left_out = 0
        self._numbers = itertools.count()

    def add(self, record: Record) -> None:
        """One record more. Verdicts come before the first observation of their run and wait for it. What is observed
        of a micro-batch replaces what an earlier start of the query had observed of it, also when the earlier start
        tells late."""
        with self._lock:
            run = self._runs.get(record.run)
            if run is None:
                if not isinstance(record, Observed | NativeObserved):
                    self._early.setdefault(record.run, []).append(record)
                    while len(self._early) > MOST_EARLY:
                        self._early.popitem(last=False)
                    return
                run = self._runs[record.run] = _Run(record, next(self._numbers))
                for early in self._early.pop(record.run, ()):
                    run.add(early)
                while len(self._runs) > MOST_SECTIONS:
                    self._runs.popitem(last=False)
                    self._left_out += 1
            if record.query is not None and record.batch is not None:
                others = [r for r in self._runs.values() if r.query == record.query and r.start != record.start]
                if any(other.number > run.number and other.has(record.batch) for other in others):
                    return
                for other in others if isinstance(record, Observed | NativeObserved) else ():
                    other.forget(record.batch)
            run.add(record)
            self._runs.move_to_end(record.run)  # the run unused for longest is forgotten first

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> Report:
        """A copy of what is known now, without runs of which nothing counts any more."""
        with self._lock:
            sections = [run.section() for run in self._runs.values()]
            left_out = self._left_out
        counted = tuple(section for section in sections if section.order or section.native)
        return Report(counted, pending, unobserved, deaths, left_out)


def fold(records: Iterable[Record]) -> Report:
    """A report from recorded events: `fold(thalweg.events.read(path))`."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.report()
