"""The rows of one stream that may still have partners: a window, indexed by the keys it is probed by.

Answers: `insert`, probing (by the loops of `probing`, through `index`), `expire`, `take`. This is what the papers call
a SteM or a one-way join probe (query-mesh, section 5.1): half of a join, shared by every order in which streams may be
probed.
Guarantee: a row stays as long as its end is not before the time last given to `expire`. Memory is bounded by the rows
that are alive, at most eight times what they need (capacities are powers of two, and rows that came in disorder hold
others back), plus what `LEAST` rows need; expired places are written over.
Cost: inserting costs one write an index and a copy of the row; expiring costs one look a row. Nothing runs per row in
Python. Rows that came in disorder can hold back the place of expired ones behind them, until those are as many as the
others, or a window has passed; then the store is looked through, and packed if that is worth it.

Snapshots are made of chunks, one per call of `insert` (`window_chunks`). A store restored from the chunks that are left
holds the same live rows; one that was behind catches up with the chunks it has not seen.

>>> import pyarrow as pa
>>> store = WindowStore(pa.schema([("k", pa.int64())]), keys=[(0,)], window=10)
>>> key = np.array([5, 6])
>>> store.insert(pa.record_batch({"k": [5, 6]}), {(0,): key}, times=np.array([100, 103]))
>>> len(store), store.expire(112), len(store)  # the first one's end is 110
(2, 1, 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.kernels.stored_column import Numbers, StoredColumn, stored
from thalweg.plan.join_graph import Key

if TYPE_CHECKING:
    from thalweg.kernels.window_chunks import Changes, Hashed, WindowChunks, WordsOf

LEAST = 1024
"""Rows there is room for at least; a power of two, as every capacity."""
SPARSE = 8
"""A ring with that many times more room than rows is made smaller."""
PACK = 2
"""Packed when it holds that many times the rows it held when last looked through."""
CACHE_LINE = 64
"""Bytes: two rows of a ring."""

Words = NDArray[np.int64]


@dataclass(slots=True)
class HashIndex:
    """Of one key: see `probing` for what lies where."""

    ring: Words
    heads: Words
    multiplier: np.uint64
    """Of the hash that leads to a bucket: a secret of the join's."""
    shift: int
    mask: int
    """A row's number to its place."""
    ring_address: int
    heads_address: int
    """In memory, for loops over the indexes of many windows; asking an array for it takes longer than probing a row."""

    @classmethod
    def empty(cls, capacity: int, multiplier: np.uint64) -> HashIndex:
        """With as many buckets as places. No row lies in two cache lines, which would be two reads of memory."""
        words = np.empty(4 * capacity + CACHE_LINE // 8, np.int64)
        first = -words.ctypes.data % CACHE_LINE // 8
        ring = words[first : first + 4 * capacity].reshape(capacity, 4)
        heads = np.full(capacity, -1, np.int64)
        shift = 64 - (capacity - 1).bit_length()
        return cls(ring, heads, multiplier, shift, capacity - 1, ring.ctypes.data, heads.ctypes.data)


class WindowStore:
    """Rows in the order they came, numbered from 0."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: Sequence[Key],
        window: int | None = None,
        *,
        snapshots: bool = False,
        words: WordsOf | None = None,
        hashed: Mapping[Key, Hashed] | None = None,
        salt: Salt = NO_SALT,
    ) -> None:
        """`window`: a row's end is its time and that much; None: ends are given with the rows. `snapshots`: remember
        what `changes` will ask for; `words` and `hashed` are those of `WindowChunks`. `salt`: of the tables."""
        self.schema = schema
        self.keys = tuple(keys)
        self.window = window
        self.low = self.high = 0
        self._capacity = LEAST
        self._multiplier = salt.multiplier
        self.indexes = {key: HashIndex.empty(LEAST, self._multiplier) for key in self.keys}
        self._columns: list[StoredColumn] = [stored(f.type, LEAST) for f in schema]
        self._looked_through = LEAST  # rows at that time
        self._looked_at: int | None = None  # the time given to `expire` then
        self._chunks: WindowChunks | None = None
        if snapshots:
            from thalweg.kernels.window_chunks import WindowChunks

            self._chunks = WindowChunks(schema, self.keys, window, words, hashed)

    def __len__(self) -> int:
        return self.high - self.low

    @property
    def nbytes(self) -> int:
        """Memory held."""
        indexes = sum(index.ring.nbytes + index.heads.nbytes for index in self.indexes.values())
        return indexes + sum(column.nbytes for column in self._columns)

    def insert(self, batch: pa.RecordBatch, keys: Mapping[Key, Words], times: Words, ends: Words | None = None) -> None:
        """Rows with their keys as words and their times."""
        if not batch.num_rows:
            return
        if ends is None:
            assert self.window is not None
            ends = ends_of(times, self.window)
        self._insert(batch, keys, times, ends)
        if self._chunks is not None:
            self._chunks.add(batch, keys, times, ends)

    def _insert(self, batch: pa.RecordBatch, keys: Mapping[Key, Words], times: Words, ends: Words) -> None:
        from thalweg.kernels.probing import insert

        if len(self) + batch.num_rows > self._capacity:
            self._resize(len(self) + batch.num_rows)
        for key, index in self.indexes.items():
            insert(index.ring, index.heads, index.multiplier, index.shift, self.high, keys[key], times, ends)
        for column, array in zip(self._columns, batch.columns, strict=True):
            column.append(array, self.high)
        self.high += batch.num_rows

    def expire(self, before: int) -> int:
        """Forget rows whose end is before that time; returns how many."""
        from thalweg.kernels.probing import first_live

        rows = len(self)
        ring = next(iter(self.indexes.values())).ring
        self.low = int(first_live(ring, self.low, self.high, before))
        if len(self) > PACK * self._looked_through or (len(self) > LEAST and self._window_passed(before)):
            self._pack(before)
        elif self._capacity > LEAST and SPARSE * len(self) < self._capacity:
            self._resize(2 * len(self))
        if len(self) < rows:
            # a store that was large once must not wait until it is that large again
            self._looked_through = min(self._looked_through, max(len(self), LEAST))
            for column in self._columns:
                column.forget(self.low)
        if self._chunks is not None:
            self._chunks.expire(before)
        return rows - len(self)

    def _window_passed(self, before: int) -> bool:
        """Since it was last looked through: about as many rows have come as it holds."""
        if self.window is None:
            return False
        if self._looked_at is None:
            self._looked_at = before
        return before - self._looked_at > self.window

    def take(self, column: int, rows: Numbers) -> pa.Array:
        """The values of some rows, by number."""
        return self._columns[column].take(rows)

    def rows(self) -> pa.RecordBatch:
        """All rows it holds."""
        numbers = np.arange(self.low, self.high)
        return pa.RecordBatch.from_arrays([column.take(numbers) for column in self._columns], schema=self.schema)

    def _resize(self, rows: int) -> None:
        from thalweg.kernels.probing import move

        capacity = max(LEAST, 1 << (rows - 1).bit_length()) if rows > 1 else LEAST
        for column in self._columns:
            column.resize(capacity, self.low, self.high)
        numbers = np.arange(self.low, self.high)
        for key, old in self.indexes.items():
            new = HashIndex.empty(capacity, self._multiplier)
            move(old.ring, numbers, new.ring, new.heads, new.multiplier, new.shift, self.low)
            self.indexes[key] = new
        self._capacity = capacity

    def _pack(self, before: int) -> None:
        """Drop expired rows that stand behind live ones, when they are many."""
        from thalweg.kernels.probing import live_rows, move

        self._looked_at = before
        ring = next(iter(self.indexes.values())).ring
        live = live_rows(ring, self.low, self.high, before)
        self._looked_through = max(len(live), LEAST)
        if 2 * len(live) > len(self):
            self._looked_through = len(self)
            return
        first = self.high  # numbers are never used twice
        for column in self._columns:
            column.keep(live, first)
        for key, old in self.indexes.items():
            new = HashIndex.empty(self._capacity, self._multiplier)
            move(old.ring, live, new.ring, new.heads, new.multiplier, new.shift, first)
            self.indexes[key] = new
        self.low, self.high = first, first + len(live)

    @property
    def next_chunk(self) -> int:
        """The number of the chunk that is made next."""
        return self._remembered.next_chunk

    def changes(self) -> Changes:
        """What a snapshot must add and remove since the last call."""
        return self._remembered.changes()

    def forget_changes(self) -> None:
        """What was inserted is known elsewhere, and no snapshot needs it."""
        if self._chunks is not None:
            self._chunks.forget()

    def restore(self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0) -> None:
        """Take over chunks of a snapshot: all of them by a new store, those that came since by one that held what was
        there before. Rows that had expired come back where their chunk had live ones, and expire again. `end`: numbers
        before it have been used, also those of chunks that are gone, and are not used again."""
        for rows in self._remembered.restored(chunks, end):
            self._insert(rows.batch, rows.keys, rows.times, rows.ends)

    @property
    def _remembered(self) -> WindowChunks:
        assert self._chunks is not None, "made without snapshots=True"
        return self._chunks


def ends_of(times: Words, window: int) -> Words:
    """Until when rows may have partners; as late as can be told where that is later.

    >>> ends_of(np.array([1, 2**63 - 5]), 10).tolist() == [11, 2**63 - 1]
    True
    """
    last = np.iinfo(np.int64).max
    if not len(times) or int(times.max()) <= last - window:
        return times + window
    return np.where(times > last - window, last, np.minimum(times, last - window) + window)
