"""Joins of two windows, pipelined: the symmetric hash join and symmetric nested loops.

Answers: the pairs that new rows of one side make with what the other side holds; then they are inserted themselves, so
each pair comes once. Sides may hold rows that were put together before, so that joins form trees.
Guarantee: no input is waited for (non-blocking), and the pairs do not depend on the order in which rows come.
Cost: of an arrival, move + hash + probe for the hash join; move and one comparison with each row of the other window
for nested loops (rate-based, table 3).
Differs from the paper: inputs are windows, not everything that ever came, so the cost of nested loops grows with the
window and not with time.

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError, nearest
from thalweg.kernels.multiway_join import RESULTS, ResultLimits, Told, put_together
from thalweg.kernels.probe_chain import ProbeRows
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.join_graph import JoinGraph

Words = NDArray[np.int64]
METHODS = ("hash", "loops")
LEFT, RIGHT = "left", "right"
_KEY = (0,)
_GRAPH = JoinGraph.of([(LEFT, "key", RIGHT, "key")])
_TREES = {side: _GRAPH.tree(side) for side in (LEFT, RIGHT)}
NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Pairs:
    """Row numbers: of the new rows in their batch, of the others in their window; the later time and the earlier end
    of each pair."""

    new: Words
    old: Words
    times: Words
    ends: Words


class BinaryJoin:
    """Two windows, each indexed by one key."""

    def __init__(self, left: pa.Schema, right: pa.Schema, method: str = "hash", salt: Salt = NO_SALT) -> None:
        if method not in METHODS:
            raise PlanError(f"method={method!r}: must be 'hash' or 'loops'{nearest(method, METHODS)}")
        self.method = method
        self.stores = {LEFT: WindowStore(left, [_KEY], salt=salt), RIGHT: WindowStore(right, [_KEY], salt=salt)}
        self.looked = 0
        """Entries compared so far."""

    def process(
        self, side: str, batch: pa.RecordBatch, keys: Words, times: Words, ends: Words, *, keep: bool = True,
    ) -> Iterator[Pairs]:  # fmt: skip
        """The pairs of new rows, in the order of these; they are inserted when the last is taken, unless nobody will
        ever look for them (`keep`)."""
        other = self.stores[RIGHT if side == LEFT else LEFT]
        ring = other.indexes[_KEY].ring
        found = self._hash if self.method == "hash" else self._loops
        for new, old, latest in found(side, keys, times, ends, RESULTS):
            yield Pairs(new, old, latest, np.minimum(ends[new], ring[old & (len(ring) - 1), 3]))
        if keep:
            self.insert(side, batch, keys, times, ends)

    def insert(self, side: str, batch: pa.RecordBatch, keys: Words, times: Words, ends: Words) -> None:
        """New rows whose pairs nobody asks for."""
        self.stores[side].insert(batch, {_KEY: keys}, times, ends)

    def expire(self, before: int) -> dict[str, int]:
        """Forget rows whose end is before that time; returns how many of each side."""
        return {side: store.expire(before) for side, store in self.stores.items()}

    def _hash(
        self, side: str, keys: Words, times: Words, ends: Words, results: int
    ) -> Iterator[tuple[Words, Words, Words]]:
        told = Told()
        rows = ProbeRows({_KEY: keys}, times, ends, np.full((1, len(keys)), -1, np.int64))
        tree = _TREES[side]
        found = put_together(
            tree, self.stores, rows, np.arange(len(keys)), tree.others, ResultLimits(NO_LIMIT, results), told
        )
        for one in found:
            yield one.rows[side], one.rows[tree.others[0]], one.latest
        self.looked += told.looked

    def _loops(
        self, side: str, keys: Words, times: Words, ends: Words, results: int
    ) -> Iterator[tuple[Words, Words, Words]]:
        from thalweg.kernels.probing import compare_all

        store = self.stores[RIGHT if side == LEFT else LEFT]
        resume = np.array([0, store.low])
        self.looked += len(keys) * len(store)
        while resume[0] < len(keys):
            out, latest = np.empty((2, results), np.int64), np.empty(results, np.int64)
            ring = store.indexes[_KEY].ring
            count = compare_all(keys, times, ends, ring, store.low, store.high, resume, out, latest)
            if count:
                yield out[0, :count], out[1, :count], latest[:count]
