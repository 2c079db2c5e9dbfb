"""The chart of the conditions of a query of one stream: at which rates and pass shares which order is the best.

Times per row are those that the last run of the query measured; before the first run, the declared ones of functions
(`s.function(cost=)`). The rate is the declared one of the stream, or else the one of the micro-batches of a Spark
stream. Conditions that Spark evaluates itself are before all others, so the rate is that of the rows that they keep.
"""

from __future__ import annotations

from typing import Any

from thalweg.adapt.chart import ChartSettings
from thalweg.errors import PlanError
from thalweg.optimizer.charts.filter_chart import make_filter_chart
from thalweg.optimizer.rules.estimate_sources import share_kept
from thalweg.optimizer.rules.order_filters import cost_us
from thalweg.plan.estimate import Estimate
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.objective import objective_of
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.report import Report
from thalweg.report.chart_view import ChartView
from thalweg.report.filter_chart_view import DeclaredFilters, filter_chart_of, filter_numbers
from thalweg.report.section import Section
from thalweg.session.adaptive_parts import QueryReport
from thalweg.session.conditions import names_of
from thalweg.session.query_run import QuerySettings
from thalweg.stats import Knowledge, RowsPerSecond
from thalweg.stats.batch_time import BatchTimes

REMEDY = "run the query first, or declare it with s.function(..., cost=...)"


def chart_of_conditions(
    plan: QueryPlan, known: Knowledge, report: QueryReport, batches: BatchTimes | None, title: str,
    settings: QuerySettings, k: int | None, ranges: Any, interval: Any,
) -> ChartView:  # fmt: skip
    """Return the chart of the conditions that one adaptive chain evaluates."""
    scan = plan.scans[0]
    relation = scan.source.relation.name
    named = list(zip(names_of(scan.conditions), scan.conditions, strict=True))
    chain = [(name, condition) for name, condition in named if condition.where != "jvm"]
    if len(chain) < 2:
        raise PlanError(
            "chart(): this query has no join of streams with windows, and fewer than two conditions that an adaptive "
            "chain evaluates, so it has only one plan"
        )
    costs = {name: cost_us(condition, known) for name, condition in chain}
    rate = known.about(RowsPerSecond(relation))
    if rate is None and batches is not None and batches.rate is not None:
        rate = Estimate(batches.rate, "counted", 0.0)
    for _, condition in named:
        if condition.where == "jvm" and rate is not None:
            rate = rate * share_kept(condition, known, relation)
    declared = DeclaredFilters(
        REMEDY,
        {name: cost.value * 1e3 for name, cost in costs.items() if cost is not None},
        {name: share_kept(condition, known, relation).value for name, condition in chain},
        rate,
    )
    pipeline = Pipeline(tuple(name for name, _ in chain))
    if k is None and isinstance(settings.join.profile, ChartSettings):
        k = settings.join.profile.parts
    section = _last_run(report, pipeline)
    numbers = filter_numbers(pipeline, section, declared, ranges, interval)
    made = make_filter_chart(
        numbers.times, numbers.rate, numbers.passes, k, ranges=ranges, objective=objective_of(settings.join.objective),
        round_s=numbers.round_s,
    )  # fmt: skip
    return filter_chart_of(title, made, numbers, section)


def _last_run(report: QueryReport, pipeline: Pipeline) -> Section | None:
    """Return what the last run of the chain counted; None if it has not run."""
    for _, part in report.parts:
        for section in reversed(part.sections if isinstance(part, Report) else ()):
            if section.order and sorted(section.names) == sorted(pipeline.names):
                return section
    return None
