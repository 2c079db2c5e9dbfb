"""The windows of a join in a store of bytes that is carried from round to round, and a warm copy in this process.

A store holds, for each stream, chunks of rows by number, which are added and removed and never written again, and one
head: which chunks there are, watermarks, what policies have learned, and the *version*, a name that every round draws
anew, with those of the rounds before it.

Guarantee: a warm copy is used only when its version is the store's, or one before it: then what the copy holds is what
the store held at that time, and the chunks that came since are read. A copy that saw a round which was not kept (its
task failed, the micro-batch is run again) has a version the store does not know, and is thrown away. So it does not
matter which process gets the next round.
Cost: a round writes what is new, and reads what this process has not seen.

What is stored are the windows of the streams, whichever loop joins them (`join_protocol`). A tree of binary joins
rebuilds its inner results when it is opened, so a join may go on as a multiway join or as a tree of any shape.

>>> from thalweg.runtime.joins.join_state import Head, runs
>>> head = Head.begin("a.k = b.k, ...").next({"a": runs([0, 1, 5], 9)}, {}, {})
>>> again = Head.read(head.bytes())
>>> again == head, again.next({}, {}, {}).knows(head.version), head.knows(again.next({}, {}, {}).version)
(True, True, False)
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pyarrow as pa

from thalweg.errors import CheckpointError
from thalweg.plan.window import exactly
from thalweg.runtime.joins.join_packing import one_batch
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.watermark import BEGINNING

ANCESTORS = 64
"""Rounds a warm copy may be behind; with more it reads everything."""
CHUNK_BYTES = 8 << 20
"""About; larger ones are cut."""


Runs = tuple[tuple[int, int], ...]
"""Numbers from one to before another; the last run, which may be empty, ends at the number that is used next."""


class ChunkStore(Protocol):
    """Where the bytes are: a state store of Spark, or a dict."""

    def head(self) -> bytes | None:
        """None: nothing was ever written."""
        ...

    def set_head(self, data: bytes) -> None:
        """Replaces it."""
        ...

    def chunk(self, stream: str, number: int) -> bytes | None:
        """None: it was removed."""
        ...

    def add(self, stream: str, number: int, data: bytes) -> None:
        """A number that was never used."""
        ...

    def remove(self, stream: str, number: int) -> None:
        """One that was added."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of the chunks, as JSON."""

    query: str
    """Of which the windows are, in words: another query cannot use them."""
    version: str
    ancestors: tuple[str, ...]
    chunks: Mapping[str, Runs]
    """By stream: the numbers of the chunks that are there."""
    marks: Mapping[str, Any]
    learned: Mapping[str, Any]
    active: Mapping[str, int]
    """When rows of a stream last came, by the clock, in ms."""
    start: str | None = None
    """Of the query, which wrote it: the clock runs on while a query does not."""

    @classmethod
    def begin(cls, query: str) -> Head:
        """Of empty windows."""
        return cls(query, _version(), (), {}, {}, {}, {})

    @classmethod
    def read(cls, data: bytes) -> Head:
        """As `bytes` wrote it."""
        told = json.loads(data)
        return cls(
            told["query"], told["version"], tuple(told["ancestors"]),
            {alias: tuple((low, end) for low, end in found) for alias, found in told["chunks"].items()},
            told["marks"], told["learned"], told["active"], told["start"],
        )  # fmt: skip

    def bytes(self) -> bytes:
        """For a store."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    def knows(self, version: str) -> bool:
        """Whether a copy of that version holds what was here, then or now."""
        return version == self.version or version in self.ancestors

    def next(
        self,
        chunks: Mapping[str, Runs],
        marks: Mapping[str, Any],
        learned: Mapping[str, Any],
        active: Mapping[str, int] | None = None,
        start: str | None = None,
    ) -> Head:
        """After one more round."""
        ancestors = (*self.ancestors, self.version)[-ANCESTORS:]
        active = self.active if active is None else active
        return Head(self.query, _version(), ancestors, chunks, marks, learned, active, start)


class KeptJoin:
    """A loop whose windows are in a store."""

    def __init__(self, loop: WindowedJoin, head: Head) -> None:
        self.loop = loop
        self.head = head
        self._sizes: dict[str, dict[int, int]] = {alias: {} for alias in loop.streams}
        self.reloaded = dict.fromkeys(loop.streams, 0)
        """Chunks read from the store since this was last taken."""

    @classmethod
    def open(cls, store: ChunkStore, query: str, warm: KeptJoin | None, fresh: Callable[[], WindowedJoin]) -> KeptJoin:
        """The windows as the store has them. `query`: what they must be of."""
        data = store.head()
        if data is None:
            kept = cls(fresh(), Head.begin(query))
            store.set_head(kept.head.bytes())
            return kept
        head = Head.read(data)
        if head.query != query:
            difference = _difference(head.query, query, fresh().binding.tick_ns)
            raise CheckpointError(
                f"this checkpoint was written by another join: {difference}. Start it as it "
                f"was{_same_buckets(head.query)}, or give the new one a checkpoint of its own"
            )
        if warm is not None and warm.head.version == head.version:
            return warm
        if warm is None or not head.knows(warm.head.version):
            warm = cls(fresh(), Head.begin(query))
        warm._catch_up(store, head)
        return warm

    def _catch_up(self, store: ChunkStore, head: Head) -> None:
        loop = self.loop
        self.head = head
        loop.watermarks.restore(head.marks) if head.marks else None
        mark = loop.watermarks.query
        for alias, there in head.chunks.items():
            window, sizes = loop.windows[alias], self._sizes[alias]
            for number in (n for low, end in there for n in range(max(low, window.next_chunk), end)):
                data = store.chunk(alias, number)
                if data is not None:
                    window.restore([(number, data)])
                    sizes[number] = len(data)
                    self.reloaded[alias] += 1
            # copies elsewhere read on from the number they have come to: a number that is used again is not seen there
            window.restore((), there[-1][1])
        loop.forget(BEGINNING if mark is None else mark)
        for alias in head.chunks:
            self._forget(alias, loop.windows[alias].changes().removed)
        loop.learn(head.learned)

    def keep(
        self, store: ChunkStore, active: Mapping[str, int] | None = None, start: str | None = None
    ) -> None:  # fmt: skip
        """Write what the last round changed."""
        loop = self.loop
        chunks: dict[str, Runs] = {}
        for alias in loop.streams:
            window, sizes = loop.windows[alias], self._sizes[alias]
            changes = window.changes()
            for number, data in changes.added.items():
                store.add(alias, number, data)
                sizes[number] = len(data)
            for number in changes.removed:
                store.remove(alias, number)
            self._forget(alias, changes.removed)
            chunks[alias] = runs(sizes, window.next_chunk)
        self.head = self.head.next(chunks, loop.watermarks.snapshot(), loop.learned(), active, start)
        store.set_head(self.head.bytes())

    def _forget(self, alias: str, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._sizes[alias].pop(number, None)

    def in_store(self, alias: str) -> tuple[int, int]:
        """Chunks of a stream and their bytes."""
        return len(self._sizes[alias]), sum(self._sizes[alias].values())

    @property
    def nbytes(self) -> int:
        """Memory of the copy."""
        return self.loop.nbytes


def pieces(batches: Iterable[pa.RecordBatch], most: int = CHUNK_BYTES) -> Iterator[pa.RecordBatch]:
    """The same rows in few batches that make chunks of bounded size: small ones together, large ones cut.

    >>> [p.num_rows for p in pieces([pa.record_batch({"k": [0] * n}) for n in (2, 3, 100)], most=160)]
    [5, 20, 20, 20, 20, 20]
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if waiting and sum(b.nbytes for b in waiting) + batch.nbytes > most:
            yield one_batch(waiting)
            waiting = []
        parts = max(1, -(-batch.nbytes // most))
        rows = max(1, -(-batch.num_rows // parts))
        if parts > 1:
            yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))
        else:
            waiting.append(batch)
    if waiting:
        yield one_batch(waiting)


def runs(numbers: Iterable[int], end: int) -> Runs:
    """Few, since chunks come and go in about one order.

    >>> runs([5, 3, 4, 9], 12), runs([5], 6), runs([], 7)
    (((3, 6), (9, 10), (12, 12)), ((5, 6),), ((7, 7),))
    """
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    if not found or found[-1][1] != end:
        found.append((end, end))
    return tuple(found)


def _version() -> str:
    return secrets.token_hex(8)


def _same_buckets(query: str) -> str:
    """The number is often nobody's choice: it follows the machine."""
    found = re.search(r"^buckets=\d+", query, re.MULTILINE)
    return f", with {found[0]}" if found else ""


def _difference(old: str, new: str, tick_ns: int | None) -> str:
    """Of two texts of lines: those that are not in both, with lengths of time in words.

    >>> _difference("a: window of 5000000 ticks", "a: window of 5010000 ticks", 1_000)
    "it had 'a: window of 5 s'; now there is 'a: window of 5 s 10 ms'"
    """

    def told(line: str) -> str:
        return repr(re.sub(r"(?<=: window of )(\d+) ticks", lambda found: exactly(int(found[1]), tick_ns), line))

    before, after = old.splitlines(), new.splitlines()
    told_of = [f"it had {told(line)}" for line in before if line not in after] + [
        f"now there is {told(line)}" for line in after if line not in before
    ]
    return "; ".join(told_of) or "its streams are written in another order"
