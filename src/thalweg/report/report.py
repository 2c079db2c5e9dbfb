"""The report of a filter set, as text, HTML or a dictionary."""

from __future__ import annotations

from thalweg.report.filter_report_text import as_html, as_text, in_one_line
from thalweg.report.run_report import RunReport
from thalweg.report.section import Section


class Report(RunReport[Section]):
    """The report of a filter set, with one section per query or run.

    Use `print(report)`, `report.to_dict()`, `report.save("report.html")`, or the last line of a notebook cell.
    """

    __slots__ = ()
    nothing = (
        "Nothing has run yet: use df.transform(keep) and start an action or a query, or iterate over "
        "keep.over(batches), which reports every 100,000 rows and at its end. A streaming query is counted from the "
        "end of its first micro-batch."
    )
    done = "filtered"
    again = "df.transform(keep)"

    def _title(self) -> str:
        return "Report of filters"

    def _line(self, section: Section) -> str:
        return in_one_line(section)

    def _text(self, section: Section) -> str:
        return as_text(section)

    def _html(self, section: Section) -> str:
        return as_html(section)
