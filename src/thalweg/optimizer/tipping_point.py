"""The number that decides between the plans of a join, and the value at which another plan becomes the best.

Cost: about as much as the choice itself, so it is computed only where it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thalweg.optimizer.choose_plan import Candidate, PlanChoice
from thalweg.optimizer.join_estimates import JoinEstimates, Quantity
from thalweg.optimizer.plan_scores import Numbers, PlanScores, PlanWork, caution
from thalweg.optimizer.ties import TIES
from thalweg.plan.join_shape import Shape

FACTORS = np.exp2(np.arange(-10, 10.25, 0.25))
"""By how much a number is changed to find where another plan becomes the best."""
RIVALS = 6
"""How many of the next best plans are tried."""


@dataclass(frozen=True)
class TippingPoint:
    """The number that decides: where it is now, and at which value another plan would be the best."""

    quantity: Quantity
    value: float
    tips_at: float
    plan: Shape
    """The plan that is the best beyond that value."""


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
                    best = distance, TippingPoint(quantity, value, value * factor, rival.shape)
                    break
    return None if best is None else best[1]
