"""The plan that a join begins with, from what is known before any row is seen.

Answers: which sub-joins to keep, or what would have to be known to decide.
If a rate or the partners of a pair are unknown, the join begins as a multiway join, which keeps nothing, and changes
its plan when enough has been counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.errors import warn_user
from thalweg.formatting import byte_size, listed
from thalweg.optimizer.choose_plan import PlanChoice, choose_plan
from thalweg.optimizer.estimate_sources import held_rows
from thalweg.optimizer.join_estimates import JoinEstimates, Quantity, in_seconds, neighbors
from thalweg.optimizer.search_plans import MOST_STREAMS
from thalweg.plan.estimate import Estimate
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.objective import LEAST_CPU, Objective
from thalweg.plan.plan_estimates import PlanEstimates, SourceEstimates


@dataclass(frozen=True)
class FirstPlan:
    """The plan that a join begins with."""

    estimates: JoinEstimates
    choice: PlanChoice | None
    """None: something is unknown, or there is only one plan. Then nothing is kept."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """What would have to be known to choose, as text."""
        return self.estimates.unknown


def first_plan(
    estimates: JoinEstimates, objective: Objective = LEAST_CPU, *, max_bytes: float = math.inf
) -> FirstPlan:  # fmt: skip
    """Choose the plan that a join begins with. `max_bytes`: the limit of one bucket."""
    streams = len(estimates.graph.aliases)
    if streams < 3 or streams > MOST_STREAMS or estimates.unknown:
        return FirstPlan(estimates, None)
    return FirstPlan(estimates, choose_plan(estimates, objective, max_bytes=max_bytes))


def chosen_before_start(estimates: JoinEstimates, objective: Objective, max_bytes: int) -> PlanChoice | None:
    """Return the plan that a join begins with; None if too little is known. Warns if no plan is expected to fit.
    `max_bytes`: the limit of one bucket."""
    choice = first_plan(estimates, objective, max_bytes=max_bytes).choice
    if choice is not None and choice.over_memory:
        warn_user(
            f"every plan of the join of {listed(estimates.graph.aliases)} is expected to need more than "
            f"{byte_size(max_bytes * estimates.buckets)}, so the one with the least memory is used: "
            f"{choice.chosen.plan}, up to {byte_size(int(choice.chosen.memory.high))}; make windows shorter or raise "
            "max_bytes="
        )
    return choice


def estimates_of_query(plan: JoinPlan, estimates: PlanEstimates) -> JoinEstimates:
    """Return the estimates of the join of a query, from those of its sources."""
    late = max((in_seconds(length) for length in plan.lateness.values()), default=0.0)
    quantities: dict[Quantity, Estimate] = {}
    seconds: dict[str, float] = {}
    for alias in plan.graph.aliases:
        source = estimates.sources.get(alias, SourceEstimates())
        if alias in plan.times and source.rows_per_second is not None:
            rate = source.rows_per_second
            quantities["rate", alias] = rate if source.kept is None else rate * source.kept
        if alias in plan.windows:
            seconds[alias] = in_seconds(plan.windows[alias]) + late
        elif (rows := held_rows(source)) is not None:
            quantities["held", alias] = rows
    for pair in neighbors(plan.graph):
        if frozenset(pair) in estimates.shares:
            quantities["share", *pair] = estimates.shares[frozenset(pair)]
    return JoinEstimates(plan.graph, plan.streams, quantities, seconds)
