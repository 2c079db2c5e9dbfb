"""The chart of filters: made from what their last run counted, or from what is declared, with the track of that run.

Times per row and per call are the latest estimates of the run. With the policy `chart`, pass shares are those that the
policy looked up: shares of all rows. Other policies do not record them, so a share is that of the rows that reached the
predicate in the order in force, as if predicates were independent (OM). Without a clock of arrivals, the rate is the
one at which the run filtered its rows; a stream on Spark has another one, which must be declared. If a user gives the
range of the rate, its middle is the present one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

from thalweg.cost.order_load import RATE, ROUND_S, FilterTimes
from thalweg.cost.plan_chart import PlanChart
from thalweg.errors import PlanError
from thalweg.events.parts import CallCounts
from thalweg.formatting import listed
from thalweg.plan.estimate import Estimate
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.joins.window import length_of
from thalweg.report.chart_view import ChartView
from thalweg.report.section import FilterRound, Section

MOST_INTERVAL_S = 86_400.0


@dataclass(frozen=True)
class DeclaredFilters:
    """What is known of filters before they run, by name."""

    remedy: str
    """What a user can do if the time of a predicate is unknown."""
    per_row_ns: Mapping[str, float] = field(default_factory=dict)
    passes: Mapping[str, float] = field(default_factory=dict)
    rate: Estimate | None = None
    """Rows per second."""


@dataclass(frozen=True)
class FilterNumbers:
    """What the chart of filters is made from."""

    times: FilterTimes
    rate: Estimate | None
    """The present rows per second; None: unknown, or the middle of the range that the user gives."""
    passes: Mapping[str, float]
    round_s: float
    is_declared: bool
    """Whether the rate is that which was declared or given, and not that of rounds."""


def filter_numbers(
    pipeline: Pipeline, section: Section | None, declared: DeclaredFilters, ranges: Any, interval: Any
) -> FilterNumbers:
    """Return what is known of filters. `section`: what their last run counted; None if they have not run."""
    if not pipeline.movable:
        raise PlanError(
            f"chart(): the predicates {listed(pipeline.names)} have only one order; a chart needs at least two that "
            "can change places"
            if len(pipeline) > 1
            else "chart(): a chart of filters needs at least two predicates that can change places"
        )
    round_s = _seconds(interval)
    times = _times(pipeline, section, declared)
    is_given = isinstance(ranges, Mapping) and RATE in ranges
    rate = declared.rate or (None if is_given else _measured_rate(section))
    passes = {**declared.passes, **({} if section is None else _shares(section))}
    return FilterNumbers(times, rate, passes, round_s, declared.rate is not None or is_given)


def filter_chart_of(title: str, chart: PlanChart, numbers: FilterNumbers, section: Section | None) -> ChartView:
    """Return the chart of filters, which was made from these numbers, with the track of their last run."""
    passes = numbers.passes
    expected = {each.name: passes.get(each.name, (each.low + each.high) / 2) for each in chart.dimensions}
    if numbers.rate is not None:
        expected[RATE] = numbers.rate.value
    track = [] if section is None else _track(section, expected, moves=not numbers.is_declared)
    return ChartView(title, chart, expected, track, (RATE, _most_changes(chart, track[-1] if track else expected)))


def _seconds(interval: Any) -> float:
    if interval is None:
        return ROUND_S
    seconds = length_of(interval, "ns", "interval") / 1e9 if isinstance(interval, str | timedelta) else 0.0
    if not 0 < seconds <= MOST_INTERVAL_S:
        raise PlanError(
            f"chart(interval={interval!r}): must be a length of time above 0 and at most a day, such as '1 second'"
        )
    return seconds


def _times(pipeline: Pipeline, section: Section | None, declared: DeclaredFilters) -> FilterTimes:
    """Return the measured times; if there are none, the declared ones."""
    calls = CallCounts() if section is None else section.calls
    counted = {} if section is None else dict(zip(section.names, calls.cost_ns, strict=True))
    measured = {name: ns for name, ns in counted.items() if ns is not None}
    per_row = {name: measured.get(name, declared.per_row_ns.get(name)) for name in pipeline.names}
    unknown = [name for name, ns in per_row.items() if ns is None]
    if unknown:
        raise PlanError(f"chart(): the time per row of {listed(unknown)} is unknown; {declared.remedy}")
    fixed = {} if section is None else dict(zip(section.names, calls.fixed_ns, strict=True))
    return FilterTimes(
        pipeline, tuple(per_row[name] or 0.0 for name in pipeline.names),
        tuple(fixed.get(name) or 0.0 for name in pipeline.names),
    )  # fmt: skip


def _measured_rate(section: Section | None) -> Estimate | None:
    if section is None or section.kind == "stream" or not section.times.total_ns:
        return None
    return Estimate(section.rows / section.times.total_ns * 1e9, "counted", 0.0)


def _shares(section: Section) -> dict[str, float]:
    """Return the share of all rows that each predicate passes, if a chart was followed. Otherwise, return that of the
    rows that reach it: in the order in force, or else since the start."""
    latest = next((each.shares for each in reversed(section.rounds) if each.shares), ())
    if latest:
        return dict(zip(section.names, latest, strict=True))
    found = {}
    for each in section.predicates:
        if each.selectivity is not None:
            found[each.name] = each.selectivity
        elif each.evaluated:
            found[each.name] = each.passed / each.evaluated
    return found


def _track(section: Section, expected: Mapping[str, float], *, moves: bool) -> list[dict[str, float]]:
    """Return the values after each round. A predicate that no row reached has its last share. `moves`: whether the rate
    is that of the rounds, and not declared."""
    now, found = dict(expected), []
    looked_up = any(each.shares for each in section.rounds)
    for each in section.rounds:
        now |= dict(zip(section.names, each.shares, strict=False)) if looked_up else _observed(each, section.names)
        if moves and section.kind != "stream" and each.total_ns:
            now[RATE] = each.chain.rows / each.total_ns * 1e9
        found.append({name: now[name] for name in expected})
    return found


def _observed(each: FilterRound, names: tuple[str, ...]) -> dict[str, float]:
    counts = zip(names, each.chain.evaluated, each.chain.passed, strict=True)
    return {name: passed / evaluated for name, evaluated, passed in counts if evaluated}


def _most_changes(chart: PlanChart, now: Mapping[str, float]) -> str:
    """Return the predicate whose share changes the order most often, if everything else has its present value."""
    region = [each.part(now[each.name]) for each in chart.dimensions]
    changes = {}
    for n, each in enumerate(chart.dimensions):
        if each.name != RATE:
            plans = [chart.plan((*region[:n], part, *region[n + 1 :])) for part in range(each.parts)]
            changes[each.name] = sum(one != other for one, other in pairwise(plans))
    return max(changes, key=changes.__getitem__)
