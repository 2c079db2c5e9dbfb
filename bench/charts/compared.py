"""A join under `policy="chart"` and `policy="auto"`, under its best plans, and twice as a multiway join.

All variants run once per round, each round in another order. The results of each are those of DuckDB. A pinned plan is
stopped at five times the CPU time of the multiway join; then it is not the best of any part, and does not run again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from bench.charts.drawn import best_predicted, statistics_of
from bench.charts.hindsight import Hindsight, most_bytes, steady
from bench.plans.candidates import all_plans
from bench.plans.measured import AGAIN, STOPPED_AT, WARM_S, Measured
from bench.plans.shapes import MULTIWAY, same_plan
from bench.plans.streams import JoinRows
from bench.plans.trial import PlanTrial, join_of, run
from bench.rounds import demand
from thalweg.adaptive_joins import Join

CHART, AUTO = "chart", "auto"
POLICIES = (CHART, AUTO)

Line = dict[str, Any]


def compare(
    joined: JoinRows, expected: tuple[int, int], rounds: int, most_plans: int
) -> tuple[Measured, dict[str, Line]]:
    """Run all variants, of the plans those with the least predicted CPU time. Return the trials, and what the reports
    of the policies say. Raises WrongResultError if a result is not DuckDB's."""
    best = best_predicted(joined.drawn, most_plans)
    plans = [plan for plan in all_plans(joined) if plan == MULTIWAY or same_plan(plan) in best]
    known = statistics_of(joined.drawn, joined.rows)
    makers: dict[str, Callable[[], Join]] = {
        plan: partial(join_of, joined, plan=plan, statistics=known) for plan in plans
    }
    makers[AGAIN] = makers[MULTIWAY]
    makers |= {policy: partial(join_of, joined, policy=policy, statistics=known) for policy in POLICIES}
    for name in makers:
        if name != CHART:  # whose loops are those of the others
            run(joined, makers[name](), WARM_S)  # it loads compiled loops
    trials: dict[str, list[PlanTrial]] = {name: [] for name in makers}
    said: dict[str, Line] = {}
    rng = np.random.default_rng([joined.drawn.seed, joined.drawn.number])
    limit = inf
    for _ in range(rounds):
        # the first round begins with the multiway join, by which the others are limited
        stopped = [name for name, runs in trials.items() if any(trial.stopped for trial in runs)]
        names = [name for name in makers if name not in stopped and (limit < inf or name != MULTIWAY)]
        order = [names[k] for k in rng.permutation(len(names))]
        for name in order if limit < inf else [MULTIWAY, *order]:
            join = makers[name]()
            done = run(joined, join, inf if name in POLICIES else limit)
            if done.result is not None:
                demand(f"join {joined.drawn.name}, {name}", done.result, expected)
            trials[name].append(done)
            if limit == inf:
                limit = STOPPED_AT * done.cpu_seconds
            if name in POLICIES:
                said[name] = _said(join)
    return Measured(joined, expected, trials, (), {policy: policy for policy in POLICIES}), said


def figures(measured: Measured, said: dict[str, Line], hindsight: Hindsight) -> Line:
    """Return the figures of a join: each policy over the plans best in hindsight, and over the best single plan."""
    single = measured.best(steady)
    line: Line = {
        "aa": round(measured.aa(), 4), "single": single, "plans": len(measured.plans),
        "stopped": sum(map(measured.stopped, measured.plans)), "hindsight": hindsight.plans,
        "single_cpu_over_hindsight": round(hindsight.cpu_over(single), 4),
        "single_bytes_over_hindsight": round(hindsight.bytes_over(single), 4),
    }  # fmt: skip
    for name in POLICIES:
        line[name] = {
            "cpu_over_hindsight": round(hindsight.cpu_over(name), 4),
            "cpu_over_single": round(measured.ratio(name, single, steady), 4),
            "cpu_with_start_over_single": round(measured.ratio(name, single), 4),
            "bytes_over_hindsight": round(hindsight.bytes_over(name), 4),
            "bytes_over_single": round(most_bytes(measured, name) / most_bytes(measured, single), 4),
            **said[name],
        }
    return line


def _said(join: Join) -> Line:
    """Return how a policy changed plans in its last run, and how it followed its chart, if it did."""
    plans = join.report().sections[-1].plans
    line: Line = {"changes": plans.all_changes}
    if plans.chart.rounds:
        line |= {"rounds": plans.chart.rounds, "moves": plans.chart.moves, "outside": plans.chart.outside}
        line |= {"fidelity": plans.chart.fidelity, "regret": plans.chart.mean_regret}
    return line
