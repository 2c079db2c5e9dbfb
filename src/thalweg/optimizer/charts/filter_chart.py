"""Charts of filters: at which pass shares and arrival rates which order of filters is the best (OM's sel-λ chart).

Answers: `make_filter_chart`, the chart (`cost/plan_chart.py`) whose dimensions are the arrival rate and the share of
rows that each predicate passes. Predicates that guards keep in their place are no dimensions.
Guarantee: the order of a region is the one that `best_order` finds at its centroid.
Cost: a chart of up to `EAGER_CELLS` regions is made at once; the regions of a larger one when they are first asked for.
Differs from the paper: OM's chart has one selection and one projection. A projection is no dimension here, because
scans read only the columns that are needed.

>>> from thalweg.plan.filters.pipeline import Pipeline
>>> two = FilterTimes(Pipeline(("cheap", "slow")), per_row_ns=(100.0, 150.0), fixed_ns=(0.0, 0.0))
>>> chart = make_filter_chart(two, Estimate(1_000.0, "declared"), {}, k=2)
>>> chart.plan((0, 0, 0)), chart.plan((0, 1, 0))  # `cheap` passes a quarter of the rows, and three quarters
(('cheap', 'slow'), ('slow', 'cheap'))
>>> [each.name for each in chart.dimensions]
['rows_per_second', 'cheap', 'slow']

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, sections
4.2 to 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.cost.order_load import RATE, ROUND_S, FilterTimes, best_order
from thalweg.cost.plan_chart import PARTS, Dimension, PlanChart, check_parts, ends_of
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.optimizer.charts.plan_chart import range_of
from thalweg.plan.estimate import Estimate
from thalweg.plan.joins.shape import Shape
from thalweg.plan.objective import LEAST_CPU, Objective

EAGER_CELLS = 10_000
"""A chart of more regions is made region by region, when they are first asked for."""
ALL_AT_ONCE = 5
"""So is one of more filters: the order of a region takes longer."""
LEAST_RANGE = 1e-9
"""The least difference between the ends of a range of pass shares."""


def make_filter_chart(
    times: FilterTimes, rate: Estimate | None, passes: Mapping[str, float], k: int | None = None, *,
    ranges: Mapping[str, Any] | None = None, objective: Objective = LEAST_CPU, round_s: float = ROUND_S,
) -> PlanChart:  # fmt: skip
    """Return the chart of filters. `rate`: the expected rows per second, or None if `ranges` must have them. `passes`:
    the shares of predicates that are no dimensions. `k`: `PARTS` by default. `ranges`: the least and the largest values
    by dimension."""
    parts, pipeline = check_parts(PARTS if k is None else k), times.pipeline
    if RATE in pipeline.names:
        raise PlanError(f"chart(): a predicate has the name {RATE!r}, which is that of the arrival rate; rename it")
    if ranges is not None and not isinstance(ranges, Mapping):
        raise PlanError(f"chart(ranges={ranges!r}): must be a dict of the least and the largest values, such as "
                        f"{{{RATE!r}: (10, 1000), {pipeline.names[0]!r}: (0.1, 0.9)}}")  # fmt: skip
    movable, given = pipeline.movable, ranges or {}
    names = (RATE, *movable)
    for name in given:
        if name not in names:
            why = "its place does not change" if name in pipeline.names else "it is not a predicate of these filters"
            close = nearest(name, names) if isinstance(name, str) else ""
            raise PlanError(f"chart(ranges=): {name!r} is no dimension, because {why}{close}; the dimensions are "
                            f"{listed(names)}")  # fmt: skip
    if rate is None and RATE not in given:
        example = f"ranges={{{RATE!r}: (10, 1000)}}"
        raise PlanError(f"chart(): the arrival rate is unknown; give its range, such as {example}")
    low, high = range_of(RATE, given.get(RATE), rate or Estimate(1.0, "assumed"))
    dimensions = [Dimension(RATE, low, high, parts, "rows per second")]
    dimensions += [Dimension(name, *_shares(name, given.get(name)), parts, "passed by") for name in movable]
    held = {name: passes.get(name, 0.5) for name in pipeline.names}

    def choose(values: Mapping[str, float]) -> Shape:
        shares = {**held, **values}
        order = best_order(times, [shares[name] for name in pipeline.names], values[RATE], objective, round_s)
        return tuple(pipeline.label(order))

    chart = PlanChart(tuple(dimensions), choose)
    return chart.complete() if chart.size <= EAGER_CELLS and len(pipeline) <= ALL_AT_ONCE else chart


def _shares(name: str, given: Any) -> tuple[float, float]:
    if given is None:
        return 0.0, 1.0
    low, high = ends_of(given)
    if not 0 <= low < high <= 1 or high - low < LEAST_RANGE:
        raise PlanError(f"chart(ranges={{{name!r}: {given!r}}}): must be the least and the largest share of rows that "
                        "pass, from 0 to 1 and different, such as (0.1, 0.9)")  # fmt: skip
    return low, high
