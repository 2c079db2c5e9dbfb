"""A chart of plans: which plan is the best at which values of some quantities, such as arrival rates.

Answers: `at(values)`, the plan for the present values, the region they are in, and whether they are outside the chart.
How: each quantity is a dimension, its range is cut into k equal parts, and the plan of a region is the one that is the
best at its centroid (OM, algorithm 1). A point outside has the plan of the nearest region.
Guarantee: the plan of a region is the one that is chosen at its centroid. Within a region another plan may be better.
Cost: a look-up is a division per dimension and one read; a region that was never asked for costs one choice.
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
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.plan.joins.shape import Shape

PARTS = 10
"""The number of parts of each dimension, the paper's default."""
MOST_PARTS = 1_000
Unit = Literal["rows per second of", "rows per second", "passed by"]
"""What is measured: the rate of one of several streams, the rate of the only stream, or the share of rows that a
predicate passes. A value is written as "50 rows per second of a", "50 rows per second" or "0.5 passed by a"."""


@dataclass(frozen=True)
class Dimension:
    """The range of one quantity, cut into equal parts."""

    name: str
    """The stream or the predicate."""
    low: float
    high: float
    parts: int
    unit: Unit = "rows per second of"

    def part(self, value: float) -> int:
        """Return the part that contains a value; for a value outside, the first or the last one."""
        inside = min(max(value, self.low), self.high)
        return min(int((inside - self.low) / (self.high - self.low) * self.parts), self.parts - 1)

    def covers(self, value: float) -> bool:
        """Whether a value is in the range."""
        return self.low <= value <= self.high

    def centroid(self, part: Any) -> Any:
        """Return the middle of a part, or of each part of an array."""
        return self.low + (part + 0.5) * (self.high - self.low) / self.parts


class Place(NamedTuple):
    """Where a point is in a chart."""

    region: tuple[int, ...]
    plan: Shape
    is_outside: bool


class PlanChart:
    """The plans of all regions."""

    def __init__(self, dimensions: tuple[Dimension, ...], choose: Callable[[Mapping[str, float]], Shape]) -> None:
        """`choose`: returns the best plan for values by dimension."""
        self.dimensions = dimensions
        self._choose = choose
        self.plans: list[Shape] = []
        """The plans of the regions that are known, in the order in which they were found."""
        self._found: dict[tuple[int, ...], int] = {}
        """The numbers of the plans of these regions. A chart of many dimensions has far more regions than are used."""

    @property
    def size(self) -> int:
        """The number of regions."""
        return math.prod(dimension.parts for dimension in self.dimensions)

    def at(self, values: Mapping[str, float]) -> Place:
        """Return the plan for values by dimension."""
        region = tuple(dimension.part(values[dimension.name]) for dimension in self.dimensions)
        outside = not all(dimension.covers(values[dimension.name]) for dimension in self.dimensions)
        return Place(region, self.plan(region), outside)

    def knows(self, values: Mapping[str, float]) -> bool:
        """Whether the plan for these values is known already."""
        region = tuple(dimension.part(values[dimension.name]) for dimension in self.dimensions)
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

    def choose(self, values: Mapping[str, float]) -> Shape:
        """Return the plan that is the best at these values, whatever the chart has for their region."""
        return self._choose(values)

    def centroid(self, region: Sequence[int]) -> dict[str, float]:
        """Return the values in the middle of a region."""
        return {each.name: each.centroid(part) for each, part in zip(self.dimensions, region, strict=True)}

    def complete(
        self, choose: Callable[[Mapping[str, NDArray[np.float64]]], Sequence[Shape]] | None = None
    ) -> PlanChart:
        """Find the plans of all regions, and return the chart itself. `choose`: returns the best plan at each of many
        points at once, which takes far less time than one by one."""
        regions = list(product(*(range(dimension.parts) for dimension in self.dimensions)))
        if choose is None:
            for region in regions:
                self.plan(region)
            return self
        parts = np.array(regions).T
        found = choose({each.name: each.centroid(part) for each, part in zip(self.dimensions, parts, strict=True)})
        numbers = {plan: n for n, plan in enumerate(dict.fromkeys(found))}
        self.plans = list(numbers)
        self._found = {region: numbers[plan] for region, plan in zip(regions, found, strict=True)}
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as values for JSON. Regions that are not known yet stay unknown."""
        known = np.array([[*region, plan] for region, plan in sorted(self._found.items())], np.uint16)
        cells = base64.b85encode(zlib.compress(known.tobytes(), 9)).decode()
        return {
            "dimensions": [[each.name, each.low, each.high, each.parts, each.unit] for each in self.dimensions],
            "plans": self.plans, "cells": cells,
        }  # fmt: skip


def check_parts(k: Any) -> int:
    """Return the number of parts of each dimension, or raise a PlanError."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= MOST_PARTS:
        raise PlanError(f"chart(k={k!r}): the number of parts must be a whole number from 2 to {MOST_PARTS}")
    return int(k)


def ends_of(given: Any) -> tuple[float, float]:
    """Return the ends of a range that a user gives; not a number if it is none."""
    try:
        low, high = (math.nan,) * 2 if isinstance(given, str) else (float(number) for number in given)
    except (TypeError, ValueError, OverflowError):
        return math.nan, math.nan
    return low, high
