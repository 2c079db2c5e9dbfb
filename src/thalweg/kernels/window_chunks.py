"""The rows of a window as chunks of bytes, one per insertion: the form in which a window is saved outside this process.

Answers: `changes()` returns the bytes of the chunks that were added since the last call, and the numbers of those that
have no live rows any more; `restored` reads chunks back as rows with their keys, times and ends.
Guarantee: a chunk is written once, under a number that is never used again. Its columns depend on the join only,
not on how its rows are joined. So a multiway join and a tree of binary joins can continue from each other's chunks.
Cost: a chunk is serialized when `changes` is called; a chunk whose rows have all expired by then is never written.

>>> chunks = WindowChunks(pa.schema([("k", pa.int64())]), keys=[(0,)], window=10)
>>> times = np.array([100, 103])
>>> chunks.add(pa.record_batch({"k": [5, 6]}), {(0,): np.array([5, 6])}, times, times + 10)
>>> saved = chunks.changes().added
>>> chunks.expire(114); chunks.changes().removed
(0,)
>>> again = WindowChunks(pa.schema([("k", pa.int64())]), keys=[(0,)], window=10)
>>> [(rows.batch.to_pydict(), rows.ends.tolist()) for rows in again.restored(saved)], again.next_chunk
([({'k': [5, 6]}, [110, 113])], 1)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.window_store import ends_of
from thalweg.plan.joins.graph import KeyClasses

_TIME, _END, _KEY = "\0time", "\0end", "\0key"

Words = NDArray[np.int64]
WordsOf = Callable[[pa.RecordBatch], tuple[Words, Mapping[KeyClasses, Words]]]
Hashed = Callable[[pa.RecordBatch], Words]
"""Returns the words of a key, from the columns that a window stores."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The chunks added and removed since the last snapshot."""

    added: Mapping[int, bytes]
    removed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows in the form that a window stores."""

    batch: pa.RecordBatch
    keys: Mapping[KeyClasses, Words]
    times: Words
    ends: Words


class WindowChunks:
    """The chunks of one window."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: Sequence[KeyClasses],
        window: int | None = None,
        words: WordsOf | None = None,
        hashed: Mapping[KeyClasses, Hashed] | None = None,
    ) -> None:
        """`window`: a row's end is its time plus this; None: chunks contain the ends. `words`: computes the times and
        keys of rows, if they follow from the columns and the window; None: chunks contain them too, except for the keys
        in `hashed`: these follow from the columns, and another process hashes them with another salt."""
        self._schema = schema
        self._keys = tuple(keys)
        self._window = window
        self._words = words if window is not None else None
        self._hashed = dict(hashed or {})
        self._saved_keys = [key for key in self._keys if key not in self._hashed]
        self._unsaved: dict[int, tuple[pa.RecordBatch, list[Words]]] = {}  # chunks that are not in a snapshot yet
        self._ends: list[tuple[int, int]] = []  # a heap of the last end of each chunk, and its number
        self._removed: list[int] = []
        self.next_chunk = 0
        """The number of the next chunk."""

    def add(self, batch: pa.RecordBatch, keys: Mapping[KeyClasses, Words], times: Words, ends: Words) -> None:
        """Add a chunk of these rows, of which there must be at least one."""
        words = [times, *([ends] if self._window is None else []), *(keys[key] for key in self._saved_keys)]
        self._unsaved[self.next_chunk] = batch, words if self._words is None else []
        heapq.heappush(self._ends, (int(ends.max()), self.next_chunk))
        self.next_chunk += 1

    def expire(self, before: int) -> None:
        """Remove chunks whose rows all end before this time."""
        while self._ends and self._ends[0][0] < before:
            number = heapq.heappop(self._ends)[1]
            if self._unsaved.pop(number, None) is None:
                self._removed.append(number)

    def changes(self) -> Changes:
        """Return the chunks that a snapshot must add and remove since the last call."""
        added = {number: self._bytes(*chunk) for number, chunk in self._unsaved.items()}
        self._unsaved.clear()
        removed, self._removed = tuple(self._removed), []
        return Changes(added, removed)

    def forget(self) -> None:
        """Forget the chunks added so far: they are saved elsewhere, and no snapshot needs them."""
        self._unsaved.clear()
        self._ends.clear()

    def restored(
        self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0
    ) -> Iterator[WindowRows]:  # fmt: skip
        """Yield the rows of the chunks of a snapshot. The caller must take all of them.

        `end`: numbers before it have been used, including those of removed chunks, and are not used again."""
        numbered: list[tuple[int, bytes]] = sorted(dict(chunks).items())
        assert not self._unsaved, "inserted rows are not in a snapshot yet"
        assert not numbered or numbered[0][0] >= self.next_chunk, "a chunk is restored only once"
        for number, data in numbered:
            rows = self._read(data)
            heapq.heappush(self._ends, (int(rows.ends.max()), number))
            self.next_chunk = number + 1
            yield rows
        self.next_chunk = max(end, self.next_chunk)

    def _read(self, data: bytes) -> WindowRows:
        whole = pa.ipc.open_stream(data).read_next_batch()
        batch = whole.select(self._schema.names)
        if self._words is not None:
            assert self._window is not None
            times, keys = self._words(batch)
            return WindowRows(batch, keys, times, ends_of(times, self._window))
        times, *words = [whole.column(name).to_numpy() for name in self._hidden()]
        if self._window is None:
            ends, *words = words
        else:
            ends = ends_of(times, self._window)
        saved = dict(zip(self._saved_keys, words, strict=True))
        return WindowRows(batch, saved | {key: of(batch) for key, of in self._hashed.items()}, times, ends)

    def _hidden(self) -> list[str]:
        if self._words is not None:
            return []
        ends = [_END] if self._window is None else []
        return [_TIME, *ends, *(f"{_KEY}{self._keys.index(key)}" for key in self._saved_keys)]

    def _bytes(self, batch: pa.RecordBatch, words: list[Words]) -> bytes:
        hidden = [pa.field(name, pa.int64()) for name in self._hidden()]
        whole = pa.RecordBatch.from_arrays(
            [*batch.columns, *(pa.array(w) for w in words)], schema=pa.schema([*self._schema, *hidden])
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, whole.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_batch(whole)
        data: bytes = sink.getvalue().to_pybytes()
        return data
