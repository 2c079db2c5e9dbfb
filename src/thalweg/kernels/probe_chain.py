"""The probes of one stream's new rows as a chain of filters: a window without a partner drops the row.

Answers: which rows have a partner on the path to every other stream (`run`), in a given order, and which streams drop a
sampled row (`profile`): the drop-probing of a-greedy, section 8.1. It looks for one partner only, so a row that is
dropped costs no enumeration.
Guarantee: the rows that pass do not depend on the order. Neither does the cost of a row that passes (property 8.1):
every probe is made once, each ends at its first partner, and `MultiwayJoin` continues from there. In trees deeper than
a star, a row that passes may still have no result, because partners on two paths need not agree.
Cost: one compiled call per stream and slice, on the rows that are still alive. The cost of a probe is the number of
entries that it visits times the average cost of an entry. Measured times are less meaningful: a window that is rarely
probed is not in the processor's caches and seems expensive, although it would be cheap if it came first. Along a path
of several streams, a probe tries one row after another until one leads to the end: for a row that is dropped there, it
may have visited every pair on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.columns import concatenated, take_rows
from thalweg.kernels.filter_chain import Profile, SliceCounts, SliceResult, places_of
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinTree, KeyClasses

Words = NDArray[np.int64]
Bits = NDArray[np.bool_]
MEMORY = 1 << 20
"""The number of rows and entries over which the cost of one is averaged."""
NO_CHECKS = np.empty((0, 6), np.int64)


@dataclass(frozen=True, slots=True)
class ProbeRows:
    """New rows of a stream: their keys, their times, and until when they may have partners."""

    keys: Mapping[KeyClasses, Words]
    times: Words
    ends: Words
    starts: Words
    """By stream to probe and row: where the first partner was found; -1 before the probe."""
    classified: Mapping[str, pa.Array] = field(default_factory=dict)
    """The columns by which the rows may be classified, by name."""

    @property
    def num_rows(self) -> int:
        """The number of rows, as in a batch."""
        return len(self.times)

    length = num_rows

    @property
    def types(self) -> tuple[()]:
        """An empty tuple: all rows have the same types."""
        return ()

    def values(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Return columns by name. Rows that probe have only those by which they may be classified."""
        return {name: self.classified[name] for name in names}

    def slice(self, start: int, length: int) -> ProbeRows:
        """Return a part of the rows, without copying."""
        part = slice(start, start + length)
        keys = {key: words[part] for key, words in self.keys.items()}
        classified = {name: values.slice(start, length) for name, values in self.classified.items()}
        return ProbeRows(keys, self.times[part], self.ends[part], self.starts[:, part], classified)

    def take(self, rows: Words) -> ProbeRows:
        """Return a copy of some rows."""
        keys = {key: words[rows] for key, words in self.keys.items()}
        classified = {name: take_rows(values, rows) for name, values in self.classified.items()}
        # `starts[:, rows]` would be in column order, a different type to numba, which would compile the loops again
        return ProbeRows(keys, self.times[rows], self.ends[rows], self.starts.take(rows, axis=1), classified)

    @staticmethod
    def joined(parts: Sequence[ProbeRows]) -> ProbeRows:
        """Return the rows of several parts, one after another."""
        return ProbeRows(
            {key: np.concatenate([part.keys[key] for part in parts]) for key in parts[0].keys},
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.starts for part in parts], axis=1),
            {name: concatenated([part.classified[name] for part in parts]) for name in parts[0].classified},
        )


class ProbeChain:
    """The other streams' windows, seen from one stream."""

    def __init__(
        self, tree: JoinTree, stores: Mapping[str, WindowStore], clock: Callable[[], int], *, timed: bool = False
    ) -> None:
        """`timed`: the cost of a probe is the clock's time, because the clock is virtual."""
        self.tree = tree
        self.stores = stores
        self.clock = clock
        self.pipeline = tree.pipeline()
        self.others = tree.others
        self.classifiers: tuple[str, ...] = ()
        self.classified = False
        self.looked = 0
        """The number of index entries compared so far: the cost of probing, independent of the machine."""
        self._paths = [tree.path(alias) for alias in self.others]
        self._timed = timed
        self._spent_ns = self._weight = 0

    def columns(self, rows: ProbeRows) -> ProbeRows:
        """Return the rows, which need no conversion."""
        return rows

    def probe(self, k: int, rows: ProbeRows, alive: Words) -> Bits:
        """Return which of the rows `alive` have a partner on the path to the k-th other stream."""
        from thalweg.kernels.probing import find_partners, find_paths

        path = self._paths[k]
        found = np.empty(len(alive), bool)
        if len(path) == 1:
            store, key = self.stores[path[0]], self.tree.keys[path[0]]
            index = store.indexes[key]
            looked = find_partners(
                rows.keys[key], rows.times, rows.ends, alive, index.ring, index.heads, index.multiplier, index.shift,
                store.low, rows.starts[k], found,
            )  # fmt: skip
        else:
            root_keys = list(rows.keys)
            levels = levels_of(self.tree, self.stores, path, root_keys)
            matrix = np.stack([rows.keys[key] for key in root_keys])
            nothing = np.zeros(len(levels) + 1, np.int64)
            looked = find_paths(levels, NO_CHECKS, nothing, matrix, rows.times, rows.ends, alive, found)
        self.looked += int(looked)
        return found

    def begin(self, rows: ProbeRows) -> SliceCounts:
        """Return the counters of a new slice."""
        return SliceCounts.none(len(self.others))

    def step(self, k: int, rows: ProbeRows, alive: Words | None, count: int, done: SliceCounts) -> Words:
        """Probe the k-th window with these rows (None: all), of which there are `count`. Return the places of those
        with a partner among them."""
        begun, looked = self.clock(), self.looked
        true = self.probe(k, rows, np.arange(count) if alive is None else alive).nonzero()[0]
        done.evaluated[k] += count
        done.passed[k] += len(true)
        done.ns[k] += self._cost_ns(self.clock() - begun, count + self.looked - looked)
        return true

    def run(self, rows: ProbeRows, order: Sequence[int]) -> SliceResult:
        """Probe in this order. Each probe sees the rows that no earlier one dropped."""
        n = len(self.others)
        alive = np.arange(rows.num_rows)
        dropped_at = np.full(rows.num_rows, n, np.int16)
        done = self.begin(rows)
        for position, k in enumerate(order):
            if not len(alive):
                break
            true = self.step(k, rows, alive, len(alive), done)
            if len(true) < len(alive):
                stay = alive[true]
                dropped_at[alive] = position
                dropped_at[stay] = n
                alive = stay
        return done.result(alive, dropped_at)

    def _cost_ns(self, ns: int, weight: int) -> int:
        """Return the cost of probing some rows. `weight`: the rows plus the entries visited."""
        if self._timed:
            return ns
        self._spent_ns += ns
        self._weight += weight
        if self._weight > MEMORY:
            self._spent_ns, self._weight = self._spent_ns // 2, self._weight // 2
        return max(self._spent_ns * weight // self._weight, 1)

    def profile(
        self, rows: ProbeRows, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: Bits,
        place: Words | None = None,
    ) -> Profile:  # fmt: skip
        """Probe sampled rows as the policy requests: `evaluate` is indexed by the position that dropped them. `place`:
        the position of each window in the route of each row; None if all rows took `order`."""
        n = len(self.others)
        place = places_of([order])[0] if place is None else place
        at = dropped_at[:, None]
        dropped, known = at == place, at >= place
        asked = evaluate[dropped_at] & (at < place)
        evaluated, ns = [0] * n, [0] * n
        for k in order:
            wanted = asked[:, k].nonzero()[0]
            if len(wanted):
                begun, looked = self.clock(), self.looked
                dropped[wanted, k] = ~self.probe(k, rows, wanted)
                known[wanted, k] = True
                evaluated[k] = len(wanted)
                ns[k] = self._cost_ns(self.clock() - begun, len(wanted) + self.looked - looked)
        return Profile(dropped, evaluated, ns, [0] * n, known)


def levels_of(
    tree: JoinTree, stores: Mapping[str, WindowStore], order: Sequence[str], root_keys: Sequence[KeyClasses]
) -> NDArray[np.int64]:
    """Return where the compiled loops find the indexes of streams, in join order.

    The addresses are valid until rows are inserted into a store."""
    from thalweg.kernels import probing as p

    levels = []
    for alias in order:
        store, key, parent = stores[alias], tree.keys[alias], tree.parents[alias]
        index = store.indexes[key]
        level = [0] * p.LEVEL_WIDTH
        level[p.RING], level[p.MASK], level[p.LOW] = index.ring_address, index.mask, store.low
        level[p.HEADS], level[p.SHIFT] = index.heads_address, index.shift
        level[p.MULTIPLIER] = int(index.multiplier.view(np.int64))
        if parent == tree.root:
            level[p.PARENT], level[p.ROOT_KEY] = -1, root_keys.index(key)
        else:
            above = stores[parent].indexes[key]
            level[p.PARENT], level[p.PARENT_RING] = order.index(parent), above.ring_address
            level[p.PARENT_MASK] = above.mask
        levels.append(level)
    return np.array(levels, np.int64)
