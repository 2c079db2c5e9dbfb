"""Chooses which filter is worth a trial: one slice with the filter further forward, to measure what it costs there.

A filter at the rear is timed on a handful of rows, so its cost per row is unknown: the fixed cost of a call hides it.
If it may cost so little that moving it forward would gain something, it is tried. The rows of a trial are filtered like
all others, so a trial costs only the time it loses; the other filters see no more rows than they would have.

Answers: the trial, or why there is none.
Guarantee: the candidate may be profiled, and its guards come first. At the upper bound of its cost per row, its calls
are expected to cost no more than the trial may save within as many rows as were seen so far, no more than may be spent
now, and all trials together no more than half of what may be spent in total. If the data moves at that very moment and
every row reaches the candidate, they cost at most eight times as much. Each trial of a filter is larger than its
largest call so far, and is not run until the number of rows seen has doubled since the previous one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import Costs, Trial
from thalweg.adapt.profiling_budget import ProfilingBudget
from thalweg.cost.filter_order import CostModel, OrderCosts
from thalweg.formatting import whole_percent

UNSURE = 1.25
"""A filter may be worth a trial if it may cost this many times less than estimated."""
LEAST_GAIN = 0.01
"""The least share of the cost that a trial must be able to save."""
FIRST_ROWS = 16
"""The maximum number of rows in a trial of a filter that was never timed."""
LARGER, LEAST_LARGER, LEAST_ROWS, MOST_ROWS = 4.0, 1.5, 64, 16_384
"""A trial has this many times the rows of the candidate's largest call, at least this many times; its least and most
rows."""
SLIP = 8.0
"""How many times the allowed cost a trial may cost if every row reaches the candidate."""
TRIALS_SHARE = 0.5
"""The share of the total budget that trials may spend."""

Numbers = NDArray[np.float64]


def in_doubt(cost_ns: Numbers, costs: Costs) -> NDArray[np.bool_]:
    """Return which filters may cost much less than estimated."""
    doubt: NDArray[np.bool_] = costs.least_ns * UNSURE < cost_ns
    return doubt


def choose_trial(
    cost_model: CostModel, walk: OrderCosts, costs: Costs, profiling_budget: ProfilingBudget, *, rows_seen: int,
    batch_rows: float, tried: Mapping[int, int],
) -> tuple[Trial | None, str]:  # fmt: skip
    """Return a trial for the order of a walk, or None and a sentence that says why there is none. The sentence is empty
    if there is a trial, or if no trial would be worth it. `tried`: the rows seen when filters were last tried."""
    order = list(walk.order)
    least = costs.least_ns[order]
    unsure = np.array(cost_model.pipeline.profiled)[order] & in_doubt(cost_model.costs, costs)[order]
    unsure[0] = False
    if not unsure.any():
        return None, ""
    # at the lower bound of its cost, the others cost less by `saved`, and it costs more than at its current position
    gains = walk.saved - least * (walk.reach[:, None] - walk.reach)
    gains[~np.isfinite(walk.gains)] = -np.inf
    gains[:, ~unsure] = -np.inf
    to, of = divmod(int(gains.argmax()), len(order))
    gain = float(gains[to, of])
    if gain < LEAST_GAIN * walk.total_ns:
        return None, ""
    k = order[of]
    name, reach = cost_model.pipeline.names[k], float(walk.reach[to])
    most_ns, most_rows = float(costs.most_ns[k]), float(costs.most_rows[k])
    allowed = min(
        profiling_budget.available_ns,
        TRIALS_SHARE * profiling_budget.credit.earned_ns - profiling_budget.trials_ns,
        gain * rows_seen,
    )
    if allowed <= 0.0:
        return None, f"held back by the budget: a trial of {name} may save up to {whole_percent(gain / walk.total_ns)}"
    # what the candidate would save is not counted, because what it drops is not known for certain either
    each_ns = most_ns * (reach - float(walk.reach[of]))
    rows = min(max(LARGER * most_rows / max(reach, 0.01), LEAST_ROWS), MOST_ROWS, max(batch_rows, 1.0))
    rows = min(rows, allowed / max(each_ns, 1e-9), SLIP * allowed / max(most_ns, 1.0))
    if np.isinf(most_ns):  # no call has been timed: as many rows as are needed for about one to reach it
        rows = min(1.0 / max(reach, 1.0 / FIRST_ROWS), batch_rows)
    if rows * reach < LEAST_LARGER * most_rows or rows_seen < 2 * tried.get(k, 0):
        return None, f"held back: measuring {name} at an earlier position would still cost more than it could show"
    reached = walk.reach * rows
    expected_ns = float(cost_model.costs[order] @ reached - cost_model.fixed[order] @ np.expm1(-reached))
    return Trial(walk.moved(to, of), max(int(rows), 1), k, expected_ns), ""
