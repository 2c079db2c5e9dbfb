"""Folds event records into a report; each micro-batch counts once."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.events import JoinObserved, NativeObserved, Observed, Record
from thalweg.report.report import Report
from thalweg.report.runs import Observation, Runs
from thalweg.report.section import Section


class Tally:
    """Folds records into sections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._runs = Runs(_begin)

    def add(self, record: Record) -> None:
        """Add a record. Records of joins are ignored: `JoinTally` takes those."""
        if not isinstance(record, JoinObserved):
            self._runs.add(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> Report:
        """A copy of what is known now, without runs whose micro-batches have all been run again by a later start."""
        sections, left_out = self._runs.sections()
        counted = tuple(section for section in sections if section.order or section.native)
        return Report(counted, pending, unobserved, deaths, left_out)


def _begin(first: Observation) -> Section:
    assert isinstance(first, Observed | NativeObserved)
    names = first.predicates if isinstance(first, Observed) else first.chain
    return Section(first.run, first.kind, first.policy, names)


def fold(records: Iterable[Record]) -> Report:
    """A report from recorded events: `fold(thalweg.events.read(path))`."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.report()
