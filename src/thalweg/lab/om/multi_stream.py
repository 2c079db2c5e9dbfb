"""Q2 (OM, table 2): a join of TCP, UDP and SF by host, with three left-deep plans."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from thalweg.lab.om.packet_streams import Stream
from thalweg.lab.om.rounds import Query, Values
from thalweg.lab.om.single_stream import utility_of
from thalweg.lab.om.utility import PlanCost, left_deep_cost
from thalweg.plan.joins.shape import Shape, streams_of

JOIN_TPR = 3e3
"""Rows per second that an equality join can process (section 5.1)."""
WINDOW = 1.0
STREAMS = ("tcp", "udp", "sf")
PLANS: tuple[Shape, ...] = ((("tcp", "udp"), "sf"), (("tcp", "sf"), "udp"), (("udp", "sf"), "tcp"))
JOINED = tuple(" ".join(names) for size in (2, 3) for names in combinations(STREAMS, size))
"""The names of selectivities: of each two streams, and of all."""
SIDES: tuple[str, str, str] = ("src", "dst", "dst")
"""The columns by which Q2 joins: TCP.src_host, UDP.dest_host and SF.dest_host."""


def plan_cost(plan: Shape, values: Values) -> PlanCost:
    """Return the rate and memory of a plan at three rates, and at the selectivities of each two streams and of all."""
    order = streams_of(plan)
    pair = values[" ".join(name for name in STREAMS if name in order[:2])]
    then = min(values[JOINED[-1]] / pair, 1.0) if pair else 0.0
    return left_deep_cost([values[name] for name in order], [pair, then], WINDOW, JOIN_TPR)


def cost(plan: Shape, values: Values) -> float:
    """Return the utility of a plan at these values."""
    return utility_of(plan_cost(plan, values))


def multi_stream() -> Query:
    """Return the query with its three left-deep plans."""
    return Query(PLANS, cost, STREAMS, JOINED)


def observed(streams: Mapping[str, Stream], sides: tuple[str, str, str] = SIDES) -> list[Values]:
    """Return the rates and selectivities of each second, of the rows that arrive in it. Where a stream has no rows, the
    selectivities are those of the second before."""
    columns = dict(zip(STREAMS, sides, strict=True))
    most = 1 + max(int(streams[name].columns[side].max()) for name, side in columns.items())
    hosts = {name: streams[name].hosts(side, most) for name, side in columns.items()}
    matches = {joined: _product([hosts[name] for name in joined.split()]).sum(axis=1) for joined in JOINED}
    found: list[Values] = []
    last = dict.fromkeys(JOINED, 0.0)
    for second in range(len(streams[STREAMS[0]].counts)):
        rates = {name: float(streams[name].counts[second]) for name in STREAMS}
        for joined in JOINED:
            combined = float(np.prod([rates[name] for name in joined.split()]))
            if combined:
                last[joined] = float(matches[joined][second]) / combined
        found.append({**rates, **last})
    return found


def _product(counts: list[np.ndarray]) -> np.ndarray:
    product = counts[0]
    for other in counts[1:]:
        product = product * other
    return product
