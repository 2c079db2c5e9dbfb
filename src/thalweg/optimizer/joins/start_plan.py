"""The plan that a join begins with, from what is known before any row is seen.

Answers: which sub-joins are kept at first, which plans were compared, or what would have to be known to compare them.
If a rate or the partners of a pair are unknown, the join begins as a multiway join, which keeps nothing, and changes
its plan when enough has been counted.
Guarantee: it follows from its arguments alone. All runtimes are given it, and `explain` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thalweg.cost.plan_chart import PARTS, PlanChart
from thalweg.errors import PlanError, warn_user
from thalweg.formatting import byte_size, listed
from thalweg.optimizer.charts.plan_chart import make_chart
from thalweg.optimizer.joins.choose_plan import choose_plan
from thalweg.optimizer.joins.estimates import JoinEstimates
from thalweg.optimizer.joins.plan_choice import PlanChoice
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.joins.shape import MOST_STREAMS, Shape
from thalweg.plan.joins.wanted_plan import WantedPlan
from thalweg.plan.objective import LEAST_CPU
from thalweg.plan.query.nodes import Kept, WindowJoin


@dataclass(frozen=True)
class StartPlan(Kept):
    """The plan that a join begins with, and what it was chosen from."""

    estimates: JoinEstimates
    """What is known of the join, with the widths of its columns as far as they are known, and its buckets."""
    wanted: WantedPlan
    limits: Limits
    choice: PlanChoice | None = None
    """The plans that were compared. None: the user has set the plan, something is unknown, or there is only one
    plan."""

    @property
    def shares(self) -> Mapping[tuple[str, str], float] | None:
        """The expected share of pairs of rows that join, by pair; None: no plans were compared."""
        return None if self.choice is None else self.choice.shares

    @property
    def may_change(self) -> bool:
        """Whether the plan can change while the join runs. The one with the least memory does not depend on the data
        enough to pay for a change."""
        is_free = self.wanted.text is None and self.wanted.adapts and self.wanted.objective.name != "least_memory"
        return is_free and _has_several_plans(self.estimates)

    def chart(self) -> PlanChart | None:
        """Return the chart that the join follows; None if it follows none, or if too little is known to make it."""
        if self.wanted.chart_parts is None or not self.may_change or self.estimates.unknown:
            return None
        limit = self.limits.memory
        return make_chart(self.estimates, self.wanted.objective, self.wanted.chart_parts, max_bytes=limit)

    def asked_chart(self, k: int | None, ranges: Any) -> PlanChart:
        """Return the chart that a user asks for. `k`: None for that of the settings."""
        estimates = self.estimates
        if not _has_several_plans(estimates):
            raise PlanError(
                f"chart(): the join of {listed(estimates.graph.aliases)} has one plan, because plans are compared for "
                f"3 to {MOST_STREAMS} streams"
            )
        if len(estimates.streams) < 2:
            raise PlanError(
                f"chart(): a chart shows the rates of two streams, and this join has only {listed(estimates.streams)}, "
                "because the others are tables; use explain(), which compares the plans"
            )
        parts = k if k is not None else self.wanted.chart_parts or PARTS
        return make_chart(estimates, self.wanted.objective, parts, ranges=ranges, max_bytes=self.limits.memory)

    @property
    def rates(self) -> Mapping[str, float]:
        """The expected rows per second of each stream; all must be known."""
        return {alias: self.estimates.quantities["rate", alias].value for alias in self.estimates.streams}

    def spread(self, by: Partitioning, buckets: int) -> StartPlan:
        """Return the plan for rows that are spread over these buckets: the same one if that was expected."""
        estimates, limits = self.estimates.in_buckets(by, buckets), replace(self.limits, buckets=buckets)
        if limits == self.limits and estimates.spread == self.estimates.spread:
            return self
        return start_plan(estimates, self.wanted, limits)

    def without_others(self) -> StartPlan:
        """Return the plan without those that were compared with it, which workers do not need."""
        if self.choice is None:
            return self
        return replace(self, choice=replace(self.choice, candidates=self.choice.candidates[:1]))

    def warn_of_memory(self) -> None:
        """Warn if every plan is expected to need too much memory."""
        if self.choice is None or not self.choice.over_memory:
            return
        chosen = self.choice.chosen
        warn_user(
            f"every plan of the join of {listed(self.estimates.graph.aliases)} is expected to need more than "
            f"{byte_size(self.limits.all_memory)}, so the one with the least memory is used: "
            f"{chosen.plan}, up to {byte_size(int(chosen.memory.high))}; make windows shorter or raise "
            "max_bytes="
        )


def start_plan(estimates: JoinEstimates, wanted: WantedPlan, limits: Limits) -> StartPlan:
    """Return the plan that a join begins with. `estimates`: those of all buckets together, which know the buckets."""
    graph = estimates.graph
    if wanted.text is not None:
        return StartPlan(wanted.shape(graph), "as plan= sets it", estimates, wanted, limits)
    if not _has_several_plans(estimates) or estimates.unknown:
        return StartPlan(None, _why_nothing(estimates), estimates, wanted, limits)
    choice = choose_plan(estimates, wanted.objective, max_bytes=limits.memory)
    chosen = choice.chosen.shape
    shape: Shape | None = None if all(isinstance(part, str) for part in chosen) else chosen
    return StartPlan(shape, _why(choice), estimates, wanted, limits, choice)


def start_of(join: WindowJoin) -> StartPlan:
    """Return the plan that a join of a query begins with, which the rule `choose_kept` has chosen."""
    assert isinstance(join.kept, StartPlan), "the plan was made without limits, so it cannot run"
    return join.kept


def _has_several_plans(estimates: JoinEstimates) -> bool:
    return 3 <= len(estimates.graph.aliases) <= MOST_STREAMS


def _why_nothing(estimates: JoinEstimates) -> str:
    streams = len(estimates.graph.aliases)
    if streams < 3:
        return "two sources have no sub-join"
    if streams > MOST_STREAMS:
        return f"plans are compared for up to {MOST_STREAMS} streams"
    return f"unknown: {listed(estimates.unknown)}"


def _why(choice: PlanChoice) -> str:
    wanted = "least CPU time" if choice.objective == LEAST_CPU else repr(choice.objective)
    best_at = "least memory, because none is expected to stay within max_bytes" if choice.over_memory else wanted
    return f"the best of {len(choice.candidates)} plans, from {choice.origin} numbers: {best_at}"
