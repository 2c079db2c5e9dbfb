"""The report of a filter set, for people and for programs."""

from __future__ import annotations

from thalweg.report.run_report import RunReport
from thalweg.report.section import Section
from thalweg.report.view import as_html, as_text, in_one_line


class Report(RunReport[Section]):
    """One section per query or run. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    __slots__ = ()
    nothing = (
        "Nothing has run yet: use df.transform(keep) and start an action or a query, or iterate over "
        "keep.over(batches), which reports every 100,000 rows and at its end."
    )
    done = "filtered"
    again = "df.transform(keep)"

    def _line(self, section: Section) -> str:
        return in_one_line(section)

    def _text(self, section: Section) -> str:
        return as_text(section)

    def _html(self, section: Section) -> str:
        return as_html(section)
