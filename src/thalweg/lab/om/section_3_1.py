"""What a query returns at the end of each round (OM, section 3.1)."""

from __future__ import annotations

import math

import pyarrow as pa

import thalweg as tw
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.simulation import Selection, Source, simulate

WINDOW = 20.0
ROWS = [(10, 1, 1), (7, 2, 5), (8, 3, 10), (25, 4, 15), (10, 5, 20), (8, 6, 25), (9, 7, 30), (26, 8, 35), (11, 9, 40),
        (7, 10, 45), (20, 11, 50)]  # fmt: skip
"""a1, a2 and the time of each row."""
PRINTED = [{10, 25}, {26, 11}, {20}]
Results = list[list[int]]


def rounds(last_is_next: bool = False) -> Results:
    """Return the outputs of each round. `last_is_next`: whether a row that arrives when a window ends is in the next
    one."""
    table = pa.table(dict(zip(("a1", "a2", "time"), zip(*ROWS, strict=True), strict=True)))
    large = Selection("large", "rows", tw.predicate(lambda a1: a1 >= 10, "a1", name="large"))
    trace = simulate({"rows": Source(table, "time")}, large, start=0)
    found: Results = [[] for _ in range(math.ceil(ROWS[-1][2] / WINDOW))]
    for row in trace.rows().to_pylist():
        number = math.floor(row["time"] / WINDOW) if last_is_next else math.ceil(row["time"] / WINDOW) - 1
        found[number].append(row["a1"])
    return found


def shown(outputs: Results) -> str:
    """Return the outputs of all rounds for a sentence."""
    return ", ".join(f"round {n}: {', '.join(map(str, one))}" for n, one in enumerate(outputs, 1))


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "each round returns the distinct values that the paper gives",
        "section 3.1: {10, 25}, {26, 11}, {20}; read with the row of time 20 in round 1 and that of time 40 in round 2",
        holds=lambda r: [set(outputs) for outputs in r] == PRINTED,
        measured=shown,
    ),
    Statement(
        "each round returns as many rows as the paper gives",
        "section 3.1: 2, 2 and 1 rows; a stream is a bag (section 3)",
        holds=lambda r: [len(outputs) for outputs in r] == [len(outputs) for outputs in PRINTED],
        measured=lambda r: (
            f"{', '.join(str(len(outputs)) for outputs in r)} rows; if rows that arrive when a window "
            f"ends are in the next one, {shown(rounds(last_is_next=True))}"
        ),
        why="the row of time 20 has a second 10, which the paper leaves out. It is in round 1, because that of time 40 "
        "is in round 2. So the paper prints sets, although the query has no DISTINCT.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the selection, and divide its results into rounds."""
    (results,) = (rounds() for _ in track([0]))
    return Outcome(judged(CLAIMS, results))


EXPERIMENT = Experiment(
    title="what a query returns at the end of each round",
    reference="section 3.1",
    measure=measure,
    setting="11 rows in 50 seconds, a window of 20 seconds, a selection (a1 ≥ 10), and a projection on a1.",
)
