"""The results that the plans of a join are expected to have returned by some times, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.cost.work_queue import accumulated, returned
from thalweg.optimizer.choose_plan import LEVEL
from thalweg.optimizer.join_estimates import JoinEstimates
from thalweg.optimizer.plan_scores import GRID, Numbers, PlanWork
from thalweg.plan.join_shape import Shape


@dataclass(frozen=True)
class ResultsOverTime:
    """The results that plans are expected to have returned by some times."""

    times: Numbers
    expected: Mapping[Shape, Numbers]
    low: Mapping[Shape, Numbers]
    """The lower end of the 90 % band."""
    high: Mapping[Shape, Numbers]


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
