"""The interface of the loops that run windowed joins: what carriers, records and state use of them.

`JoinLoop` joins all streams at once and holds nothing but their windows. `TreeLoop` joins two at a time and holds inner
results besides. Both give the same results for the same rows, and the durable part of both is the same: the rows of the
streams' windows, in chunks (`kernels/window_chunks.py`), and the watermarks. So one of them can continue from the state
of the other, or of a tree of another shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from thalweg.kernels.window_chunks import Changes
from thalweg.runtime.filters.loop_ledger import Work
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import JoinIntake, StreamCounts
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.watermark import Watermarks


@dataclass(frozen=True, slots=True)
class Probed:
    """How the rows of one stream were probed for, since this was last taken. Lists of `work` are by `others`."""

    others: tuple[str, ...]
    order: tuple[int, ...]
    """In which the others are probed now."""
    work: Work
    looked: int
    """Entries of indexes compared by probes."""


@dataclass(frozen=True, slots=True)
class InnerResult:
    """Rows that a tree of joins has put together from some of its streams."""

    made: int
    """Since this was last taken; this and the next."""
    expired: int
    rows: int
    """Held now."""
    nbytes: int
    most_rows: int
    """Held at once so far."""
    most_bytes: int


class StreamWindow(Protocol):
    """The rows of one stream or table that may still have partners. `WindowStore` is one."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Memory held."""
        ...

    @property
    def next_chunk(self) -> int:
        """The number of the chunk that is made next."""
        ...

    def changes(self) -> Changes:
        """What a snapshot must add and remove since the last call."""
        ...

    def restore(self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0) -> None:
        """Take over chunks of a snapshot that it has not seen. No result comes of it."""
        ...


class WindowedJoin(Protocol):
    """The loop of a join: state that outlives batches."""

    @property
    def binding(self) -> JoinBinding:
        """The plan and the columns."""
        ...

    @property
    def options(self) -> JoinOptions:
        """What it was made with."""
        ...

    @property
    def streams(self) -> tuple[str, ...]:
        """Without tables."""
        ...

    @property
    def intake(self) -> JoinIntake:
        """Which rows take part."""
        ...

    @property
    def watermarks(self) -> Watermarks:
        """Of the streams and of the query."""
        ...

    @property
    def counts(self) -> dict[str, StreamCounts]:
        """By stream and table; whoever takes them puts new ones there."""
        ...

    @property
    def windows(self) -> Mapping[str, StreamWindow]:
        """By stream and table."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory of all that it holds."""
        ...

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The results that come with these rows. All of them must be taken before the next rows are given."""
        ...

    def find_late(self, alias: str, batch: pa.RecordBatch) -> None:
        """Set rows aside that are late or have no time, and nothing else: no row is probed for, joined or held."""
        ...

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """The least time of a batch; before all others where it has none."""
        ...

    def end_round(self) -> None:
        """The batches of a round have been processed: watermarks move, rows expire."""
        ...

    def expire(self, before: int) -> None:
        """No row older than that will come any more: forget what can have no partner, and count it."""
        ...

    def forget(self, before: int) -> Mapping[str, int]:
        """The same without counting; how many rows of each stream were forgotten."""
        ...

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and bytes of each window."""
        ...

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """By stream, in which order its rows look for partners in the others."""
        ...

    def take_probed(self, alias: str) -> Probed:
        """What was done for the rows of a stream since the last call."""
        ...

    def take_inner(self) -> Mapping[str, InnerResult]:
        """What is held besides the windows, by name; nothing in a multiway join."""
        ...

    def learned(self) -> Mapping[str, Any]:
        """By stream, what a new loop should begin with, ready for JSON."""
        ...

    def learn(self, learned: Mapping[str, Any]) -> None:
        """Continue from what another loop has learned, as far as it is of use here."""
        ...
