"""Load the compiled loops of joins before anything is timed.

Numba compiles a function at its first call, or loads what it compiled in another process. This takes some tenths of a
second, which should not be charged to a probe or a budget. After an installation there is nothing to load, and it takes
up to a minute; `python -m thalweg.kernels.warm_up` does it in advance.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from thalweg.kernels.compiling import watch_compiling
from thalweg.kernels.key_words import KeyKind
from thalweg.kernels.multiway_join import ResultCounts, ResultLimits, put_together
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.window_store import LEAST, WindowStore
from thalweg.plan.joins.graph import JoinGraph


@cache
def warm_up() -> None:
    """Run the compiled loops of joins once per process: on NumPy arrays, and on read-only arrays as those from Arrow,
    which are a different type to the compiler."""
    watch_compiling()
    for writeable in (True, False):
        _join_three_rows(writeable)


def _join_three_rows(writeable: bool) -> None:
    """Join three rows along a path, and as a star."""
    graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
    tree = graph.tree("a")
    word, batch = np.zeros(1, np.int64), pa.record_batch({"x": [0]})
    word.flags.writeable = writeable
    stores = {alias: WindowStore(batch.schema, graph.keys_of(alias), window=0) for alias in graph.aliases}
    for alias, store in stores.items():
        store.insert(batch, dict.fromkeys(graph.keys_of(alias), word), word)
    rows = ProbeRows(dict.fromkeys(graph.keys_of("a"), word), word, word, np.full((2, 1), -1, np.int64))
    chain = ProbeChain(tree, stores, lambda: 0)
    found = [bool(chain.probe(k, rows, np.arange(1))[0]) for k in range(2)]
    made = list(put_together(tree, stores, rows, np.arange(1), tree.others, ResultLimits(1, 1), ResultCounts()))
    assert found == [True, True]
    assert len(made) == 1
    stores["b"].expire(1)
    more = np.zeros(LEAST, np.int64)  # one row more than the store has room for
    stores["c"].insert(
        pa.record_batch({"x": more}), dict.fromkeys(graph.keys_of("c"), more), more
    )  # fmt: skip
    star = JoinGraph.of([("a", "k", "b", "k"), ("a", "k", "c", "k")])
    stores = {alias: WindowStore(batch.schema, star.keys_of(alias), window=0) for alias in star.aliases}
    for alias, store in stores.items():
        store.insert(batch, dict.fromkeys(star.keys_of(alias), word), word)
    rows = ProbeRows(dict.fromkeys(star.keys_of("a"), word), word, word, np.full((2, 1), -1, np.int64))
    chain = ProbeChain(star.tree("a"), stores, lambda: 0)
    assert all(chain.probe(k, rows, np.arange(1))[0] for k in range(2))
    made = list(
        put_together(star.tree("a"), stores, rows, np.arange(1), ("b", "c"), ResultLimits(1, 1), ResultCounts())
    )
    assert len(made) == 1
    stores["b"].take(0, np.zeros(1, np.int64))
    KeyKind.of([("", pa.string())]).words(pa.array(["a"]))


if __name__ == "__main__":
    warm_up()
