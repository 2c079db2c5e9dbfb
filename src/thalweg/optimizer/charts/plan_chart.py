"""Charts of joins: at which arrival rates which plan of a join is the best. They are made before a join runs.

Answers: `make_chart`, the chart (`cost/plan_chart.py`) whose dimensions are the rates of the streams. Everything else
has its expected value.
Guarantee: the plan of a region is the one that `best_plan` finds at its centroid.
Cost: a chart of up to `EAGER_CELLS` regions is made at once, with arrays over its regions; the regions of a larger one,
and of one whose plans take long to find, when they are first asked for.

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
4.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.join_numbers import Number
from thalweg.cost.plan_chart import PARTS, Dimension, PlanChart, check_parts, ends_of
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.optimizer.joins.choose_plan import ALL_PLANS, choose_plan
from thalweg.optimizer.joins.estimates import DEVIATIONS, JoinEstimates, Quantity, log_deviation
from thalweg.optimizer.joins.point_scores import IN_TIME, best_at, best_at_many
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.estimate import Estimate
from thalweg.plan.joins.shape import Shape
from thalweg.plan.objective import LEAST_CPU, Objective
from thalweg.stats.declared_number import LARGEST

EAGER_CELLS = 10_000
"""A chart of more regions is made region by region, when they are first asked for. So is one of more than `ALL_PLANS`
streams, or for an objective that depends on time: a region takes many times as long."""
LEAST_RANGE = 1e-9
"""The least difference between the ends of a range, in rows per second."""
LEAST_FACTOR = 2.0
"""A range that is not declared reaches from the expected rate divided by at least this to its multiple."""


def make_chart(
    estimates: JoinEstimates, objective: Objective = LEAST_CPU, k: int = PARTS, *,
    ranges: Mapping[str, Any] | None = None, max_bytes: float = math.inf,
) -> PlanChart:  # fmt: skip
    """Return the chart of a join. `ranges`: the least and the largest rate by stream; otherwise what is declared.
    `max_bytes`: the limit of one bucket. All quantities must be known."""
    parts = check_parts(k)
    if estimates.unknown:
        raise PlanError(f"a chart needs the numbers that are unknown: {listed(estimates.unknown)}; declare them with "
                        "statistics=, or use tw.statistics_from of an earlier run")  # fmt: skip
    if ranges is not None and not isinstance(ranges, Mapping):
        raise PlanError(f"chart(ranges={ranges!r}): must be a dict of the least and the largest rows per second by "
                        "stream, such as {'a': (10, 1000)}")  # fmt: skip
    given = ranges or {}
    for stream in given:
        if stream not in estimates.streams:
            close = nearest(stream, estimates.streams)
            raise PlanError(f"chart(ranges=): {stream!r} is not a stream of this join{close}; it has "
                            f"{listed(estimates.streams)}")  # fmt: skip
    dimensions = tuple(
        Dimension(alias, *range_of(alias, given.get(alias), estimates.quantities["rate", alias]), parts)
        for alias in estimates.streams
    )
    chart = PlanChart(dimensions, partial(best_plan, estimates, objective=objective, max_bytes=max_bytes))
    if chart.size > EAGER_CELLS or not _is_quick(estimates, objective):
        return chart
    return chart.complete(partial(_best_plans, estimates, objective, max_bytes))


def best_plan(
    estimates: JoinEstimates, rates: Mapping[str, float], objective: Objective = LEAST_CPU, max_bytes: float = math.inf
) -> Shape:
    """Return the best plan at these rates, if everything else has its expected value."""
    if not _is_quick(estimates, objective):
        exact = {name: Estimate(each.value, each.origin, 0.0) for name, each in estimates.quantities.items()}
        exact |= {("rate", alias): Estimate(rate, "assumed", 0.0) for alias, rate in rates.items()}
        return choose_plan(replace(estimates, quantities=exact), objective, max_bytes=max_bytes).chosen.shape
    values = estimates.expected()
    values |= {("rate", alias): max(rate, 1e-12) for alias, rate in rates.items()}
    shapes = list(all_plans(estimates.graph))
    return best_at(shapes, estimates.numbers(values), objective, max_bytes, estimates.streams)


def _best_plans(
    estimates: JoinEstimates, objective: Objective, max_bytes: float, rates: Mapping[str, NDArray[np.float64]]
) -> list[Shape]:
    """Return what `best_plan` returns at each of many points."""
    values: dict[Quantity, Number] = dict(estimates.expected())
    values |= {("rate", alias): np.maximum(rate, 1e-12) for alias, rate in rates.items()}
    numbers = replace(estimates.numbers(values), apart=True)
    return best_at_many(list(all_plans(estimates.graph)), numbers, objective, max_bytes, estimates.streams)


def _is_quick(estimates: JoinEstimates, objective: Objective) -> bool:
    """Whether the plan of a region is found in about a millisecond: all plans can be compared at one point."""
    return len(estimates.graph.aliases) <= ALL_PLANS and objective.name not in IN_TIME


def range_of(stream: str, given: Any, rate: Estimate) -> tuple[float, float]:
    """Return the least and the largest rate of a stream: as given by the user, or where it is with a probability of
    90 %, and at least a factor of two around its expected value."""
    if given is None:
        deviation = log_deviation(rate)
        factor = math.exp(DEVIATIONS * deviation)
        if factor < LEAST_FACTOR:
            return rate.value / LEAST_FACTOR, max(rate.value * LEAST_FACTOR, 1e-9)
        median = rate.value * math.exp(-(deviation**2) / 2)
        return median / factor, median * factor
    low, high = ends_of(given)
    if not 0 <= low < high <= LARGEST or high - low < LEAST_RANGE:
        raise PlanError(
            f"chart(ranges={{{stream!r}: {given!r}}}): must be the least and the largest rows per second, at least 0 "
            f"and different, such as (10, 1000), and at most {LARGEST:g}"
        )
    return low, high
