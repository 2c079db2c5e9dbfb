"""OM's utility of a plan, and the output rate and memory of plans with which it is computed (OM, sections 3.2 and 4.1).

Answers
- `utility`: the cost of a plan, w_r / C_r + w_m C_m. The plan with the least is the best.
- `chain_cost`: C_r and C_m of selections and projections in a row, in rows or in bytes.
- `left_deep_cost`: C_r and C_m of a left-deep tree of window joins.
Guarantee: the formulas as printed. They have no limit on what an operator can process, so a rate may be higher than any
machine's. That of a join is the one at which it would have results if it never waited for input, so plans with the same
results have different rates, and the one with fewer rows between its joins may have the longer queue after the last.
Cost: a few operations per operator.
Differs from the paper: it counts memory in rows. With widths, `chain_cost` counts bytes: in rows, a projection costs
memory and saves none, so selections always come first. "The input arrival rate of an operator" is the mean of its
inputs' rates, as section 3 defines it, also for the input buffer of a join.

The weights are applied to a time and to a number of rows, so what they mean depends on both. For plans that a user runs
there is `objective.balance`, which compares each with the best plan's.

>>> first, second = Unary(0.5, 500.0), Unary(0.1, 50.0)
>>> chain_cost(500.0, (first, second), window=1.0)
PlanCost(rate=25.0, memory=2025.0)
>>> chain_cost(500.0, (second, first), window=1.0)
PlanCost(rate=25.0, memory=5080.0)
>>> round(utility(PlanCost(5.0, 775.0), rate_weight=0.1, memory_weight=0.9), 2)  # section 3.2
697.52

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams. Sections
3.2 and 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from thalweg.errors import PlanError

RATE_WEIGHT, MEMORY_WEIGHT = 0.4, 0.6
"""The paper's weights, w_r and w_m (section 5.1)."""


class PlanCost(NamedTuple):
    """The two costs of a plan."""

    rate: float
    """C_r, the output rate of the last operator."""
    memory: float
    """C_m, the sum over all operators, in rows or bytes."""


class Unary(NamedTuple):
    """A selection, or a projection, which has a selectivity of 1."""

    selectivity: float
    rows_per_time_unit: float
    """The rows that it can process per time unit, the paper's tpr."""
    width: float | None = None
    """The bytes of a row that a projection returns; None if rows stay as they are."""


def utility(cost: PlanCost, rate_weight: float = RATE_WEIGHT, memory_weight: float = MEMORY_WEIGHT) -> float:
    """Return the cost of a plan: w_r / C_r + w_m C_m.

    Parameters
    ----------
    cost
        The output rate and the memory of the plan.
    rate_weight, memory_weight
        The weights, at least 0 and not both 0.

    Returns
    -------
    float
        Infinite if the plan has no output and the rate has a weight.

    Raises
    ------
    PlanError
        If a weight is negative or not a number, or if both are 0.

    Examples
    --------
    >>> utility(PlanCost(rate=2.5, memory=575.0), rate_weight=20000, memory_weight=2)
    9150.0
    """
    for name, weight in (("rate_weight", rate_weight), ("memory_weight", memory_weight)):
        if not 0 <= weight < math.inf:
            raise PlanError(f"utility({name}={weight!r}): a weight must be a number of at least 0, such as 0.5")
    if not rate_weight and not memory_weight:
        raise PlanError("utility(rate_weight=0, memory_weight=0): one of the weights must be above 0")
    if not rate_weight:
        return memory_weight * cost.memory
    return rate_weight / cost.rate + memory_weight * cost.memory if cost.rate else math.inf


def selection_rate(rate: float, selectivity: float) -> float:
    """Return the output rate of a selection: sel * rate.

    Parameters
    ----------
    rate
        The arrivals per time unit.
    selectivity
        The share of rows that it keeps; 1 for a projection.

    Returns
    -------
    float

    Examples
    --------
    >>> selection_rate(500.0, 0.5)
    250.0
    """
    return selectivity * rate


def input_rows(rate: float, window: float, rows_per_time_unit: float) -> float:
    """Return the rows that arrive while an operator processes a window: c_inp = rate * (rate * window / tpr).

    >>> input_rows(rate=100.0, window=5.0, rows_per_time_unit=1000.0)  # 500 rows take half a time unit
    50.0
    """
    return rate * (rate * window / rows_per_time_unit)


def queued_rows(output_rate: float, window: float) -> float:
    """Return the rows in the queue after an operator: c_int = output rate * window."""
    return output_rate * window


def join_rate(left: float, right: float, selectivity: float, window: float, costs: tuple[float, float]) -> float:
    """Return the output rate of a window join: sel * left * right * window / (C_L * left + C_R * right)."""
    return selectivity * left * right * window / (costs[0] * left + costs[1] * right)


def chain_cost(rate: float, operators: Sequence[Unary], window: float, width: float = 1.0) -> PlanCost:
    """Return the costs of selections and projections in a row.

    Parameters
    ----------
    rate
        The arrivals per time unit of the stream.
    operators
        The operators, the one that reads the stream first.
    window
        The length of the window.
    width
        The bytes of an arriving row. With 1 and operators without widths, memory is counted in rows.

    Returns
    -------
    PlanCost

    Examples
    --------
    >>> keep_a_tenth, two_columns = Unary(0.1, 400e3), Unary(1.0, 500e3, width=16.0)
    >>> round(chain_cost(500.0, (keep_a_tenth, two_columns), 1.0, width=48.0).memory)
    3230
    >>> round(chain_cost(500.0, (two_columns, keep_a_tenth), 1.0, width=48.0).memory)
    8834
    """
    memory = 0.0
    for operator in operators:
        memory += width * input_rows(rate, window, operator.rows_per_time_unit)
        rate = selection_rate(rate, operator.selectivity)
        width = width if operator.width is None else operator.width
        memory += width * queued_rows(rate, window)
    return PlanCost(rate, memory)


def left_deep_cost(
    rates: Sequence[float], selectivities: Sequence[float], window: float, rows_per_time_unit: float
) -> PlanCost:
    """Return the costs of a left-deep tree of window joins, in rows.

    Parameters
    ----------
    rates
        The arrivals per time unit of the streams, in the order in which they are joined.
    selectivities
        For each join, the share of the combinations of its two inputs that match. One less than `rates`.
    window
        The length of the window.
    rows_per_time_unit
        The rows that a join can process per time unit, whichever input they come from.

    Returns
    -------
    PlanCost

    Examples
    --------
    >>> cost = left_deep_cost([100.0, 200.0, 300.0], [0.01, 0.001], window=1.0, rows_per_time_unit=3000.0)
    >>> round(cost.rate, 1), round(cost.memory, 1)  # the first join has 2,000 rows per second
    (782.6, 3230.9)
    """
    cost = 1.0 / rows_per_time_unit
    left, memory = rates[0], 0.0
    for right, selectivity in zip(rates[1:], selectivities, strict=True):
        memory += input_rows((left + right) / 2, window, rows_per_time_unit)
        left = join_rate(left, right, selectivity, window, (cost, cost)) if left and right else 0.0
        memory += queued_rows(left, window)
    return PlanCost(left, memory)
