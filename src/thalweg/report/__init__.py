"""Reports on what a filter chain or a join did and why, and the explanations that `explain()` returns.

Both are available as text and as HTML in a notebook, reports also as a dictionary (`to_dict`). A report is computed
from event records alone. Its size is bounded: it holds sums and the latest switches. `view.py` has the base class of
all that is printed, shown by notebooks and saved.
"""

from thalweg.report.explanation import Explanation
from thalweg.report.join_report import JoinReport
from thalweg.report.join_section import JoinSection, StreamReport, TableReport
from thalweg.report.mesh_tree import RouteReport
from thalweg.report.mesh_view import MeshView
from thalweg.report.report import Report
from thalweg.report.section import FilterRound, PredicateReport, Section, SwitchReport
from thalweg.report.tally import JoinTally, Tally, fold

__all__ = [
    "Explanation",
    "FilterRound",
    "JoinReport",
    "JoinSection",
    "JoinTally",
    "MeshView",
    "PredicateReport",
    "Report",
    "RouteReport",
    "Section",
    "StreamReport",
    "SwitchReport",
    "TableReport",
    "Tally",
    "fold",
]
