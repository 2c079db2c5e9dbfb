"""The best fixed order of each stream's probes, from what every probe would have said of every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.joins.ours import Orders, Stopwatch, driven, loop_of
from bench.joins.streams import JoinScenario
from thalweg.cost.pipeline import best_order
from thalweg.kernels.filter_chain import Pass
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows


class _Asked(ProbeChain):
    """Makes every probe on every row and remembers the answers."""

    dropped: list[NDArray[np.bool_]]

    def run(self, rows: ProbeRows, order: Sequence[int]) -> Pass:
        """As ever, after that."""
        everybody = np.arange(rows.num_rows)
        self.dropped.append(np.stack([~self.probe(k, rows, everybody) for k in range(len(self.others))], axis=1))
        return super().run(rows, order)


def best_orders(scenario: JoinScenario) -> Orders:
    """By stream: the order with the fewest probes, exactly, each stream behind its guards."""
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
