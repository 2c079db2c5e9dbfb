"""The plans that joins begin with if nothing is known of their streams."""

from __future__ import annotations

from thalweg.optimizer.joins.estimates import join_estimates
from thalweg.optimizer.joins.start_plan import StartPlan, start_plan
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.limits import limits_of
from thalweg.stats import NOTHING_KNOWN


def start_knowing_nothing(plan: JoinPlan, settings: JoinSettings, buckets: int | None = None) -> StartPlan:
    """`buckets`: None for a join in this process."""
    return start_plan(
        join_estimates(plan, NOTHING_KNOWN), settings.wanted, limits_of(settings.max_bytes, buckets=buckets)
    )  # fmt: skip
