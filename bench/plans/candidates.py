"""The plans that are measured, and what the search predicts for them.

`predicted` is the only place that asks the search. Without an answer of it, plans are measured all the same: what runs
by default is compared with the best of them, and no prediction is scored.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import thalweg as tw
from bench.plans.shapes import MULTIWAY, all_shapes, plan_of, same_plan
from bench.plans.streams import JoinRows
from bench.plans.trial import MOST_BYTES, join_of
from thalweg.adaptive_joins import Join
from thalweg.optimizer.joins.start_plan import start_plan
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.wanted_plan import WantedPlan
from thalweg.runtime.joins.join_binding import JoinBinding

MOST = 20
"""If a join has more plans, this many that are predicted to be best are measured, and `RANDOM` others."""
RANDOM = 10


@dataclass(frozen=True)
class Prediction:
    """What the search predicts for a plan."""

    plan: str
    cpu: float
    """CPU seconds per second of stream time."""
    nbytes: float
    band: tuple[float, float] | None = None
    """The 90 % interval of `cpu`; None if there is none."""


def predicted(joined: JoinRows, join: Join) -> list[Prediction]:
    """Return the predictions from which a join chooses its plan, the best plan first; none if nothing is known of the
    streams. As when it runs, its columns are known, and how many rows batches have is not."""
    schemas = {alias: batches[0].schema for alias, batches in joined.batches.items()}
    estimates = join._estimates.with_columns(JoinBinding.of(join._plan, schemas).widths)
    choice = start_plan(estimates, WantedPlan(), Limits(MOST_BYTES)).choice
    found = () if choice is None else choice.candidates
    return [Prediction(each.plan, each.cpu, each.bytes, (each.load.low, each.load.high)) for each in found]


def takes_statistics() -> bool:
    """Return whether `tw.join` takes statistics."""
    return "statistics" in inspect.signature(tw.join).parameters


def with_statistics(joined: JoinRows, statistics: dict[str, Any] | None) -> Join:
    """Return the join without a plan, so that the search chooses one from these statistics."""
    if statistics is None or not takes_statistics():
        return join_of(joined)
    return join_of(joined, statistics=statistics)


def all_plans(joined: JoinRows) -> list[str]:
    """Return every plan of a join as `plan=` takes it, the multiway join first."""
    graph = JoinPlan.of(joined.drawn.on, joined.windows, "ts", "0 seconds").graph
    return [plan_of(shape) for shape in all_shapes(graph)]


def measured_plans(plans: Sequence[str], predictions: Sequence[Prediction], rng: np.random.Generator) -> list[str]:
    """Return the plans to measure: all, or the best predicted and some at random; the multiway join is one of them."""
    if len(plans) <= MOST:
        return list(plans)
    rank = {same_plan(each.plan): n for n, each in enumerate(predictions)}
    known = sorted((plan for plan in plans if same_plan(plan) in rank), key=lambda plan: rank[same_plan(plan)])
    best = known[:MOST]
    others = [plan for plan in plans if plan not in best and plan != MULTIWAY]
    count = min(RANDOM if best else MOST + RANDOM - 1, len(others))
    drawn = {others[int(k)] for k in rng.choice(len(others), count, replace=False)}
    return [plan for plan in plans if plan == MULTIWAY or plan in best or plan in drawn]
