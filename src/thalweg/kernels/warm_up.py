"""Load the compiled loops of joins before anything is timed.

Numba compiles a function at its first call, or loads what it compiled in another process: some tenths of a second, that
no probe and no budget should be charged with.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from thalweg.kernels.multiway_join import Told, put_together
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.join_graph import JoinGraph


@cache
def warm_up() -> None:
    """Once a process: a join of three rows, along a path, so that every loop runs."""
    graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
    tree = graph.tree("a")
    word, batch = np.zeros(1, np.int64), pa.record_batch({"x": [0]})
    stores = {alias: WindowStore(batch.schema, graph.keys_of(alias), window=0) for alias in graph.aliases}
    for alias, store in stores.items():
        store.insert(batch, dict.fromkeys(graph.keys_of(alias), word), word)
    rows = ProbeRows(dict.fromkeys(graph.keys_of("a"), word), word, word, np.full((2, 1), -1, np.int64))
    chain = ProbeChain(tree, stores, lambda: 0)
    found = [bool(chain.probe(k, rows, np.arange(1))[0]) for k in range(2)]
    made = list(put_together(tree, stores, rows, np.arange(1), tree.others, most=1, told=Told(), results=1))
    assert found == [True, True]
    assert len(made) == 1
    stores["b"].expire(1)
