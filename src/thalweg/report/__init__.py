"""Reports on what a filter chain or a join did and why, and the explanations that `explain()` returns.

Both are available as text and as HTML in a notebook, reports also as a dictionary (`to_dict`). A report is computed
from event records alone. Its size is bounded: it holds sums and the latest switches.
"""

from thalweg.report.explanation import Explanation
from thalweg.report.join_report import JoinReport
from thalweg.report.join_section import JoinSection, StreamReport, TableReport
from thalweg.report.report import Report
from thalweg.report.section import PredicateReport, Section, SwitchReport
from thalweg.report.tally import JoinTally, Tally, fold

__all__ = [
    "Explanation",
    "JoinReport",
    "JoinSection",
    "JoinTally",
    "PredicateReport",
    "Report",
    "Section",
    "StreamReport",
    "SwitchReport",
    "TableReport",
    "Tally",
    "fold",
]
