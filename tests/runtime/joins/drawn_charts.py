"""Charts whose plans are drawn, and joins that change their plan whenever the chart has another one."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

from thalweg.cost.join_numbers import JoinNumbers
from thalweg.optimizer.charts import plan_chart
from thalweg.optimizer.joins.estimates import JoinEstimates
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, plan_text
from thalweg.runtime.joins import join_counts, plan_watch
from thalweg.runtime.joins.plan_watch import PlanChange, PlanWatch
from thalweg.runtime.local import joins as local_joins


@contextlib.contextmanager
def replaced(owner: Any, **values: Any) -> Iterator[None]:
    """Set attributes, and set them back at the end; without pytest, so that workers of Spark can do it."""
    before = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextlib.contextmanager
def drawn_charts(seed: int | str) -> Iterator[None]:
    """The plan of each region of a chart is drawn, whether it is made before the start or while the join runs. It is
    the same wherever it is drawn."""

    def drawn(graph: JoinGraph, rates: Mapping[str, Any]) -> Shape:
        at = [(alias, float(rate)) for alias, rate in sorted(rates.items())]
        return random.Random(f"{seed} {at}").choice(list(all_plans(graph)))

    def before_start(estimates: JoinEstimates, rates: Mapping[str, float], *_: Any, **named: Any) -> Shape:
        return drawn(estimates.graph, rates)

    def while_it_runs(self: PlanWatch, numbers: JoinNumbers) -> Shape:
        return drawn(self.graph, numbers.rates)

    one_by_one = replaced(plan_chart, best_plan=before_start, EAGER_CELLS=0)
    with one_by_one, replaced(PlanWatch, _best=while_it_runs):
        yield


@contextlib.contextmanager
def always_changed() -> Iterator[list[str]]:
    """Joins take every plan that the chart has, however few rows there are and whether or not it pays. In this process
    each batch is a round. Yields the changes."""
    changes: list[str] = []

    def choose(self: PlanWatch, loop: Any, numbers: Any, best: Shape) -> None:
        before, after = plan_text(loop.shape), plan_text(best)
        if after != before and after not in self._refused:
            self.shape, self.change = best, PlanChange(before, after, "it was drawn")
            changes.append(f"{before} -> {after}")

    with (
        replaced(PlanWatch, _choose=choose), replaced(plan_watch, LEAST_ROWS=1, ROUND_ROWS=1, LOAN_NS=10**15),
        replaced(join_counts, LEAST_JOINED=1), replaced(local_joins, REPORT_EVERY_ROWS=1),
    ):  # fmt: skip
        yield changes
