"""What a join did with each of its streams, and why it probed in this order; folded from event records, in which each
micro-batch counts once."""

from __future__ import annotations

from thalweg.events import JoinObserved, NativeObserved, Observed, Record
from thalweg.report.join_section import JoinSection
from thalweg.report.join_view import as_html, as_text, in_one_line
from thalweg.report.run_report import RunReport
from thalweg.report.runs import Observation, Runs


class JoinReport(RunReport[JoinSection]):
    """One section per query or pass. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    __slots__ = ()
    nothing = (
        "Nothing has run yet: start a query or an action on the DataFrame that j(a=A, b=B) returns, or iterate over "
        "j.over(a=..., b=...)."
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
    """Folds records into sections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._runs = Runs(_begin)

    def add(self, record: Record) -> None:
        """Add a record. Records of filters are ignored: `Tally` takes those."""
        if not isinstance(record, Observed | NativeObserved):
            self._runs.add(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> JoinReport:
        """A copy of what is known now, without runs whose micro-batches have all been run again by a later start."""
        sections, left_out = self._runs.sections()
        counted = tuple(section for section in sections if section.streams)
        return JoinReport(counted, pending, unobserved, deaths, left_out)


def _begin(first: Observation) -> JoinSection:
    assert isinstance(first, JoinObserved)
    return JoinSection(first.run, first.kind, first.policy)
