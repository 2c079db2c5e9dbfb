"""Give a drawn join as many rows as the multiway join takes 1 to 5 seconds of CPU time for, or refuse it.

Refused, and drawn anew: joins with more than 3 million results, those whose slowest stream would have fewer rows in its
window than the drawn partners, and those that would need more rows or larger steps in DuckDB than fit into memory. The
number of rows depends on the machine; the join does not, unless the machine decides whether it is refused.
"""

from __future__ import annotations

import numpy as np

from bench.plans.draw import DrawnJoin, draw
from bench.plans.expected import expected, largest_step
from bench.plans.shapes import MULTIWAY
from bench.plans.streams import JoinRows, domains_of, expected_results, make
from bench.plans.trial import join_of, run

LEAST_S, MOST_S = 1.0, 5.0
AIM_S = (1.1, 1.8)
"""Within the limits and near the lower one, because a seed has to run in an hour."""
PILOT_ROWS = 60_000
MOST_RESULTS = 3_000_000
MOST_ROWS = 6_000_000
MOST_STEP = 30_000_000
LEAST_KEYS = 2.0
TRIES = 4
ATTEMPTS = 500


def sized(seed: int, number: int, work: float = 1.0) -> tuple[JoinRows, tuple[int, int]]:
    """Return join `number` of a seed with its rows, and what DuckDB gives. `work` multiplies the CPU time."""
    for attempt in range(ATTEMPTS):
        drawn = draw(seed, number, attempt)
        joined = _with_rows(drawn, work)
        if joined is not None:
            result = expected(joined)
            if 0 < result[0] <= MOST_RESULTS:
                return joined, result
    raise AssertionError(f"no join {number} of seed {seed} has a size that can be measured")


def _with_rows(drawn: DrawnJoin, work: float) -> JoinRows | None:
    aim = float(np.random.default_rng([drawn.seed, drawn.number]).uniform(*AIM_S)) * work
    rows = round(max(PILOT_ROWS * work, fewest_rows(drawn)))
    for _ in range(TRIES):
        if not _allowed(drawn, rows, work):
            return None
        joined = make(drawn, rows)
        ran = run(joined, join_of(joined, plan=MULTIWAY), 2 * MOST_S * work)
        if ran.stopped == "bytes":
            return None
        cpu = ran.cpu_seconds / max(ran.share, 0.01)
        if LEAST_S * work <= cpu <= MOST_S * work and rows > PILOT_ROWS * work:
            return joined
        rows = round(rows * min(aim / cpu, 30.0))
    return None


def fewest_rows(drawn: DrawnJoin) -> int:
    """Return the rows with which the smallest domain has two keys; with fewer, a row has fewer partners than drawn."""
    return int(np.ceil(LEAST_KEYS / min(domains_of(drawn, 1_000_000).values()) * 1_000_000))


def _allowed(drawn: DrawnJoin, rows: int, work: float) -> bool:
    return (
        fewest_rows(drawn) <= rows <= MOST_ROWS
        and 1 <= expected_results(drawn, rows) <= MOST_RESULTS
        and largest_step(drawn, rows) <= MOST_STEP
    )
