"""The rows of one stream that may still have partners: a window, indexed by the keys it is probed by.

Answers: `insert`, probing (by the loops of `probing`, through `index`), `expire`, `take`. This is what the papers call
a SteM or a one-way join probe (query-mesh, section 5.1): half of a join, shared by every order in which streams may be
probed.
Guarantee: a row stays until its end is before the time last passed to `expire`. Memory is at most eight times what the
live rows need (capacities are powers of two, and rows that arrived out of order delay the removal of others), plus what
`LEAST` rows need; new rows overwrite expired ones.
Cost: inserting costs one write per index and a copy of the row; expiring costs one check per row. No Python code runs
per row. Rows that arrived out of order can delay the removal of expired rows after them, until these are as many as the
others or a window has passed; then the store is scanned, and packed if that is worthwhile.

Snapshots consist of chunks, one per call of `insert` (`window_chunks`). A store restored from the remaining chunks
contains the same live rows; a store that has fallen behind catches up with the chunks that it has not seen.

>>> import pyarrow as pa
>>> store = WindowStore(pa.schema([("k", pa.int64())]), keys=[(0,)], window=10)
>>> key = np.array([5, 6])
>>> store.insert(pa.record_batch({"k": [5, 6]}), {(0,): key}, times=np.array([100, 103]))
>>> len(store), store.expire(112), len(store)  # the end of the first row is 110
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
from thalweg.plan.joins.graph import KeyClasses

if TYPE_CHECKING:
    from thalweg.kernels.window_chunks import Changes, Hashed, WindowChunks, WindowRows, WordsOf

LEAST = 1024
"""The smallest capacity, in rows; a power of two, as every capacity."""
SPARSE = 8
"""A ring whose capacity is more than this many times its rows is made smaller."""
PACK = 2
"""A store is packed when it has this many times the rows that it had at the last scan."""
CACHE_LINE = 64
"""The size of a cache line in bytes: two rows of a ring."""

Words = NDArray[np.int64]


@dataclass(slots=True)
class HashIndex:
    """The hash index of one key. `probing` describes its layout."""

    ring: Words
    heads: Words
    multiplier: np.uint64
    """The multiplier of the hash that selects a bucket, secret to the join."""
    shift: int
    mask: int
    """A row's number, masked with this, is its place in the ring."""
    ring_address: int
    heads_address: int
    """Memory addresses, for loops over the indexes of many windows.

    Getting an array's address takes longer than probing a row."""

    @classmethod
    def empty(cls, capacity: int, multiplier: np.uint64) -> HashIndex:
        """Return an empty index with as many buckets as places.

        No row spans two cache lines, which would take two reads of memory."""
        words = np.empty(4 * capacity + CACHE_LINE // 8, np.int64)
        first = -words.ctypes.data % CACHE_LINE // 8
        ring = words[first : first + 4 * capacity].reshape(capacity, 4)
        heads = np.full(capacity, -1, np.int64)
        shift = 64 - (capacity - 1).bit_length()
        return cls(ring, heads, multiplier, shift, capacity - 1, ring.ctypes.data, heads.ctypes.data)


class WindowStore:
    """The rows of a window in order of arrival, numbered from 0."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: Sequence[KeyClasses],
        window: int | None = None,
        *,
        snapshots: bool = False,
        words: WordsOf | None = None,
        hashed: Mapping[KeyClasses, Hashed] | None = None,
        salt: Salt = NO_SALT,
    ) -> None:
        """`window`: a row's end is its time plus this; None: ends are given with the rows. `snapshots`: record what
        `changes` returns; `words` and `hashed` are those of `WindowChunks`. `salt`: the salt of the hash tables."""
        self.schema = schema
        self.keys = tuple(keys)
        self.window = window
        self.low = self.high = 0
        self._capacity = LEAST
        self._multiplier = salt.multiplier
        self.indexes = {key: HashIndex.empty(LEAST, self._multiplier) for key in self.keys}
        self._columns: list[StoredColumn] = [stored(f.type, LEAST) for f in schema]
        self._rows_at_scan = LEAST  # the number of rows at the last scan
        self._scanned_at: int | None = None  # the time passed to `expire` then
        self._chunks: WindowChunks | None = None
        if snapshots:
            from thalweg.kernels.window_chunks import WindowChunks

            self._chunks = WindowChunks(schema, self.keys, window, words, hashed)

    def __len__(self) -> int:
        return self.high - self.low

    @property
    def nbytes(self) -> int:
        """The memory that indexes and columns take, in bytes."""
        indexes = sum(index.ring.nbytes + index.heads.nbytes for index in self.indexes.values())
        return indexes + sum(column.nbytes for column in self._columns)

    def insert(
        self, batch: pa.RecordBatch, keys: Mapping[KeyClasses, Words], times: Words, ends: Words | None = None
    ) -> None:
        """Insert rows with their times, and their keys as words."""
        if not batch.num_rows:
            return
        if ends is None:
            assert self.window is not None
            ends = ends_of(times, self.window)
        self._insert(batch, keys, times, ends)
        if self._chunks is not None:
            self._chunks.add(batch, keys, times, ends)

    def _insert(self, batch: pa.RecordBatch, keys: Mapping[KeyClasses, Words], times: Words, ends: Words) -> None:
        from thalweg.kernels.probing import insert

        if len(self) + batch.num_rows > self._capacity:
            self._resize(len(self) + batch.num_rows)
        for key, index in self.indexes.items():
            insert(index.ring, index.heads, index.multiplier, index.shift, self.high, keys[key], times, ends)
        for column, array in zip(self._columns, batch.columns, strict=True):
            column.append(array, self.high)
        self.high += batch.num_rows

    def expire(self, before: int) -> int:
        """Forget rows whose end is before this time. Return how many."""
        from thalweg.kernels.probing import first_live

        rows = len(self)
        ring = next(iter(self.indexes.values())).ring
        self.low = int(first_live(ring, self.low, self.high, before))
        if len(self) > PACK * self._rows_at_scan or (len(self) > LEAST and self._window_passed(before)):
            self._pack(before)
        elif self._capacity > LEAST and SPARSE * len(self) < self._capacity:
            self._resize(2 * len(self))
        if len(self) < rows:
            # a store that was once large must not wait with packing until it is that large again
            self._rows_at_scan = min(self._rows_at_scan, max(len(self), LEAST))
            for column in self._columns:
                column.forget(self.low)
        if self._chunks is not None:
            self._chunks.expire(before)
        return rows - len(self)

    def _window_passed(self, before: int) -> bool:
        """Whether a window has passed since the last scan: about as many rows have arrived as it contains."""
        if self.window is None:
            return False
        if self._scanned_at is None:
            self._scanned_at = before
        return before - self._scanned_at > self.window

    def take(self, column: int, rows: Numbers) -> pa.Array:
        """Return the values of some rows, by number."""
        return self._columns[column].take(rows)

    def rows(self) -> pa.RecordBatch:
        """Return all rows in the store."""
        if not self._columns:  # a batch that is made from no arrays would have no rows
            return pa.record_batch([pa.nulls(len(self))], ["rows"]).select([])
        numbers = np.arange(self.low, self.high)
        return pa.RecordBatch.from_arrays([column.take(numbers) for column in self._columns], schema=self.schema)

    def contents(self) -> WindowRows:
        """Return all rows in the store with their keys, times and ends."""
        from thalweg.kernels.probing import END, KEY, TIME
        from thalweg.kernels.window_chunks import WindowRows

        numbers = np.arange(self.low, self.high)
        rings = {key: index.ring[numbers & index.mask] for key, index in self.indexes.items()}
        any_ring = next(iter(rings.values()))
        words = {key: np.ascontiguousarray(ring[:, KEY]) for key, ring in rings.items()}
        times, ends = (np.ascontiguousarray(any_ring[:, word]) for word in (TIME, END))
        return WindowRows(self.rows(), words, times, ends)

    def take_over(self, rows: WindowRows, chunks: WindowChunks | None) -> None:
        """Insert rows that another store had, which are in these chunks already."""
        if rows.batch.num_rows:
            self._insert(rows.batch, rows.keys, rows.times, rows.ends)
        self._chunks = chunks

    @property
    def chunks(self) -> WindowChunks | None:
        """The chunks in which the rows are saved; None without snapshots."""
        return self._chunks

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
        """Drop expired rows that come after live ones, if there are many."""
        from thalweg.kernels.probing import live_rows, move

        self._scanned_at = before
        ring = next(iter(self.indexes.values())).ring
        live = live_rows(ring, self.low, self.high, before)
        self._rows_at_scan = max(len(live), LEAST)
        if 2 * len(live) > len(self):
            self._rows_at_scan = len(self)
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
        """The number of the next chunk."""
        return self._remembered.next_chunk

    def changes(self) -> Changes:
        """Return the chunks that a snapshot must add and remove since the last call."""
        return self._remembered.changes()

    def forget_changes(self) -> None:
        """Forget the changes so far: they are saved elsewhere, and no snapshot needs them."""
        if self._chunks is not None:
            self._chunks.forget()

    def restore(self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0) -> None:
        """Restore chunks of a snapshot: all of them into a new store, or only the newer ones into an older store.

        Expired rows come back if their chunk has live ones, and expire again. `end`: numbers before it have been used,
        including those of removed chunks, and are not used again."""
        for rows in self._remembered.restored(chunks, end):
            self._insert(rows.batch, rows.keys, rows.times, rows.ends)

    @property
    def _remembered(self) -> WindowChunks:
        assert self._chunks is not None, "the store was made without snapshots=True"
        return self._chunks


def ends_of(times: Words, window: int) -> Words:
    """Return until when rows may have partners, limited to the largest 64-bit time.

    >>> ends_of(np.array([1, 2**63 - 5]), 10).tolist() == [11, 2**63 - 1]
    True
    """
    last = np.iinfo(np.int64).max
    if not len(times) or int(times.max()) <= last - window:
        return times + window
    return np.where(times > last - window, last, np.minimum(times, last - window) + window)
