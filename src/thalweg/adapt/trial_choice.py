"""Which filter is worth a trial: one slice with the filter further forward, to learn what it costs there.

A filter that stands at the rear is timed on a handful of rows, so what a row costs it is not known: the fixed cost of a
call hides it. If it may cost so little that moving it forward would gain something, it is tried. The rows of a trial
get their answer as any others do, so a trial costs only what it loses; others see no more rows than they would have.

Answers: the trial, or why there is none.
Guarantee: the candidate may be profiled and its guards come first. Its calls are expected to cost, at the most a row
may cost it, no more than the trial may save within as many rows as were seen so far, no more than may be spent now, and
all trials together no more than half of what may be spent at all. Should the data move at that very moment and let
every row get to the candidate, eight times that. Each trial of a filter is larger than its largest call so far, and
comes after as many rows as all before it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.outlook import Outlook, Walk
from thalweg.adapt.policy import Costs, Trial
from thalweg.adapt.purse import Purse

UNSURE = 1.25
"""A filter that may cost so many times less than the best guess may be worth a trial."""
LEAST_GAIN = 0.01
"""The share of the cost that a trial may save at least."""
FIRST_ROWS = 16
"""Rows of a trial of a filter that was never timed, at most."""
LARGER, LEAST_LARGER, LEAST_ROWS, MOST_ROWS = 4.0, 1.5, 64, 16_384
"""A trial has so many times the rows of the candidate's largest call, at least so many times; and rows in all."""
SLIP = 8.0
"""By so much a trial may cost more than is allowed, if every row gets to the candidate."""
TRIALS_SHARE = 0.5
"""Of what may be spent at all, for trials."""

Numbers = NDArray[np.float64]


def in_doubt(cost_ns: Numbers, costs: Costs) -> NDArray[np.bool_]:
    """The filters that may cost much less than the best guess."""
    doubt: NDArray[np.bool_] = costs.least_ns * UNSURE < cost_ns
    return doubt


def choose_trial(
    outlook: Outlook, walk: Walk, costs: Costs, purse: Purse, *, rows_seen: int, batch_rows: float,
    tried: Mapping[int, int],
) -> tuple[Trial | None, str]:  # fmt: skip
    """For the order of a walk. `tried`: the rows seen when filters were last tried. The sentence says why there is no
    trial; empty where there is one, or no filter is in doubt."""
    order = list(walk.order)
    least = costs.least_ns[order]
    unsure = np.array(outlook.pipeline.profiled)[order] & in_doubt(outlook.costs, costs)[order]
    unsure[0] = False
    if not unsure.any():
        return None, ""
    # if it costs as little as it may, the others cost less by `saved`, and it costs more than where it stands
    gains = walk.saved - least * (walk.reach[:, None] - walk.reach)
    gains[~np.isfinite(walk.gains)] = -np.inf
    gains[:, ~unsure] = -np.inf
    to, of = divmod(int(gains.argmax()), len(order))
    gain = float(gains[to, of])
    if gain < LEAST_GAIN * walk.total_ns:
        return None, ""
    k = order[of]
    name, reach = outlook.pipeline.names[k], float(walk.reach[to])
    most_ns, most_rows = float(costs.most_ns[k]), float(costs.most_rows[k])
    allowed = min(purse.available_ns, TRIALS_SHARE * purse.credit.earned_ns - purse.trials_ns, gain * rows_seen)
    if allowed <= 0.0:
        return None, f"held back by the budget: a trial of {name} may save up to {100.0 * gain / walk.total_ns:.0f} %"
    # what the candidate would save is not counted on: what it drops is not known for certain either
    each_ns = most_ns * (reach - float(walk.reach[of]))
    rows = min(max(LARGER * most_rows / max(reach, 0.01), LEAST_ROWS), MOST_ROWS, max(batch_rows, 1.0))
    rows = min(rows, allowed / max(each_ns, 1e-9), SLIP * allowed / max(most_ns, 1.0))
    if np.isinf(most_ns):  # no call has been timed: as many rows as bring it about one
        rows = min(1.0 / max(reach, 1.0 / FIRST_ROWS), batch_rows)
    if rows * reach < LEAST_LARGER * most_rows or rows_seen < 2 * tried.get(k, 0):
        return None, f"held back: measuring {name} further forward would cost more than it could show yet"
    reached = walk.reach * rows
    expected_ns = float(outlook.costs[order] @ reached - outlook.fixed[order] @ np.expm1(-reached))
    return Trial(walk.moved(to, of), max(int(rows), 1), k, expected_ns), ""
