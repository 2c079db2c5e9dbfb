"""Pipelined joins of two windows: the symmetric hash join and symmetric nested loops.

Answers: the pairs that new rows of one side form with the rows of the other side. Then the new rows are inserted, so
each pair is produced once. A side may store rows that are results of another join, so that joins form trees.
Guarantee: the join waits for no input (non-blocking), and the pairs do not depend on the order in which rows arrive.
Cost per arrival: move + hash + probe for the hash join; move and one comparison with each row of the other window for
nested loops (rate-based, table 3).
Differs from the paper: inputs are windows, not all rows so far. So the cost of nested loops grows with the window, not
with time.

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError, nearest
from thalweg.kernels.multiway_join import RESULTS, ResultCounts, ResultLimits, put_together
from thalweg.kernels.probe_chain import ProbeRows
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinGraph

Words = NDArray[np.int64]
METHODS = ("hash", "loops")
LEFT, RIGHT = "left", "right"
_KEY = (0,)
_GRAPH = JoinGraph.of([(LEFT, "key", RIGHT, "key")])
_TREES = {side: _GRAPH.tree(side) for side in (LEFT, RIGHT)}
NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows, by number: the new rows in their batch, the old ones in their window.

    Each pair has the later time and the earlier end of its rows."""

    new: Words
    old: Words
    times: Words
    ends: Words


class BinaryJoin:
    """A join of two windows, each indexed by one key."""

    def __init__(self, left: pa.Schema, right: pa.Schema, method: str = "hash", salt: Salt = NO_SALT) -> None:
        if method not in METHODS:
            raise PlanError(f"method={method!r}: must be 'hash' or 'loops'{nearest(method, METHODS)}")
        self.method = method
        self.stores = {LEFT: WindowStore(left, [_KEY], salt=salt), RIGHT: WindowStore(right, [_KEY], salt=salt)}
        self.looked = 0
        """The number of entries compared so far."""

    def process(
        self, side: str, batch: pa.RecordBatch, keys: Words, times: Words, ends: Words, *, keep: bool = True,
    ) -> Iterator[Pairs]:  # fmt: skip
        """Yield the pairs of new rows, in the order of the rows.

        After the last pair is taken, the rows are inserted if `keep`: without it, later rows do not find them."""
        other = self.stores[RIGHT if side == LEFT else LEFT]
        ring = other.indexes[_KEY].ring
        found = self._hash if self.method == "hash" else self._loops
        for new, old, latest in found(side, keys, times, ends, RESULTS):
            yield Pairs(new, old, latest, np.minimum(ends[new], ring[old & (len(ring) - 1), 3]))
        if keep:
            self.insert(side, batch, keys, times, ends)

    def insert(self, side: str, batch: pa.RecordBatch, keys: Words, times: Words, ends: Words) -> None:
        """Insert new rows without producing their pairs."""
        self.stores[side].insert(batch, {_KEY: keys}, times, ends)

    def expire(self, before: int) -> dict[str, int]:
        """Forget rows whose end is before this time. Return how many, by side."""
        return {side: store.expire(before) for side, store in self.stores.items()}

    def _hash(
        self, side: str, keys: Words, times: Words, ends: Words, results: int
    ) -> Iterator[tuple[Words, Words, Words]]:
        counts = ResultCounts()
        rows = ProbeRows({_KEY: keys}, times, ends, np.full((1, len(keys)), -1, np.int64))
        tree = _TREES[side]
        found = put_together(
            tree, self.stores, rows, np.arange(len(keys)), tree.others, ResultLimits(NO_LIMIT, results), counts
        )
        for one in found:
            yield one.rows[side], one.rows[tree.others[0]], one.latest
        self.looked += counts.looked

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
