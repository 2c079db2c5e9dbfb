"""The best fixed order of each stream's probes, computed from the outcome of every probe for every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.joins.ours import Orders, Stopwatch, driven, loop_of
from bench.joins.streams import JoinScenario
from thalweg.cost.pipeline import best_order
from thalweg.kernels.filter_chain import SliceResult
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows


class _Asked(ProbeChain):
    """A chain that makes every probe on every row and records the outcomes."""

    dropped: list[NDArray[np.bool_]]

    def run(self, rows: ProbeRows, order: Sequence[int]) -> SliceResult:
        """Record every probe, then run as usual."""
        everybody = np.arange(rows.num_rows)
        self.dropped.append(np.stack([~self.probe(k, rows, everybody) for k in range(len(self.others))], axis=1))
        return super().run(rows, order)


def best_orders(scenario: JoinScenario) -> Orders:
    """Return for each stream the order with the fewest probes, computed exactly, with each stream after its guards."""
    loop = loop_of(scenario)
    for chain in loop.chains.values():
        chain.__class__ = _Asked
        assert isinstance(chain, _Asked)
        chain.dropped = []
    for _ in driven(loop, scenario, Stopwatch()):
        pass
    return {
        alias: best_order(np.concatenate(chain.dropped), [1.0] * len(chain.others), pipeline=chain.pipeline)[0]
        for alias, chain in loop.chains.items()
        if isinstance(chain, _Asked)
    }
