"""The report of a join: what it did with each of its streams, and why it probed in this order."""

from __future__ import annotations

from thalweg.report.join_report_text import as_html, as_text, in_one_line
from thalweg.report.join_section import JoinSection
from thalweg.report.run_report import RunReport


class JoinReport(RunReport[JoinSection]):
    """The report of a join, with one section per query or pass.

    Use `print(report)`, `report.to_dict()`, `report.save("report.html")`, or the last line of a notebook cell.
    """

    __slots__ = ()
    nothing = (
        "Nothing has run yet: start a query or an action on the DataFrame that j(a=A, b=B) returns, or iterate over "
        "j.over(a=..., b=...). A streaming query is counted from the end of its first micro-batch."
    )
    done = "joined"
    again = "j(a=A, b=B)"

    def _title(self) -> str:
        return "Report of a join"

    def _line(self, section: JoinSection) -> str:
        return in_one_line(section)

    def _text(self, section: JoinSection) -> str:
        return as_text(section)

    def _html(self, section: JoinSection) -> str:
        return as_html(section)
