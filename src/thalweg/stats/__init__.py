"""Statistics and their errors: profile windows, costs of calls, and estimates about relations, joins and predicates."""

from thalweg.stats.call_cost import CallCost, UsualWait
from thalweg.stats.knowledge import (
    NOTHING_KNOWN,
    BatchTime,
    BytesPerRow,
    CostUs,
    DistinctValues,
    Knowledge,
    Partners,
    Rows,
    RowsPerSecond,
    ShareKept,
    SourceKept,
)
from thalweg.stats.profile_window import ProfileWindow

__all__ = [
    "NOTHING_KNOWN", "BatchTime", "BytesPerRow", "CallCost", "CostUs", "DistinctValues", "Knowledge", "Partners",
    "ProfileWindow", "Rows", "RowsPerSecond", "ShareKept", "SourceKept", "UsualWait",
]  # fmt: skip
