"""The windows of a join in a store of bytes that is kept from round to round, and a warm copy of them in this process.

For each stream, a store holds numbered chunks of rows, which are added and removed but never rewritten. It also holds
one head: the list of chunks, the watermarks, what policies have learned, and the *version*, a random name for each
round, with the versions of the rounds before.

Guarantee: a warm copy is used only if its version is that of the store, or an earlier one. Then the copy holds what the
store held at that time, and only the chunks added since are read. A copy that saw a round which was not kept (its task
failed, and the micro-batch is run again) has a version that the store does not know, and is discarded. So it does not
matter which process gets the next round.
Cost: a round writes what is new, and reads what this process has not seen.

The store holds only the windows of the streams, independent of the loop that joins them (`join_protocol`). A tree of
binary joins rebuilds its inner results when it is opened, so a join can continue as a multiway join or as a tree of any
shape.

>>> from thalweg.runtime.joins.join_state import StateHeader, runs
>>> head = StateHeader.begin("a.k = b.k, ...").next({"a": runs([0, 1, 5], 9)}, {}, {})
>>> again = StateHeader.read(head.bytes())
>>> again == head, again.next({}, {}, {}).knows(head.version), head.knows(again.next({}, {}, {}).version)
(True, True, False)
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn, Protocol

import pyarrow as pa

from thalweg.errors import CheckpointError
from thalweg.formatting import exact_time_span
from thalweg.runtime.joins.join_packing import one_batch
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.plan_watch import PlanWatch
from thalweg.runtime.watermark import BEGINNING

ANCESTORS = 64
"""The number of rounds a warm copy may lag; with more it reads everything."""
CHUNK_BYTES = 8 << 20
"""The approximate size of chunks; larger ones are split."""


Runs = tuple[tuple[int, int], ...]
"""Runs of numbers, from the first number to before the second. The last run, which may be empty, ends at the next
unused number."""


class ChunkStore(Protocol):
    """A store of the bytes: a state store of Spark, or a dict."""

    def head(self) -> bytes | None:
        """Return the head; None if nothing was ever written."""
        ...

    def set_head(self, data: bytes) -> None:
        """Replace the head with these bytes."""
        ...

    def chunk(self, stream: str, number: int) -> bytes | None:
        """Return a chunk; None if it was removed."""
        ...

    def add(self, stream: str, number: int, data: bytes) -> None:
        """Add a chunk with a number that was never used."""
        ...

    def remove(self, stream: str, number: int) -> None:
        """Remove a chunk that was added."""
        ...


@dataclass(frozen=True, slots=True)
class StateHeader:
    """The head of a store, which describes its chunks. It is stored as JSON."""

    query: str
    """The description of the query that the windows belong to. Another query cannot use them."""
    version: str
    ancestors: tuple[str, ...]
    chunks: Mapping[str, Runs]
    """The numbers of the existing chunks, by stream."""
    marks: Mapping[str, Any]
    learned: Mapping[str, Any]
    active: Mapping[str, int]
    """The clock time of the last rows of each stream, in ms."""
    start: str | None = None
    """The start of the query that wrote the head. The clock continues while a query is stopped."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """What was counted to choose the plan; empty if the plan is not watched."""

    @classmethod
    def begin(cls, query: str) -> StateHeader:
        """Return the head of empty windows."""
        return cls(query, _version(), (), {}, {}, {}, {})

    @classmethod
    def read(cls, data: bytes) -> StateHeader:
        """Parse a head that was written by `bytes`."""
        stored = json.loads(data)
        return cls(
            stored["query"], stored["version"], tuple(stored["ancestors"]),
            {alias: tuple((low, end) for low, end in found) for alias, found in stored["chunks"].items()},
            stored["marks"], stored["learned"], stored["active"], stored["start"], stored["plan"],
        )  # fmt: skip

    def bytes(self) -> bytes:
        """Return the head as JSON, for a store."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    def knows(self, version: str) -> bool:
        """Whether a copy of this version holds what the store holds now, or held in an earlier round."""
        return version == self.version or version in self.ancestors

    def next(
        self,
        chunks: Mapping[str, Runs],
        marks: Mapping[str, Any],
        learned: Mapping[str, Any],
        active: Mapping[str, int] | None = None,
        start: str | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> StateHeader:
        """Return the head after one more round."""
        ancestors = (*self.ancestors, self.version)[-ANCESTORS:]
        active = self.active if active is None else active
        return StateHeader(self.query, _version(), ancestors, chunks, marks, learned, active, start, plan or {})


class KeptJoin:
    """A loop whose windows are saved in a store."""

    def __init__(self, loop: WindowedJoin, head: StateHeader, watch: PlanWatch | None = None) -> None:
        self.loop = loop
        self.head = head
        self.watch = watch
        self._sizes: dict[str, dict[int, int]] = {alias: {} for alias in loop.streams}

    @classmethod
    def open(
        cls, store: ChunkStore, query: str, warm: KeptJoin | None, fresh: Callable[[], WindowedJoin],
        watched: Callable[[], PlanWatch | None] = lambda: None,
    ) -> KeptJoin:  # fmt: skip
        """Return a join with the windows of the store. `query`: the description of the query they must belong to.
        `fresh` and `watched` make a new loop and the watch of its plan."""
        data = store.head()
        if data is None:
            kept = cls(fresh(), StateHeader.begin(query), watched())
            kept.stay_within_limit()  # tables may have been joined with each other
            store.set_head(kept.head.bytes())
            return kept
        head = StateHeader.read(data)
        if head.query != query:
            refuse_another_join(head.query, query, fresh().binding.tick_ns)
        if warm is not None and warm.head.version == head.version:
            return warm
        if warm is None or not head.knows(warm.head.version):
            warm = cls(fresh(), StateHeader.begin(query), watched())
            if warm.watch is not None:
                warm.watch.restore(head.plan)
                warm.apply_plan()  # before there are rows that would be stored twice
        warm._catch_up(store, head)
        return warm

    def apply_plan(self) -> None:
        """Continue with the plan that was chosen, if it is another one."""
        if self.watch is not None:
            self.loop = self.watch.applied(self.loop)

    def stay_within_limit(self) -> None:
        """Continue without kept sub-joins if these need too much memory and the user has not asked for them."""
        if self.watch is not None:
            self.loop = self.watch.within_limit(self.loop)

    def _catch_up(self, store: ChunkStore, head: StateHeader) -> None:
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
                    loop.counts[alias].window.reloaded += 1
            # copies in other processes continue from the last number they read, so a number must never be used again
            window.restore((), there[-1][1])
        loop.forget(BEGINNING if mark is None else mark)
        for alias in head.chunks:
            self._forget(alias, loop.windows[alias].changes().removed)
        loop.learn(head.learned)
        if self.watch is not None:
            self.watch.restore(head.plan)
            self.apply_plan()
            self.stay_within_limit()

    def keep(
        self, store: ChunkStore, active: Mapping[str, int] | None = None, start: str | None = None
    ) -> None:  # fmt: skip
        """Write the changes of the last round to the store, with the plan from now on. It is applied before, because it
        may be refused for lack of memory: a process that restores the windows must not try it again."""
        self.apply_plan()
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
        plan = None if self.watch is None else self.watch.snapshot()
        self.head = self.head.next(chunks, loop.watermarks.snapshot(), loop.learned(), active, start, plan)
        store.set_head(self.head.bytes())

    def _forget(self, alias: str, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._sizes[alias].pop(number, None)

    def in_store(self, alias: str) -> tuple[int, int]:
        """Return the number of chunks of a stream in the store, and their bytes."""
        return len(self._sizes[alias]), sum(self._sizes[alias].values())

    @property
    def nbytes(self) -> int:
        """The memory of this copy, in bytes."""
        return self.loop.nbytes


def refuse_another_join(begun: str, query: str, tick_ns: int | None) -> NoReturn:
    """Raise the error for a checkpoint that was begun with another description of the join."""
    raise CheckpointError(
        f"this checkpoint was written by another join: {_difference(begun, query, tick_ns)}. Start the join as it "
        f"was{_same_buckets(begun)}{_same_columns(begun, query)}, or give the new join its own checkpoint "
        "and its own folder for results"
    )


def pieces(batches: Iterable[pa.RecordBatch], most: int = CHUNK_BYTES) -> Iterator[pa.RecordBatch]:
    """Return the same rows in few batches of bounded size: small batches are concatenated, large ones are split.

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
    """Return numbers as runs. There are few runs, because chunks are added and removed in nearly the same order.

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
    """Return the number of buckets for an error message. Users often do not set it: it depends on the machine."""
    found = re.search(r"^buckets=\d+", query, re.MULTILINE)
    return f", with {found[0]}" if found else ""


def _difference(old: str, new: str, tick_ns: int | None) -> str:
    """Return the lines that only one of two texts has, those of the same stream together, with lengths of time in
    readable form.

    >>> _difference("a: window of 5000000 ticks, stored ", "a: window of 5010000 ticks, stored b int64", 1_000)
    "it had 'a: window of 5 s, stored no column'; now there is 'a: window of 5 s 10 ms, stored b int64'"
    """

    def readable(line: str) -> str:
        line = re.sub(r"(?<=: window of )(\d+) ticks", lambda found: exact_time_span(int(found[1]), tick_ns), line)
        return repr(re.sub(r", stored $", ", stored no column", line))

    def subject(line: str) -> str:
        found = re.match(r"on |buckets=|[^:]*", line)
        assert found is not None
        return found[0]

    before, after = old.splitlines(), new.splitlines()
    added = [line for line in after if line not in before]
    differences = []
    for line in before:
        if line not in after:
            differences.append(f"it had {readable(line)}")
            same = [other for other in added if subject(other) == subject(line)]
            differences += [f"now there is {readable(other)}" for other in same]
            added = [other for other in added if other not in same]
    differences += [f"now there is {readable(line)}" for line in added]
    return "; ".join(differences) or "its streams are written in another order"


def _same_columns(before: str, now: str) -> str:
    """Return how rows come to be spread by the same columns again, for an error message; empty if they are.

    >>> _same_columns("buckets=2 by a.k = b.k", "buckets=2 by b.m = c.m")
    ' and the rates in statistics= that it had'
    >>> _same_columns("buckets=2 by a.k = b.k", "buckets=4 by a.k = b.k")
    ''
    """
    found = [re.search(r"^buckets=\d+ by (.*)", query, re.MULTILINE) for query in (before, now)]
    differs = None not in found and len({match[1] for match in found if match is not None}) > 1
    return " and the rates in statistics= that it had" if differs else ""
