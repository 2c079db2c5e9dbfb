"""The best fixed order of each stream's probes, computed from the outcome of every probe for every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.joins.loops import Orders, driven, loop_of
from bench.joins.ours import Stopwatch
from bench.joins.streams import JoinScenario
from thalweg.cost.pipeline import best_order
from thalweg.kernels.filter_chain import SliceResult
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.plan.filters.pipeline import Pipeline


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
    return {
        alias: best_order(dropped, [1.0] * dropped.shape[1], pipeline=pipeline)[0]
        for alias, (dropped, pipeline) in outcomes(scenario).items()
    }


def outcomes(scenario: JoinScenario) -> dict[str, tuple[NDArray[np.bool_], Pipeline]]:
    """Return for each stream which probes drop which of its rows, in the order of the rows, and the guards."""
    loop = loop_of(scenario)
    for chain in loop.chains.values():
        chain.__class__ = _Asked
        assert isinstance(chain, _Asked)
        chain.dropped = []
    for _ in driven(loop, scenario, Stopwatch()):
        pass
    return {
        alias: (np.concatenate(chain.dropped), chain.pipeline)
        for alias, chain in loop.chains.items()
        if isinstance(chain, _Asked)
    }
