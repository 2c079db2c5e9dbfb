"""`a.k = b.k AND b.m = c.m`, where a row of a finds many rows of b and few of these find one of c.

The multiway join looks for c with every pair of a and b. Keeping the few results of b and c saves that: at least 4
times with 30 partners, 8 times with 100, in batches as long as a window, as the stream on Spark has them. In shorter
batches the fixed cost of a batch is a larger part of both, and windows hold fewer rows that have expired; that is
measured too, without a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.plans.declared import EXACT
from bench.plans.draw import DrawnJoin, KeyClass
from bench.plans.expected import expected
from bench.plans.measured import Measured, default, measure
from bench.plans.shapes import MULTIWAY, same_plan
from bench.plans.streams import make

ROWS = {"a": 200_000, "b": 30_000, "c": 3_000}
KEPT = "((b c) a)"
TARGETS = {30: 4.0, 100: 8.0}
FOUND = 0.01
"""The share of b that finds a row of c."""
WINDOWS = 10
SLICES = {"": WINDOWS, "-short-batches": 10 * WINDOWS}
"""The number of batches of each stream, by the end of the scenario's name; targets are for the first."""
ROUNDS = 5
QUICK_SHARE = 0.05

Line = dict[str, Any]


def fan_out(partners: int, slices: int = WINDOWS) -> DrawnJoin:
    """Return the join. A row of a finds this many rows in the window of b."""
    total = sum(ROWS.values())
    return DrawnJoin(
        seed=partners, number=0, attempt=0, graph="chain", aliases=("a", "b", "c"),
        classes=(KeyClass("k", ("a", "b"), ("a", "b"), float(partners)), KeyClass("m", ("b", "c"), ("b", "c"), FOUND)),
        shares={alias: rows / total for alias, rows in ROWS.items()},
        windows=dict.fromkeys("abc", 1 / WINDOWS), payload=dict.fromkeys("abc", (("float64", 8),)),
        run_seconds=100.0, batch_rows=float(total), least_slices=slices,
    )  # fmt: skip


def run_fan_out(rounds: int = ROUNDS, *, quick: bool = False) -> Iterator[Line]:
    """Measure it with each number of partners; a quick run has few rows, and no short batches."""
    for partners, limit in TARGETS.items():
        for kind, slices in list(SLICES.items())[: 1 if quick else None]:
            joined = make(fan_out(partners, slices), round(sum(ROWS.values()) * (QUICK_SHARE if quick else 1.0)))
            measured = measure(joined, expected(joined), (EXACT,), rounds)
            name = f"fan-out-{partners}{kind}"
            for line in measured.lines():
                yield {**line, "seed": None, "join": name}
            yield from judged_fan_out(name, measured, None if kind else limit)


def judged_fan_out(name: str, measured: Measured, limit: float | None) -> Iterator[Line]:
    """Yield how many times as fast as the multiway join what is kept is, and what is chosen."""
    kept = next(plan for plan in measured.plans if same_plan(plan) == same_plan(KEPT))
    for variant, about in ((kept, f"keeping {KEPT}"), (default(EXACT), "what is chosen")):
        value = measured.ratio(MULTIWAY, variant)
        yield {
            "bench": "plans", "line": "target", "scenario": name, "target": f"{about}: times as fast as multiway",
            "plan": measured.chosen.get(variant, variant), "value": round(value, 4),
            "aa": round(measured.aa(), 4),
            **({} if limit is None else {"limit": limit, "verdict": verdict_of_speed(value, limit, measured.aa())}),
        }  # fmt: skip


def verdict_of_speed(value: float, limit: float, aa: float) -> str:
    """Return whether a speed reaches its limit; undecided if the A/A spread could explain that it does not.

    >>> verdict_of_speed(4.1, 4.0, 1.1), verdict_of_speed(3.9, 4.0, 1.1), verdict_of_speed(3.0, 4.0, 1.1)
    ('reached', 'undecided', 'missed')
    """
    return "reached" if value >= limit else "undecided" if value * aa >= limit else "missed"
