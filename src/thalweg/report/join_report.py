"""What a join did with each of its streams, and why it probed as it did; folded from event records, each micro-batch
once."""

from __future__ import annotations

from thalweg.events import JoinObserved, NativeObserved, Observed, Record
from thalweg.report.join_section import JoinSection
from thalweg.report.join_view import as_html, as_text, in_one_line
from thalweg.report.run_report import RunReport
from thalweg.report.runs import Observation, Runs


class JoinReport(RunReport[JoinSection]):
    """One section a query or pass. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    __slots__ = ()
    nothing = (
        "Nothing has run yet: start a query on what j(a=A, b=B) gives, or an action; or read what j.over(a=..., b=...) "
        "gives."
    )
    done = "joined"
    again = "j(a=A, b=B)"

    def _line(self, section: JoinSection) -> str:
        return in_one_line(section)

    def _text(self, section: JoinSection) -> str:
        return as_text(section)

    def _html(self, section: JoinSection) -> str:
        return as_html(section)


class JoinTally:
    """Folds records into sections, from any thread."""

    def __init__(self) -> None:
        self._runs = Runs(_begin)

    def add(self, record: Record) -> None:
        """One record more; those of filters have a tally of their own."""
        if not isinstance(record, Observed | NativeObserved):
            self._runs.add(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> JoinReport:
        """A copy of what is known now, without runs of which nothing counts any more."""
        sections, left_out = self._runs.sections()
        counted = tuple(section for section in sections if section.streams)
        return JoinReport(counted, pending, unobserved, deaths, left_out)


def _begin(first: Observation) -> JoinSection:
    assert isinstance(first, JoinObserved)
    return JoinSection(first.run, first.kind, first.policy)
