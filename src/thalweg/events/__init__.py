"""What was observed and what was decided, as plain records; reports, CLI and web read these and nothing else."""

from thalweg.events.jsonl import JsonLines, from_json, to_json
from thalweg.events.reading import Skipped, read
from thalweg.events.records import JoinObserved, NativeObserved, Observed, Record, Switched, VerdictGiven

__all__ = [
    "JoinObserved",
    "JsonLines",
    "NativeObserved",
    "Observed",
    "Record",
    "Skipped",
    "Switched",
    "VerdictGiven",
    "from_json",
    "read",
    "to_json",
]
