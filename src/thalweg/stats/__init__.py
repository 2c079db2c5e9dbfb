"""Statistics and their errors: profile windows, costs of calls, and estimates about relations, joins and predicates."""

from thalweg.stats.call_cost import CallCost, UsualWait
from thalweg.stats.knowledge import (
    NOTHING_KNOWN,
    CostUs,
    DistinctValues,
    Knowledge,
    Partners,
    Rows,
    RowsPerSecond,
    ShareKept,
)
from thalweg.stats.profile_window import ProfileWindow

__all__ = [
    "NOTHING_KNOWN", "CallCost", "CostUs", "DistinctValues", "Knowledge", "Partners", "ProfileWindow", "Rows",
    "RowsPerSecond", "ShareKept", "UsualWait",
]  # fmt: skip
