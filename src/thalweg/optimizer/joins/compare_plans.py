"""What an explanation shows of the plans of a join.

Answers: `compared_plans`, the plan that a join begins with and the candidates; `tipping_point`, the number that decides
between them, and the value at which another one becomes the best; `results_over_time`, the results that they are
expected to have returned by some times, with bands.
Cost: about as much as the choice itself, so it is computed only where it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from thalweg.cost.ties import TIES, caution
from thalweg.cost.work_queue import accumulated, returned
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity
from thalweg.optimizer.joins.plan_choice import (
    LEVEL,
    SHOWN,
    Candidate,
    ComparedPlans,
    PlanChoice,
    ResultsOverTime,
    TippingPoint,
)
from thalweg.optimizer.joins.plan_scores import GRID, Numbers, PlanScores, PlanWork
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.joins.shape import Shape

FACTORS = np.exp2(np.arange(-10, 10.25, 0.25))
"""By how much a number is changed to find where another plan becomes the best."""
RIVALS = 6
"""How many of the next best plans are tried."""


def compared_plans(start: StartPlan, *, changes: bool = True) -> ComparedPlans:
    """Return the comparison of a join's plans. `changes`: whether plans can change where the join runs."""
    choice, estimates, objective = start.choice, start.estimates, start.wanted.objective
    longest = max(estimates.seconds.values(), default=0.0)
    by = longest if objective.by is None else objective.seconds
    tipping = over_time = None
    if choice is not None:
        tipping = tipping_point(estimates, choice)
        if until := 2.0 * longest if objective.by is None else 1.5 * by:
            shapes = [candidate.shape for candidate in choice.candidates[:SHOWN]]
            over_time = results_over_time(estimates, shapes, until)
    return ComparedPlans(
        len(estimates.graph.aliases), start.wanted, start.shape, changes and start.may_change, estimates.unknown,
        choice, estimates.buckets, start.limits.all_memory, by, tipping, over_time,
    )  # fmt: skip


def tipping_point(estimates: JoinEstimates, choice: PlanChoice) -> TippingPoint | None:
    """Return the number that must change least, as a factor, for another candidate to be better than the chosen one by
    more than a tie. None if there is no such number, if not all plans were compared, or if the memory limit or a
    heuristic decides."""
    chosen = choice.chosen
    rivals = [candidate for candidate in choice.candidates[1:] if candidate.fits][:RIVALS]
    if not choice.complete or choice.over_memory or choice.chosen.searched is not None or not rivals:
        return None
    best: tuple[float, TippingPoint] | None = None
    expected = estimates.expected()
    held = {alias: float(np.mean(rows)) for alias, rows in replace(estimates, buckets=1).numbers(expected).held.items()}

    def scores(quantity: Quantity, factors: Numbers) -> Callable[[Shape], Numbers]:
        values = {name: np.full(len(factors), one) for name, one in expected.items()}
        values[quantity] = expected[quantity] * factors
        if quantity[0] == "share":
            values[quantity] = np.minimum(values[quantity], 1.0)
        work = PlanWork(estimates.numbers(values))
        score = PlanScores(choice.objective, estimates, values, work, [each.shape for each in choice.candidates])
        return lambda shape: score(shape) * caution(shape, choice.objective)

    def is_better(quantity: Quantity, factor: float, rival: Candidate) -> bool:
        # all factors at once have one order of probes, which may not be the best for a single one
        score = scores(quantity, np.array([factor]))
        return bool(score(rival.shape)[0] < score(chosen.shape)[0] * (1 - TIES))

    for quantity in sorted(expected, key=lambda each: (each[0], sorted(each[1:]))):
        value, score = expected[quantity], scores(quantity, FACTORS)
        own = score(chosen.shape)
        for rival in rivals:
            better = (score(rival.shape) < own * (1 - TIES)).nonzero()[0]
            for n in sorted(better, key=lambda n: abs(math.log(FACTORS[n]))):
                distance, factor = abs(math.log(FACTORS[n])), float(FACTORS[n])
                if best is not None and distance >= best[0]:
                    break
                if distance and is_better(quantity, factor, rival):
                    best = distance, TippingPoint(quantity, value, value * factor, rival.shape, held)
                    break
    return None if best is None else best[1]


def results_over_time(
    estimates: JoinEstimates, shapes: Sequence[Shape], until: float, seed: int = 0
) -> ResultsOverTime:  # fmt: skip
    """Return the results of plans over time, beginning with empty windows."""
    times = np.linspace(0.0, until, GRID + 1)
    values = {quantity: drawn[:, None] for quantity, drawn in estimates.drawn(seed).items()}
    work = PlanWork(estimates.numbers(values, times))
    rate = work.numbers.rate(frozenset(estimates.graph.aliases))
    made = accumulated(times, np.broadcast_to(rate, work.shape))
    expected, low, high = {}, {}, {}
    for shape in shapes:
        load = accumulated(times, work.ns(shape) / 1e9)
        drawn = estimates.buckets * np.array([returned(times, w, m) for w, m in zip(load, made, strict=True)])
        ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        expected[shape] = drawn[0]
        low[shape], high[shape] = np.minimum(ends[0], drawn[0]), np.maximum(ends[1], drawn[0])
    return ResultsOverTime(times, expected, low, high)
