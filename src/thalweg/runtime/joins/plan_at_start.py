"""The plan that a join begins with, and whether it can change later."""

from __future__ import annotations

from dataclasses import replace

from thalweg.errors import warn_user
from thalweg.formatting import byte_size, listed
from thalweg.optimizer.choose_plan import PlanChoice
from thalweg.optimizer.first_plan import first_plan
from thalweg.optimizer.join_estimates import JoinEstimates
from thalweg.optimizer.search_plans import MOST_STREAMS
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape
from thalweg.plan.objective import objective_of
from thalweg.plan.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import MULTIWAY, JoinSettings

TEXT_BYTES = 24.0


def can_change(settings: JoinSettings, graph: JoinGraph) -> bool:
    """Whether the plan of a join can change while it runs. The one with the least memory does not depend on the data
    enough to pay for a change."""
    is_free = settings.plan is None and settings.policy_name != "static"
    is_free = is_free and objective_of(settings.objective).name != "least_memory"
    return is_free and 3 <= len(graph.aliases) <= MOST_STREAMS


def chosen_before_start(
    settings: JoinSettings, estimates: JoinEstimates | None, max_bytes: int
) -> PlanChoice | None:  # fmt: skip
    """Return the plan that is chosen from what is known before the start; None if the user has set it, or too little is
    known. `max_bytes`: the limit of one bucket."""
    if settings.plan is not None or estimates is None:
        return None
    objective = objective_of(settings.objective)
    choice = first_plan(estimates, objective, max_bytes=max_bytes).choice
    if choice is not None and choice.over_memory:
        warn_user(
            f"every plan of the join of {listed(estimates.graph.aliases)} is expected to need more than "
            f"{byte_size(max_bytes * estimates.buckets)}, so the one with the least memory is used: "
            f"{choice.chosen.plan}, up to {byte_size(int(choice.chosen.memory.high))}; make windows shorter or raise "
            "max_bytes="
        )
    return choice


def first_shape(settings: JoinSettings, graph: JoinGraph, choice: PlanChoice | None) -> Shape | None:
    """Return the plan that a join begins with: the user's, or else the one that was chosen. None: nothing is kept."""
    if settings.plan is not None or choice is None:
        return settings.shape(graph)
    return None if choice.chosen.plan == MULTIWAY else choice.chosen.shape


def with_columns(estimates: JoinEstimates, binding: JoinBinding) -> JoinEstimates:
    """Return the estimates of a join whose columns are known."""
    aliases = binding.plan.graph.aliases
    columns = {alias: len(binding.stored[alias].names) for alias in aliases}
    return replace(estimates, columns=columns, widths={alias: row_bytes(binding, alias) for alias in aliases})


def in_buckets(estimates: JoinEstimates, spread_by: Partitioning, buckets: int) -> JoinEstimates:
    """Return the estimates of a join whose rows are spread over buckets."""
    return replace(estimates, buckets=buckets, spread=frozenset(spread_by.columns))


def row_bytes(binding: JoinBinding, alias: str) -> float:
    """Return the bytes per row of the columns of a window. Texts and lists are assumed to have `TEXT_BYTES`."""
    total = 0.0
    for field in binding.stored[alias]:
        try:
            total += field.type.bit_width / 8
        except ValueError:  # not of fixed width
            total += TEXT_BYTES
    return total
