"""Verdicts about targets. A limit holds beyond the A/A spread of the same run: a value that only this spread puts above
its limit is undecided, which counts neither as within nor as above."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Line = dict[str, Any]


def judged(ratios: Sequence[tuple[float, float]], limit: float) -> dict[str, int]:
    """Count the ratios, each with its A/A spread, that are within a limit, above it, and undecided.

    >>> judged([(1.0, 1.02), (1.06, 1.02), (1.06, 1.005)], 1.05)
    {'within': 1, 'undecided': 1, 'above': 1}
    """
    within = sum(ratio <= limit for ratio, _ in ratios)
    above = sum(ratio > limit * aa for ratio, aa in ratios)
    return {"within": within, "undecided": len(ratios) - within - above, "above": above}


def never(bench: str, target: str, ratios: Sequence[tuple[float, float]], limit: float) -> Line:
    """Return the line of a target that holds for every join."""
    counts = judged(ratios, limit)
    worst = max(ratio for ratio, _ in ratios)
    verdict = "missed" if counts["above"] else "undecided" if counts["undecided"] else "reached"
    return {**target_line(bench, target, worst, limit), "verdict": verdict, **counts, **spread(ratios)}


def spread(ratios: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return the median and the worst of some ratios, and their median A/A spread."""
    values = [ratio for ratio, _ in ratios]
    return {
        "joins": len(values), "median": round(statistics.median(values), 4), "worst": round(max(values), 4),
        "median_aa": round(statistics.median(aa for _, aa in ratios), 4),
    }  # fmt: skip


def target_line(
    bench: str, target: str, value: float, limit: float | None, *,
    least: bool = False, reachable: float | None = None, **more: Any,
) -> Line:  # fmt: skip
    """Return one line. With `least`, the value must not be below the limit; otherwise it must not be above.
    `reachable`: the value if everything undecided were within its limit."""
    line: Line = {"bench": bench, "line": "target", "target": target, "value": round(value, 4)}
    if limit is not None:
        best = value if reachable is None else reachable
        reached = value >= limit if least else value <= limit
        possible = best >= limit if least else best <= limit
        line |= {"limit": limit, "verdict": "reached" if reached else "undecided" if possible else "missed"}
    return {**line, **more}
