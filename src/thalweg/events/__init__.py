"""Records of what was observed and decided. Reports, the command line and the web page read only these."""

from thalweg.events.jsonl import JsonLines, from_json, to_json
from thalweg.events.reading import Skipped, read
from thalweg.events.records import (
    BatchTimed,
    JoinObserved,
    NativeObserved,
    Observed,
    Origin,
    PlanObserved,
    Record,
    Switched,
    VerdictGiven,
)

__all__ = [
    "BatchTimed",
    "JoinObserved",
    "JsonLines",
    "NativeObserved",
    "Observed",
    "Origin",
    "PlanObserved",
    "Record",
    "Skipped",
    "Switched",
    "VerdictGiven",
    "from_json",
    "read",
    "to_json",
]
