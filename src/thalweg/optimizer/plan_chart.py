"""Charts of plans: at which arrival rates which plan of a join is the best. They are made before a join runs.

Answers: `at(rates)`, the plan for the present rates, the region they are in, and whether they are outside the chart.
How: each stream is a dimension, the range of its rate is cut into k equal parts, and the plan of a region is the one
that is the best at its centroid (OM, algorithm 1). Everything else has its expected value. A point outside has the plan
of the nearest region.
Guarantee: the plan of a region is the one that `best_plan` finds at its centroid. Within a region another plan may be
better.
Cost: a look-up is a division per stream and one read. A chart of up to `EAGER_CELLS` regions is made at once; the
regions of a larger one, and of one whose plans take long to find, when they are first asked for.
Differs from the paper: a chart has the plans that are the best in some region, not all candidates.

>>> chart = PlanChart((Dimension("a", 0, 100, 2), Dimension("b", 0, 10, 2)), lambda rates: ("a", "b", "c"))
>>> chart.at({"a": 60.0, "b": 1.0}).region, chart.centroid((1, 0))
((1, 0), {'a': 75.0, 'b': 2.5})

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
4.4.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.optimizer.choose_plan import ALL_PLANS, choose_plan
from thalweg.optimizer.join_estimates import DEVIATIONS, JoinEstimates, log_deviation
from thalweg.optimizer.point_scores import IN_TIME, best_at
from thalweg.optimizer.search_plans import all_plans
from thalweg.plan.estimate import Estimate
from thalweg.plan.join_shape import Shape, as_shape
from thalweg.plan.objective import LEAST_CPU, Objective
from thalweg.stats.declared_number import LARGEST

EAGER_CELLS = 1_000
"""A chart of more regions is made region by region, when they are first asked for. So is one of more than `ALL_PLANS`
streams, or for an objective that depends on time: a region takes many times as long."""
PARTS = 10
"""The number of parts of each dimension, the paper's default."""
MOST_PARTS = 1_000
LEAST_RANGE = 1e-9
"""The least difference between the ends of a range, in rows per second."""
LEAST_FACTOR = 2.0
"""A range that is not declared reaches from the expected rate divided by at least this to its multiple."""


@dataclass(frozen=True)
class Dimension:
    """The range of the rate of one stream, cut into equal parts."""

    stream: str
    low: float
    high: float
    parts: int

    def part(self, value: float) -> int:
        """Return the part that contains a value; for a value outside, the first or the last one."""
        inside = min(max(value, self.low), self.high)
        return min(int((inside - self.low) / (self.high - self.low) * self.parts), self.parts - 1)

    def covers(self, value: float) -> bool:
        """Whether a value is in the range."""
        return self.low <= value <= self.high

    def centroid(self, part: int) -> float:
        """Return the middle of a part."""
        return self.low + (part + 0.5) * (self.high - self.low) / self.parts


class Place(NamedTuple):
    """Where a point is in a chart."""

    region: tuple[int, ...]
    plan: Shape
    is_outside: bool


class PlanChart:
    """The plans of all regions."""

    def __init__(self, dimensions: tuple[Dimension, ...], choose: Callable[[Mapping[str, float]], Shape]) -> None:
        """`choose`: returns the best plan for rates by stream."""
        self.dimensions = dimensions
        self._choose = choose
        self.plans: list[Shape] = []
        """The plans of the regions that are known, in the order in which they were found."""
        self._found: dict[tuple[int, ...], int] = {}
        """The numbers of the plans of these regions. A chart of many streams has far more regions than are used."""

    @property
    def size(self) -> int:
        """The number of regions."""
        return math.prod(dimension.parts for dimension in self.dimensions)

    def at(self, rates: Mapping[str, float]) -> Place:
        """Return the plan for rates by stream."""
        region = tuple(dimension.part(rates[dimension.stream]) for dimension in self.dimensions)
        outside = not all(dimension.covers(rates[dimension.stream]) for dimension in self.dimensions)
        return Place(region, self.plan(region), outside)

    def knows(self, rates: Mapping[str, float]) -> bool:
        """Whether the plan for these rates is known already."""
        region = tuple(dimension.part(rates[dimension.stream]) for dimension in self.dimensions)
        return region in self._found

    def plan(self, region: tuple[int, ...]) -> Shape:
        """Return the plan of a region."""
        found = self._found.get(region)
        if found is None:
            plan = self._choose(self.centroid(region))
            if plan not in self.plans:
                self.plans.append(plan)
            found = self._found[region] = self.plans.index(plan)
        return self.plans[found]

    def choose(self, rates: Mapping[str, float]) -> Shape:
        """Return the plan that is the best at these rates, whatever the chart has for their region."""
        return self._choose(rates)

    def centroid(self, region: Sequence[int]) -> dict[str, float]:
        """Return the rates in the middle of a region."""
        return {each.stream: each.centroid(part) for each, part in zip(self.dimensions, region, strict=True)}

    def complete(self) -> PlanChart:
        """Find the plans of all regions, and return the chart itself."""
        for region in product(*(range(dimension.parts) for dimension in self.dimensions)):
            self.plan(region)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as values for JSON. Regions that are not known yet stay unknown."""
        known = np.array([[*region, plan] for region, plan in sorted(self._found.items())], np.uint16)
        cells = base64.b85encode(zlib.compress(known.tobytes(), 9)).decode()
        return {
            "dimensions": [[each.stream, each.low, each.high, each.parts] for each in self.dimensions],
            "plans": self.plans, "cells": cells,
        }  # fmt: skip

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Take the plans of regions from what `to_dict` returned. Raises PlanError if it is another chart."""
        dimensions = tuple(Dimension(stream, *numbers) for stream, *numbers in stored["dimensions"])
        if dimensions != self.dimensions:
            raise PlanError("the stored chart is of another query, or of other ranges; make a new one with chart()")
        cells = np.frombuffer(zlib.decompress(base64.b85decode(stored["cells"])), np.uint16)
        self.plans = [as_shape(plan) for plan in stored["plans"]]
        self._found = {tuple(region): plan for *region, plan in cells.reshape(-1, len(dimensions) + 1).tolist()}


def make_chart(
    estimates: JoinEstimates, objective: Objective = LEAST_CPU, k: int = PARTS, *,
    ranges: Mapping[str, Any] | None = None, max_bytes: float = math.inf,
) -> PlanChart:  # fmt: skip
    """Return the chart of a join. `ranges`: the least and the largest rate by stream; otherwise what is declared.
    `max_bytes`: the limit of one bucket. All quantities must be known."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= MOST_PARTS:
        raise PlanError(f"chart(k={k!r}): the number of parts must be a whole number from 2 to {MOST_PARTS}")
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
        Dimension(alias, *_range(alias, given.get(alias), estimates.quantities["rate", alias]), int(k))
        for alias in estimates.streams
    )
    chart = PlanChart(dimensions, partial(best_plan, estimates, objective=objective, max_bytes=max_bytes))
    return chart.complete() if chart.size <= EAGER_CELLS and _is_quick(estimates, objective) else chart


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


def _is_quick(estimates: JoinEstimates, objective: Objective) -> bool:
    """Whether the plan of a region is found in about a millisecond: all plans can be compared at one point."""
    return len(estimates.graph.aliases) <= ALL_PLANS and objective.name not in IN_TIME


def _range(stream: str, given: Any, rate: Estimate) -> tuple[float, float]:
    """Return the least and the largest rate of a stream: as given, or where it is with a probability of 90 %."""
    if given is None:
        deviation = log_deviation(rate)
        factor = math.exp(DEVIATIONS * deviation)
        if factor < LEAST_FACTOR:
            return rate.value / LEAST_FACTOR, max(rate.value * LEAST_FACTOR, 1e-9)
        median = rate.value * math.exp(-(deviation**2) / 2)
        return median / factor, median * factor
    try:
        low, high = (math.nan,) * 2 if isinstance(given, str) else (float(number) for number in given)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not 0 <= low < high <= LARGEST or high - low < LEAST_RANGE:
        raise PlanError(
            f"chart(ranges={{{stream!r}: {given!r}}}): must be the least and the largest rows per second, at least 0 "
            f"and different, such as (10, 1000), and at most {LARGEST:g}"
        )
    return low, high
