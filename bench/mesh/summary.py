"""The figures of all parts and seeds against the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.mesh.contenders import EDDY, EDDY_CBR, MESH
from bench.mesh.search import SEARCHES
from bench.mesh.sizes import pays_from
from bench.verdict import never, target_line

BENCH = "mesh"
PARTS = SCENARIOS, SIZES, SEARCH, STAR = "scenarios", "sizes", "search", "star"
SPARK = "spark"
EVALUATIONS_SHARE = {"classes": 0.85, "numbers": 0.85, "drift": 0.70, "many": 0.50, "rooms": 0.50}
CPU_SHARE = {"classes": 0.75, "numbers": 0.75}
NO_LOSS = ("none", "counter", "cheap", "kdd", "calm")
OVER_AUTO = 1.03
ROUTING_SHARE = 0.03
AT_ONE_US = ("classes", "numbers", "many", "drift", "none")
"""Scenarios in which a predicate takes 1 us and rows are drawn."""
FEWER = 0.9999
"""Ratios have four digits, and this is the largest one below 1."""
OVER_EDDY = {"classes": FEWER, "numbers": FEWER, "none": 1.02}
MEAN_ABOVE, WORST_ABOVE, MOST_COSTED = 0.03, 0.10, 2_000
SPARK_SHARE, SPARK_SPEED = 0.75, 1.3
STAR_SHARE, STAR_WINDOW = 0.70, 10_000
"""The share of the possible saving in probes, and the window at which CPU time has a limit."""

Line = dict[str, Any]


def summary(figures: Sequence[Line]) -> Iterator[Line]:
    """Yield one line per target for which something was measured. Of several seeds, the worst one counts. A target
    whose figure cannot be computed is undecided, and its line says why."""
    for part, judge in _JUDGES.items():
        own = [line for line in figures if line["part"] == part]
        if own:
            yield from judge(own)


def _scenarios(figures: Sequence[Line]) -> Iterator[Line]:
    for scenario in dict.fromkeys(line["scenario"] for line in figures):
        own = [line for line in figures if line["scenario"] == scenario and MESH.name in line["variants"]]
        if own:
            yield from ({**line, "scenario": scenario} for line in _scenario(scenario, own))


def _scenario(scenario: str, figures: Sequence[Line]) -> Iterator[Line]:
    mesh = [line["variants"][MESH.name] for line in figures]
    if scenario in EVALUATIONS_SHARE:
        shares = [(one["evaluations_share"], 0.0) for one in mesh]
        about, why = "share of the possible saving in evaluations", _reason(figures, "why_no_share")
        yield from _at_least(about, shares, EVALUATIONS_SHARE[scenario], why)
    if scenario in CPU_SHARE:
        shares = [(one["cpu_share"], one["cpu_share_aa"] or 0.0) for one in mesh]
        about, why = "share of the possible saving in CPU time", _reason(figures, "why_no_cpu_share")
        yield from _at_least(about, shares, CPU_SHARE[scenario], why)
    if scenario in NO_LOSS:
        over = [(one["cpu_over_auto"], line["aa"]) for one, line in zip(mesh, figures, strict=True)]
        yield never(BENCH, "CPU time over that of auto", over, OVER_AUTO)
    if scenario in AT_ONE_US:
        # a run without a mesh routes nothing
        routing = [one["routing_share"] or 0.0 for one in mesh]
        yield target_line(BENCH, "share of the time that routing takes", max(routing), ROUTING_SHARE)
    for eddy in (EDDY.name, EDDY_CBR.name):
        if scenario in OVER_EDDY:
            ratios = [
                one["evaluations"] / line["variants"][eddy]["evaluations"]
                for one, line in zip(mesh, figures, strict=True)
                if eddy in line["variants"]
            ]
            if ratios:
                yield target_line(BENCH, f"evaluations over those of {eddy}", max(ratios), OVER_EDDY[scenario])


def _sizes(figures: Sequence[Line]) -> Iterator[Line]:
    """Yield the least batch sizes from which on a mesh pays, which have no limits."""
    for seed in dict.fromkeys(line["seed"] for line in figures):
        own = [line for line in figures if line["seed"] == seed]
        for ns, batch_rows in pays_from(own).items():
            about = f"rows of a batch from which on a mesh pays at {ns:g} ns per row (0: never)"
            yield {**target_line(BENCH, about, batch_rows or 0, None), "scenario": SIZES, "seed": seed}


def _search(figures: Sequence[Line]) -> Iterator[Line]:
    for name in SEARCHES:
        for what, about, limit in (
            ("mean", "mean cost above the cheapest mesh", MEAN_ABOVE),
            ("worst", "largest cost above the cheapest mesh", WORST_ABOVE),
            ("most_costed", "most meshes priced", MOST_COSTED),
        ):
            worst = max(line[name][what] for line in figures)
            yield {**target_line(BENCH, f"{name}: {about}", worst, limit), "scenario": SEARCH}


def _spark(figures: Sequence[Line]) -> Iterator[Line]:
    own = [(line["variants"][MESH.name], line["aa"]) for line in figures if MESH.name in line["variants"]]
    shares = [(one["evaluations_share"], 0.0) for one, _ in own]
    # a share of the speed: the spread is a factor
    speeds = [(one["times_as_fast_as_auto"], one["times_as_fast_as_auto"] * (aa - 1.0)) for one, aa in own]
    for line in (
        *_at_least("share of the possible saving in evaluations", shares, SPARK_SHARE),
        *_at_least("times as fast as auto", speeds, SPARK_SPEED),
    ):
        yield {**line, "scenario": "classes", "where": SPARK}


def _star(figures: Sequence[Line]) -> Iterator[Line]:
    for window in dict.fromkeys(line["window"] for line in figures):
        own = [line for line in figures if line["window"] == window and MESH.name in line["variants"]]
        mesh = [line["variants"][MESH.name] for line in own]
        shares = [(one["evaluations_share"], 0.0) for one in mesh]
        lines = list(_at_least("share of the possible saving in probes", shares, STAR_SHARE))
        over = [(one["cpu_over_auto"], line["aa"]) for one, line in zip(mesh, own, strict=True)]
        about = "CPU time over that of auto"
        if over and window == STAR_WINDOW:
            lines.append(never(BENCH, about, over, OVER_AUTO))
        elif over:
            lines.append(target_line(BENCH, about, max(ratio for ratio, _ in over), None))
        yield from ({**line, "scenario": f"star, windows of {window:,} rows"} for line in lines)


def _at_least(
    target: str, values: Sequence[tuple[float | None, float]], limit: float, why: str = ""
) -> Iterator[Line]:  # fmt: skip
    """Yield the line of a target that each value, given with its A/A spread, reaches. If a value could not be computed,
    which `why` explains, it is undecided, unless another value has missed it."""
    known = [(value, aa) for value, aa in values if value is not None]
    if known:
        worst, reachable = min(value for value, _ in known), min(value + aa for value, aa in known)
        line = target_line(BENCH, target, worst, limit, least=True, reachable=reachable)
    else:
        line = {"bench": BENCH, "line": "target", "target": target, "value": None, "limit": limit, "verdict": ""}
    if len(known) < len(values) and line["verdict"] != "missed":
        line |= {"verdict": "undecided", "why": why or "it could not be computed"}
    if values:
        yield line


def _reason(figures: Sequence[Line], name: str) -> str:
    """Return why a figure is missing, by seed."""
    reasons = [(line["seed"], line[name]) for line in figures if line.get(name)]
    return "; ".join(f"seed {seed}: {reason}" for seed, reason in reasons)


_JUDGES: dict[str, Callable[[Sequence[Line]], Iterator[Line]]] = {
    SCENARIOS: _scenarios, SIZES: _sizes, SEARCH: _search, STAR: _star, SPARK: _spark,
}  # fmt: skip
