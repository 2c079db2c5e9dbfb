"""Simulated pipelines: sources with declared arrivals and operators with declared costs, under a virtual clock.

>>> import pyarrow as pa
>>> from thalweg.simulation import Costs, MultiwayJoin, Source, poisson, simulate
>>> clicks, buys = (Source(pa.table({"k": [n % 3 for n in range(50)]}), poisson(10), stamp="ts") for _ in range(2))
>>> costs = Costs(move="1 ms", probe="2 ms")
>>> join = MultiwayJoin("join", "clicks.k = buys.k", window="1 second", time="ts", costs=costs)
>>> trace = simulate({"clicks": clicks, "buys": buys}, join, seed=7)
>>> trace.final["join"].arrived, trace.count() == trace.rows().num_rows
(100, True)
"""

from thalweg.cost.operator_costs import Costs
from thalweg.runtime.clock import Clock, VirtualClock, WallClock
from thalweg.runtime.local.operator import Operator
from thalweg.simulation.arrivals import Arrivals, poisson, regular, replayed, scripted
from thalweg.simulation.multiway import MultiwayJoin
from thalweg.simulation.selection import Selection
from thalweg.simulation.simulation import simulate
from thalweg.simulation.source import Source
from thalweg.simulation.trace import Sample, Trace
from thalweg.simulation.tree import tree_join

__all__ = [
    "Arrivals", "Clock", "Costs", "MultiwayJoin", "Operator", "Sample", "Selection", "Source", "Trace", "VirtualClock",
    "WallClock", "poisson", "regular", "replayed", "scripted", "simulate", "tree_join",
]  # fmt: skip
