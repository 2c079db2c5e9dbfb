"""The figures of all joins against the targets. A limit holds beyond the A/A spread of the same join: a value that only
this spread puts above its limit is undecided, which is printed and counts neither as within nor as above."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from bench.plans.declared import EXACT, NOTHING, WRONG
from bench.plans.measured import default
from bench.verdict import judged, never, spread, target_line

BENCH = "plans"
OVER_BEST, WITHIN_SHARE = 1.15, 0.9
OVER_MULTIWAY = 1.05
LEAST_TAU = 0.8
NOTHING_DECLARED, WRONG_NUMBER = 1.25, 2.0
PREDICTED = {
    "rows_held_predicted_over_measured": ("rows held as predicted", 1.10),
    "bytes_predicted_over_measured": ("bytes as predicted", 1.25),
    "cpu_predicted_over_measured": ("CPU time as predicted", 1.20),
}
BAND = [0.80, 0.97]

Line = dict[str, Any]


def summary(figures: Sequence[Line]) -> Iterator[Line]:
    """Yield one line per target, from the figures of all joins."""
    if not figures:
        return
    exact = [(line[default(EXACT)], line["aa"]) for line in figures if default(EXACT) in line]
    if exact:
        ratios = [(found["over_best"], aa) for found, aa in exact]
        counts = judged(ratios, OVER_BEST)
        yield target_line(
            BENCH, f"CPU time at most {OVER_BEST} of the best plan, share of joins", counts["within"] / len(ratios),
            WITHIN_SHARE, least=True, reachable=(counts["within"] + counts["undecided"]) / len(ratios),
            **counts, **spread(ratios),
        )  # fmt: skip
        yield never(
            BENCH, "CPU time over that of multiway", [(f["over_multiway"], aa) for f, aa in exact], OVER_MULTIWAY
        )
    taus = [line["tau"] for line in figures if line["tau"] is not None]
    if taus:
        yield target_line(
            BENCH, "median Kendall's tau", statistics.median(taus), LEAST_TAU, least=True, joins=len(taus)
        )
    for declared, key, limit in (
        (NOTHING, "second_half_over_best", NOTHING_DECLARED),
        (WRONG, "over_best", WRONG_NUMBER),
    ):
        ratios = [(line[default(declared)][key], line["aa"]) for line in figures if default(declared) in line]
        if ratios:
            half = " in the second half" if declared == NOTHING else ""
            yield never(BENCH, f"{declared} declared: CPU time over that of the best plan{half}", ratios, limit)
    for key, (about, limit) in PREDICTED.items():
        found = [line[key] for line in figures if key in line]
        if found:
            near = sum(1 / limit <= value <= limit for value in found) / len(found)
            yield target_line(
                BENCH, f"{about} within {limit - 1:.0%}, share of joins", near, None,
                median=round(statistics.median(found), 4), lowest=round(min(found), 4), highest=round(max(found), 4),
            )  # fmt: skip
    banded = [line["in_band"] for line in figures if "in_band" in line]
    if banded:
        share = statistics.mean(banded)
        yield {**target_line(BENCH, "share of joins within the 90 % band", share, None), "limit": BAND,
               "verdict": "reached" if BAND[0] <= share <= BAND[1] else "missed"}  # fmt: skip
