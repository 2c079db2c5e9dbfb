"""What a chart costs: making one of three streams, looking plans up in it, choosing them anew, and its stored form."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.charts.drawn import ROWS, SHAPES, statistics_of
from bench.plans.draw import DrawnJoin
from bench.plans.streams import make
from bench.plans.trial import join_of
from thalweg.cost.plan_chart import PlanChart

K = 10
POINTS, CHOSEN = 20_000, 200
"""How many points are looked up, and for how many of them a plan is chosen anew."""
ROUNDS = 5
THREE = tuple(name for name, groups in SHAPES.items() if len(set("".join(groups))) == 3)

Line = dict[str, Any]


def lookup(drawn: DrawnJoin, rounds: int = ROUNDS, points: int = POINTS, chosen: int = CHOSEN) -> Line:
    """Return the CPU times of the chart of one join of three streams. The A/A spreads are those of
    looking up twice and of making it in several rounds."""
    join = join_of(make(drawn, 100), statistics=statistics_of(drawn, ROWS))
    rng = np.random.default_rng([drawn.seed, drawn.number])
    ends = join.chart(k=2).ranges
    drawn_points = [{alias: float(rng.uniform(*both)) for alias, both in ends.items()} for _ in range(points)]
    made_s, at_s, again_s, anew_s = [], [], [], []
    for _ in range(rounds):
        begun = time.process_time()
        chart = join.chart(k=K)._chart
        made_s.append(time.process_time() - begun)
        at_s.append(_each_s(chart.at, drawn_points))
        anew_s.append(_each_s(chart.choose, drawn_points[:chosen]))
        again_s.append(_each_s(chart.at, drawn_points))
    spread = [max(one / other, other / one) for one, other in zip(at_s, again_s, strict=True)]
    return {
        "seed": drawn.seed, "join": drawn.graph, "k": K, "regions": chart.size, "plans": len(chart.plans),
        "make_seconds": round(statistics.median(made_s), 4), "make_aa": round(max(made_s) / min(made_s), 4),
        "look_up_us": round(1e6 * statistics.median(at_s), 3),
        "choose_us": round(1e6 * statistics.median(anew_s), 1),
        "times": round(statistics.median(anew / at for anew, at in zip(anew_s, at_s, strict=True)), 1),
        "aa": round(max(spread), 4), "bytes": stored_bytes(chart),
    }  # fmt: skip


def stored_bytes(chart: PlanChart) -> int:
    """Return the size of the stored form of a chart."""
    return len(json.dumps(chart.to_dict()).encode())


def _each_s(ask: Callable[[Mapping[str, float]], object], points: Sequence[Mapping[str, float]]) -> float:
    begun = time.process_time()
    for point in points:
        ask(point)
    return (time.process_time() - begun) / len(points)
