"""Records of joins, as buckets write them."""

from __future__ import annotations

from typing import Any

from tests.events.flat_records import made
from thalweg.events import JoinObserved, VerdictGiven

OTHERS = {"a": ("b", "c"), "b": ("a", "c"), "c": ("a", "b")}


def joined(run: str = "r", stream: str = "a", bucket: int = 0, **changes: Any) -> JoinObserved:
    """What one bucket did with the rows of one stream."""
    values: dict[str, Any] = {
        "run": run, "kind": "stream", "batch": 0, "worker": f"bucket {bucket}", "policy": "auto", "alias": stream,
        "others": OTHERS[stream], "order": OTHERS[stream], "rows": 100, "late": 0, "no_time": 0, "no_key": 0,
        "kept": 50, "results": 70, "evaluated": (100, 80), "passed": (80, 50), "profiled": (3, 4), "profile_tuples": 4,
        "looked": 9, "total_ns": 1000, "profiling_ns": 100, "reoptimizing_ns": 10, "expired": 5, "window_rows": 20,
        "window_bytes": 2_000, "watermark": 1_000, "most_matches": 1, "hottest": "k=1", "limit": 1_000,
    }  # fmt: skip
    values |= changes
    in_force = {f"{name}_in_force": values[name] for name in ("rows", "evaluated", "passed")}
    return made(JoinObserved, **{**in_force, **values})


def verdict(run: str = "r", worker: str = "bucket 0 a", reason: str = "because", **changes: Any) -> VerdictGiven:
    """A switch of a stream's order in a bucket."""
    values = {"kind": "stream", "batch": 0, "policy": "auto", "at_row": 5, "before": ("b", "c"), "after": ("c", "b")}
    return made(VerdictGiven, run=run, worker=worker, reason=reason, **{**values, **changes})
