"""What a filter chain or a join did and why, for people (text, HTML in a notebook) and for programs (`to_dict`).

A report is folded from event records and from nothing else. Its size is bounded: sums, and the latest switches.
"""

from thalweg.report.join_report import JoinReport, JoinTally
from thalweg.report.join_section import JoinSection, StreamReport, TableReport
from thalweg.report.report import Report
from thalweg.report.section import PredicateReport, Section, SwitchReport
from thalweg.report.tally import Tally, fold

__all__ = [
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
