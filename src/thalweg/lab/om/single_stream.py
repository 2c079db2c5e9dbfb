"""Q1 (OM, table 2): a selection and a projection of TCP, in either order, counted in rows or in bytes."""

from __future__ import annotations

from functools import partial

from thalweg.lab.om.packet_streams import Stream
from thalweg.lab.om.rounds import Query, Values
from thalweg.lab.om.utility import MEMORY_WEIGHT, PlanCost, Unary, chain_cost, utility
from thalweg.plan.joins.shape import Shape

SELECTION_TPR, PROJECTION_TPR = 400e3, 500e3
"""Rows per second that a selection by equality and a projection can process (section 5.1)."""
WINDOW = 1.0
COLUMNS, WIDTH = 6, 8.0
"""The columns of DEC-PKT's TCP (time, two hosts, two ports, bytes of data), and the bytes of one."""
PROJECTED = 2
SELECT_FIRST: Shape = ("select", "project")
PROJECT_FIRST: Shape = ("project", "select")
NAMES = {SELECT_FIRST: "σ → π", PROJECT_FIRST: "π → σ"}


def utility_of(cost: PlanCost) -> float:
    """Return OM's utility; without output, only its memory term."""
    return utility(cost) if cost.rate else MEMORY_WEIGHT * cost.memory


def cost(plan: Shape, values: Values, projected: int | None = PROJECTED) -> float:
    """Return the cost of a plan at a selectivity and a rate. `projected`: the number of columns that the projection
    keeps; None to count rows instead of bytes."""
    in_bytes = projected is not None
    operators = {
        "select": Unary(values["sel"], SELECTION_TPR),
        "project": Unary(1.0, PROJECTION_TPR, projected * WIDTH if projected is not None else None),
    }
    order = [operators[str(name)] for name in plan]
    return utility_of(chain_cost(values["rate"], order, WINDOW, COLUMNS * WIDTH if in_bytes else 1.0))


def single_stream(projected: int | None = PROJECTED) -> Query:
    """Return the query; see `cost`."""
    return Query((SELECT_FIRST, PROJECT_FIRST), partial(cost, projected=projected), ("sel", "rate"))


def observed(tcp: Stream, selects: str = "to_gateway") -> list[Values]:
    """Return the selectivity and the rate of each second."""
    shares = tcp.share(selects)
    return [{"sel": float(s), "rate": float(n)} for s, n in zip(shares, tcp.counts, strict=True)]


def boundary(rate: float, query: Query) -> float:
    """Return the selectivity from which another plan is the best at a rate; 1 if there is none."""
    low, high = 0.0, 1.0
    first = query.best({"sel": low, "rate": rate})
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if query.best({"sel": middle, "rate": rate}) == first else (low, middle)
    return high
