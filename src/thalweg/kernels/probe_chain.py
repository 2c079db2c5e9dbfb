"""The probes of one stream's new rows as a chain of filters: a window without a partner drops the row.

Answers: which rows have a partner on the path to every other stream (`run`), in a given order, and which of them drop
a sampled row (`profile`): the drop-probing of a-greedy, section 8.1. It looks for one partner only, so a row that is
dropped costs no enumeration.
Guarantee: the rows that pass do not depend on the order. What a row that passes costs does not either (property 8.1):
every probe is made once, each ends at its first partner, and `MultiwayJoin` goes on from there. In trees deeper than a
star a row that passes may still have no result, since partners on two paths need not agree.
Cost: one compiled call a stream and slice, on the rows still alive. What a probe costs is told by the entries it looks
at, times what an entry costs on average. Clocks say less: a window that is rarely probed has left the processor's
caches and seems dear, though it would be cheap if it came first. Along a path of several streams a probe tries one
row after the other until one leads to the end: a row that dies there may have looked at every pair on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.filter_chain import Pass, Profile
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.join_graph import JoinTree, Key

Words = NDArray[np.int64]
Bits = NDArray[np.bool_]
MEMORY = 1 << 20
"""Rows and entries over which the cost of one is averaged."""
NO_CHECKS = np.empty((0, 6), np.int64)


@dataclass(frozen=True, slots=True)
class ProbeRows:
    """New rows of a stream: what they are probed by, their times, and until when they may have partners."""

    keys: Mapping[Key, Words]
    times: Words
    ends: Words
    starts: Words
    """By stream to probe, and row: where its first partner was found, -1 before it was looked for."""

    @property
    def num_rows(self) -> int:
        """As of a batch."""
        return len(self.times)

    length = num_rows

    @property
    def types(self) -> tuple[()]:
        """Always the same."""
        return ()

    def slice(self, start: int, length: int) -> ProbeRows:
        """A part of the rows, without copying."""
        part = slice(start, start + length)
        keys = {key: words[part] for key, words in self.keys.items()}
        return ProbeRows(keys, self.times[part], self.ends[part], self.starts[:, part])

    def take(self, rows: Words) -> ProbeRows:
        """A copy of some rows."""
        keys = {key: words[rows] for key, words in self.keys.items()}
        # `starts[:, rows]` would be laid out by columns: another type to numba, which would compile the loops again
        return ProbeRows(keys, self.times[rows], self.ends[rows], self.starts.take(rows, axis=1))

    @staticmethod
    def joined(parts: Sequence[ProbeRows]) -> ProbeRows:
        """One behind the other."""
        return ProbeRows(
            {key: np.concatenate([part.keys[key] for part in parts]) for key in parts[0].keys},
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.starts for part in parts], axis=1),
        )


class ProbeChain:
    """The other streams' windows, seen from one stream."""

    def __init__(
        self, tree: JoinTree, stores: Mapping[str, WindowStore], clock: Callable[[], int], *, timed: bool = False
    ) -> None:
        """`timed`: what a probe costs is what the clock says, because it is a virtual one."""
        self.tree = tree
        self.stores = stores
        self.clock = clock
        self.pipeline = tree.pipeline()
        self.others = tree.others
        self.looked = 0
        """Entries of indexes compared so far: what probing costs, whatever the machine."""
        self._paths = [tree.path(alias) for alias in self.others]
        self._timed = timed
        self._spent_ns = self._weight = 0

    def columns(self, rows: ProbeRows) -> ProbeRows:
        """They are ready."""
        return rows

    def probe(self, k: int, rows: ProbeRows, alive: Words) -> Bits:
        """Which of the rows `alive` have a partner on the path to the k-th of the others."""
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

    def run(self, rows: ProbeRows, order: Sequence[int]) -> Pass:
        """Probe in this order; each probe sees the rows no earlier one dropped."""
        n = len(self.others)
        alive = np.arange(rows.num_rows)
        dropped_at = np.full(rows.num_rows, n, np.int16)
        evaluated, passed, ns = [0] * n, [0] * n, [0] * n
        for position, k in enumerate(order):
            if not len(alive):
                break
            begun, looked = self.clock(), self.looked
            found = self.probe(k, rows, alive)
            evaluated[k] = len(alive)
            if not found.all():
                dropped_at[alive[~found]] = position
                alive = alive[found]
            passed[k] = len(alive)
            ns[k] = self._cost_ns(self.clock() - begun, evaluated[k] + self.looked - looked)
        nobody = np.empty(0, np.int64)
        return Pass(alive, nobody, dropped_at, evaluated, passed, [0] * n, ns, None)

    def _cost_ns(self, ns: int, weight: int) -> int:
        """What probing some rows costs; `weight` is the rows and the entries looked at."""
        if self._timed:
            return ns
        self._spent_ns += ns
        self._weight += weight
        if self._weight > MEMORY:
            self._spent_ns, self._weight = self._spent_ns // 2, self._weight // 2
        return max(self._spent_ns * weight // self._weight, 1)

    def profile(self, rows: ProbeRows, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: Bits) -> Profile:
        """Probe sampled rows where the policy wants it: `evaluate` says so by the position that dropped them."""
        n = len(self.others)
        dropped = np.zeros((rows.num_rows, n), bool)
        dropped[np.arange(rows.num_rows), np.array(order)[dropped_at]] = True
        place = np.empty(n, np.int64)
        place[list(order)] = np.arange(n)
        known = dropped_at[:, None] >= place
        evaluated, ns = [0] * n, [0] * n
        for k in order:
            wanted = evaluate[dropped_at, k].nonzero()[0]
            if len(wanted):
                begun, looked = self.clock(), self.looked
                dropped[wanted, k] = ~self.probe(k, rows, wanted)
                known[wanted, k] = True
                evaluated[k] = len(wanted)
                ns[k] = self._cost_ns(self.clock() - begun, len(wanted) + self.looked - looked)
        return Profile(dropped, evaluated, ns, [0] * n, known)


def levels_of(
    tree: JoinTree, stores: Mapping[str, WindowStore], order: Sequence[str], root_keys: Sequence[Key]
) -> NDArray[np.int64]:
    """Where the compiled loops find the indexes of streams, in the order they are put together. The addresses hold as
    long as no store is inserted into."""
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
