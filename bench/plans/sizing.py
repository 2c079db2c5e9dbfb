"""Give a drawn join as many rows as the multiway join takes 1 to 5 seconds of CPU time for, or refuse it.

Refused, and drawn anew: joins with no result or more than 3 million, those whose slowest stream would have fewer rows
in its window than the drawn partners, and those that would need more rows or larger steps in DuckDB than fit into
memory. The number of rows depends on the machine; the join does not, unless it is near one of these limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from bench.plans.draw import DrawnJoin, draw
from bench.plans.expected import expected, largest_step
from bench.plans.shapes import MULTIWAY
from bench.plans.streams import JoinRows, domains_of, expected_results, make
from bench.plans.trial import join_of, run

LEAST_S, MOST_S = 1.0, 5.0
AIM_S, NEAR_S = 1.2, 1.5
"""What the rows are chosen for, and up to what they are not chosen again: a seed has to run in an hour."""
PILOT_ROWS = 60_000
MOST_RESULTS = 3_000_000
MOST_ROWS = 6_000_000
MOST_STEP = 30_000_000
LEAST_KEYS = 2.0
TRIES = 4
ATTEMPTS = 500
GROWTH = 30.0
"""The most by which rows grow at once, because a run of few rows says little about a long one."""


def sized(seed: int, number: int, work: float = 1.0, rows: int | None = None) -> tuple[JoinRows, tuple[int, int]]:
    """Return join `number` of a seed with its rows, and what DuckDB gives. `work` multiplies the CPU time; with `rows`
    it has that many, whatever they take."""
    return first_sized((draw(seed, number, attempt) for attempt in range(ATTEMPTS)), work, rows)


def first_sized(
    joins: Iterable[DrawnJoin], work: float = 1.0, rows: int | None = None
) -> tuple[JoinRows, tuple[int, int]]:
    """Return the first of some joins that has a size that can be measured, and what DuckDB gives."""
    for drawn in joins:
        if rows is None:
            joined = _with_rows(drawn, work)
        else:
            joined = make(drawn, rows) if _allowed(drawn, rows) else None
        if joined is not None:
            result = expected(joined)
            if 0 < result[0] <= MOST_RESULTS:
                return joined, result
    raise AssertionError("none of the joins has a size that can be measured")


def fewest_rows(drawn: DrawnJoin) -> int:
    """Return the rows with which the smallest domain has two keys; with fewer, a row has fewer partners than drawn."""
    return math.ceil(LEAST_KEYS / min(domains_of(drawn, 1_000_000).values()) * 1_000_000)


def _with_rows(drawn: DrawnJoin, work: float) -> JoinRows | None:
    rows = round(max(PILOT_ROWS * work, fewest_rows(drawn)))
    for last in [*[False] * (TRIES - 1), True]:
        if not _allowed(drawn, rows):
            return None
        joined = make(drawn, rows)
        ran = run(joined, join_of(joined, plan=MULTIWAY), 2 * MOST_S * work)
        if ran.stopped == "bytes":
            return None
        cpu = ran.cpu_seconds / max(ran.share, 0.01)
        if LEAST_S * work <= cpu <= (MOST_S if last else NEAR_S) * work:
            return joined
        rows = round(rows * min(AIM_S * work / cpu, GROWTH))
    return None


def _allowed(drawn: DrawnJoin, rows: int) -> bool:
    return (
        fewest_rows(drawn) <= rows <= MOST_ROWS
        and 1 <= expected_results(drawn, rows) <= MOST_RESULTS
        and largest_step(drawn, rows) <= MOST_STEP
    )
