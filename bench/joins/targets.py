"""The targets, judged from what was measured. A missed target is printed as missed. Ratios to other engines have no
target and are always printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.joins.agenda import AUTO, HINDSIGHT
from bench.joins.measured import Measured
from bench.joins.peers import DUCKDB, POLARS

ROWS_A_SECOND, TEXT_ROWS_A_SECOND = 3_000_000, 1_000_000
PROBES = 1.10

Line = dict[str, Any]


def targets(measured: Measured) -> list[Line]:
    """Return the target lines of one scenario; lines without a limit are comparisons."""
    name = measured.scenario.name
    find = _TARGETS.get(name)
    lines = find(measured) if find is not None else []
    return [*lines, *_compared(measured)]


def flatness(all_measured: list[Measured]) -> list[Line]:
    """Return the cost of a row divided by its cost with the smallest window, or with the fewest streams."""
    lines = []
    for kind in ("window-", "streams-"):
        family = [m for m in all_measured if m.scenario.name.startswith(kind)]
        for measured in family[1:]:
            first = family[0]
            value = first.rows_per_second(AUTO) / measured.rows_per_second(AUTO)
            lines.append(_line(measured, f"cost of a row over that of {first.scenario.name}", value))
    return lines


def _line(measured: Measured, target: str, value: float, limit: float | None = None, *, least: bool = False) -> Line:
    """Return one line. With `least`, the value must not be below the limit; otherwise it must not be above."""
    judged: Line = {}
    if limit is not None:
        judged = {"reached": bool(value >= limit if least else value <= limit), "limit": limit}
    return {
        "bench": "joins", "scenario": measured.scenario.name, "target": target, "policy": AUTO,
        "value": round(value, 4), **judged,
    }  # fmt: skip


def _rate(limit: float) -> Callable[[Measured], list[Line]]:
    return lambda measured: [_line(measured, "rows per second", measured.rows_per_second(AUTO), limit, least=True)]


def _star(measured: Measured) -> list[Line]:
    """Return the targets of the best of ours, which is named, and of `auto`."""
    about, known = "probes, with profiling, over those of the best order in hindsight", measured.probes(HINDSIGHT)
    best, fewest = measured.fewest_probes()
    lines = [_line(measured, about, probes / known, PROBES) for probes in (fewest, measured.probes(AUTO))]
    return [{**line, "policy": policy} for line, policy in zip(lines, (best, AUTO), strict=True)]


def _compared(measured: Measured) -> list[Line]:
    ran = {variant.name for variant in measured.variants}
    peers = [name for name in (DUCKDB, POLARS) if name in ran]
    lines = [_line(measured, f"CPU time over that of {name}", measured.ratio(AUTO, name)) for name in peers]
    trees = measured.trees()
    if trees:
        for which, name in (("best", trees[0]), ("worst", trees[-1])):
            lines.append(_line(measured, f"CPU time over that of the {which} of our trees", measured.ratio(AUTO, name)))
    return lines


_TARGETS: dict[str, Callable[[Measured], list[Line]]] = {
    "three-way": _rate(ROWS_A_SECOND),
    "three-way-dense": _rate(ROWS_A_SECOND),
    "three-way-text": _rate(TEXT_ROWS_A_SECOND),
    "star": _star,
}
