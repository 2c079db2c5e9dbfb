"""The figures of all joins against the targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.charts.compared import CHART
from bench.plans.fan_out import verdict_of_speed
from bench.verdict import never, target_line

BENCH = "charts"
PARTS = LOOKUP, SWINGS, CALM = "lookup", "swings", "calm"
TRIGGER = "trigger"
"""The part that runs on Spark."""
TIMES_FASTER = 100.0
MOST_SECONDS, MOST_BYTES = 1.0, 100_000
OVER_HINDSIGHT = 1.10
APART = 1.10
"""Following a chart must beat the best single plan if that one is this far above hindsight."""
BELOW_SINGLE = 0.9999
"""Ratios have four digits, and this is the largest one below 1."""
OVER_SINGLE_IF_CALM = 1.02
FROM_BUSY = 0.05
"""How far the load may be from what was asked for."""
FROM_FORETOLD = 0.10
"""By which share the rows held may differ from what was foretold."""

Line = dict[str, Any]


def summary(figures: Sequence[Line]) -> Iterator[Line]:
    """Yield one line per target, from the figures of all joins of all parts."""
    for part, judge in ((LOOKUP, _lookup), (SWINGS, _swings), (CALM, _calm), (TRIGGER, _trigger)):
        own = [line for line in figures if line["part"] == part]
        for line in judge(own) if own else ():
            yield {**line, "scenario": part}


def _lookup(figures: Sequence[Line]) -> Iterator[Line]:
    slowest = min(figures, key=lambda line: float(line["times"]))
    about = "a look-up: times as fast as choosing anew"
    verdict = verdict_of_speed(slowest["times"], TIMES_FASTER, slowest["aa"])
    yield {**target_line(BENCH, about, slowest["times"], TIMES_FASTER), "verdict": verdict, "aa": slowest["aa"]}
    seconds = [(line["make_seconds"], line["make_aa"]) for line in figures]
    yield never(BENCH, "CPU seconds to make a chart of three streams", seconds, MOST_SECONDS)
    yield never(BENCH, "bytes of its stored form", [(line["bytes"], 1.0) for line in figures], MOST_BYTES)


def _swings(figures: Sequence[Line]) -> Iterator[Line]:
    for what, about in (("cpu", "CPU time"), ("bytes", "most bytes held")):
        # how many bytes a plan holds does not depend on the clock
        spreads = [line["aa"] if what == "cpu" else 1.0 for line in figures]
        over = [line[CHART][f"{what}_over_hindsight"] for line in figures]
        plans = "the plans best in hindsight"
        yield never(BENCH, f"{about} over that of {plans}", list(zip(over, spreads, strict=True)), OVER_HINDSIGHT)
        apart = [
            (line[CHART][f"{what}_over_single"], aa)
            for line, aa in zip(figures, spreads, strict=True)
            if line[f"single_{what}_over_hindsight"] > APART
        ]
        about = f"{about} over that of the best single plan, if that one is more than 10 % above hindsight"
        if apart:
            yield never(BENCH, about, apart, BELOW_SINGLE)


def _calm(figures: Sequence[Line]) -> Iterator[Line]:
    ratios = [(line[CHART]["cpu_over_single"], line["aa"]) for line in figures]
    yield never(BENCH, "CPU time over that of the best single plan", ratios, OVER_SINGLE_IF_CALM)


def _trigger(figures: Sequence[Line]) -> Iterator[Line]:
    """Yield a line per query and number. A start with too few micro-batches has no numbers, and its targets are
    undecided."""
    for line in figures:
        about = f"{line['case']}: the load of the third start, minus busy={line['busy']}"
        yield _apart(about, line, "load", line["busy"], FROM_BUSY, line.get("load_aa", 0.0))
        if line["windows"]:
            about = f"{line['case']}: rows held over those foretold, minus 1"
            yield _apart(about, line, "held_over_foretold", 1.0, FROM_FORETOLD, line.get("held_aa", 1.0) - 1.0)


def _apart(about: str, line: Line, name: str, wanted: float, limit: float, aa: float) -> Line:
    """Return whether a number differs from what is wanted by at most the limit, beyond its A/A spread."""
    if name not in line:
        return {"bench": BENCH, "line": "target", "target": about, "value": None, "limit": limit,
                "verdict": "undecided"}  # fmt: skip
    apart = abs(line[name] - wanted)
    return target_line(BENCH, about, apart, limit, reachable=max(apart - aa, 0.0), aa=aa)
