"""Joins whose rates swing, drawn from a seed: six shapes, each with partners, mean rates and phases of its own.

A rate swings by 1:20, once in each minute of event time. Of several joins that are drawn for a shape, the one is taken
in which changing plans is predicted to gain the most, because with one plan all the time nothing is measured. In
`star-3`, where all streams have one key, changes rarely gain anything; it shows what a chart costs then.

Which keys match does not depend on the rates, so the exact statistics are numbers of distinct keys and, of each rate,
the least and the largest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bench.plans.candidates import predicted
from bench.plans.draw import DrawnJoin, KeyClass, log_uniform
from bench.plans.shapes import same_plan
from bench.plans.streams import domains_of, make
from bench.plans.swing import Swing
from bench.plans.trial import join_of

FACTOR, PERIOD_S = 20.0, 60.0
RUN_S = 120.0
ROWS = 3_000_000
SLICES = 120
"""The number of batches per stream."""
SHAPES: dict[str, tuple[str, ...]] = {
    "chain-3": ("ab", "bc"), "star-3": ("abc",), "fan-out": ("ab", "bc"),
    "chain-4": ("ab", "bc", "cd"), "star-4": ("ab", "ac", "ad"), "cycle-4": ("ab", "bc", "cd", "da"),
}  # fmt: skip
"""By name, the streams of each class of equal columns. `fan-out` differs from `chain-3` in its partners."""
PARTNERS = 0.02, 10.0
MANY, FEW = (10.0, 50.0), (0.005, 0.05)
"""The partners in `fan-out`: of a row of the first stream, and of a row of the second."""
RATES = 4.0
"""The largest ratio of the mean rates of two streams."""
WINDOWS_S = 2.0, 6.0
PAYLOAD = (("float64", 8),)
POINTS = 12
"""The points of a period at which plans are predicted."""
TRIES = 40
"""The number of joins that are drawn for a shape."""
DRAWING = 19
"""Separates these draws from those of other benchmarks with the same seed."""


def draw(seed: int, shape: str, attempt: int) -> DrawnJoin:
    """Return one join of a shape; the same numbers always give the same join."""
    number = list(SHAPES).index(shape)
    rng = np.random.default_rng([DRAWING, seed, number, attempt])
    groups = SHAPES[shape]
    aliases = tuple(sorted(set("".join(groups))))
    rates = {alias: RATES ** rng.uniform() for alias in aliases}
    classes = []
    for n, group in enumerate(groups):
        low, high = PARTNERS if shape != "fan-out" else (MANY, FEW)[n]
        partners = log_uniform(rng, low, high)
        classes.append(KeyClass(f"k{n}", tuple(sorted(group)), (group[0], group[1]), partners))
    window = log_uniform(rng, *WINDOWS_S) / RUN_S
    return DrawnJoin(
        seed, number, attempt, shape, aliases, tuple(classes),
        {alias: rate / sum(rates.values()) for alias, rate in rates.items()}, dict.fromkeys(aliases, window),
        dict.fromkeys(aliases, PAYLOAD), RUN_S, math.inf, SLICES,
        Swing(FACTOR, PERIOD_S, {alias: float(rng.uniform()) for alias in aliases}),
    )  # fmt: skip


@cache
def swinging(seed: int, shape: str, tries: int = TRIES) -> tuple[DrawnJoin, ...]:
    """Return joins of a shape, those first in which changing plans is predicted to gain the most."""
    joins = [draw(seed, shape, attempt) for attempt in range(tries)]
    return tuple(sorted(joins, key=predicted_gain, reverse=True))


def predicted_gain(drawn: DrawnJoin) -> float:
    """Return the predicted CPU time of the best single plan over that of the best plan at each time."""
    times = predicted_cpu(drawn)
    best = np.array(list(times.values()))
    return float(best.sum(axis=1).min() / best.min(axis=0).sum())


def predicted_cpu(drawn: DrawnJoin) -> dict[str, list[float]]:
    """Return, by plan, the predicted CPU times at the points of a period."""
    few = make(drawn, 100)  # for its columns and windows
    times: dict[str, list[float]] = {}
    for n in range(POINTS):
        known = statistics_of(drawn, ROWS, PERIOD_S * n / POINTS)
        for each in predicted(few, join_of(few, statistics=known)):
            times.setdefault(same_plan(each.plan), []).append(each.cpu)
    return times


def best_predicted(drawn: DrawnJoin, most: int) -> list[str]:
    """Return the plans with the least predicted CPU time over a period, at most so many, the best one first."""
    times = predicted_cpu(drawn)
    return sorted(times, key=lambda plan: sum(times[plan]))[:most]


def calm(drawn: DrawnJoin) -> DrawnJoin:
    """Return the same join with constant rates."""
    return replace(drawn, swing=None)


def statistics_of(drawn: DrawnJoin, rows: int, at_s: float | None = None) -> dict[str, Any]:
    """Return what is known exactly of a join with so many rows: its keys and rates; with a time, the rates then."""
    domains = domains_of(drawn, rows)
    known: dict[str, Any] = {}
    for alias in drawn.aliases:
        rate: Any = rows * drawn.shares[alias] / drawn.run_seconds
        if drawn.swing is not None and at_s is None:
            low, high = drawn.swing.levels
            rate = {"low": rate * low, "high": rate * high}
        elif drawn.swing is not None and at_s is not None:
            rate *= drawn.swing.level(alias, at_s)
        keys = {each.column: max(round(domains[each.column]), 1) for each in drawn.columns(alias)}
        known[alias] = {"rows_per_second": rate, "distinct": keys}
    return known
