"""Folds event records into a report."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from thalweg.events import NativeObserved, Observed, Record
from thalweg.report.report import Report
from thalweg.report.section import Section

MOST_SECTIONS = 100
"""Runs remembered; the oldest is forgotten first."""


class Tally:
    """Folds records into sections, from any thread."""

    def __init__(self) -> None:
        self._sections: OrderedDict[str, Section] = OrderedDict()
        self._lock = threading.Lock()
        self._early: dict[str, list[Record]] = {}

    def add(self, record: Record) -> None:
        """One record more. Verdicts come before the first observation of their run and wait for it."""
        with self._lock:
            section = self._sections.get(record.run)
            if section is None:
                if not isinstance(record, Observed | NativeObserved):
                    self._early.setdefault(record.run, []).append(record)
                    return
                names = record.predicates if isinstance(record, Observed) else record.chain
                section = Section(record.run, record.kind, record.policy, names)
                self._sections[record.run] = section
                for early in self._early.pop(record.run, ()):
                    section.add(early)
                while len(self._sections) > MOST_SECTIONS:
                    self._sections.popitem(last=False)
            section.add(record)
            self._sections.move_to_end(record.run)  # the run unused for longest is forgotten first

    def report(self, pending: int = 0, unobserved: int = 0) -> Report:
        """A copy of what is known now."""
        with self._lock:
            return Report(tuple(section.copy() for section in self._sections.values()), pending, unobserved)


def fold(records: Iterable[Record]) -> Report:
    """A report from recorded events: `fold(thalweg.events.read(path))`."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.report()
