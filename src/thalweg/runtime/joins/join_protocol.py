"""The interface of the loops that run windowed joins. Runtimes, records and state use only this interface.

`JoinLoop` joins all streams at once and holds only their windows. `TreeLoop` joins two at a time and also holds inner
results. Both return the same results for the same rows, and their durable state is the same: the rows of the streams'
windows, in chunks (`kernels/window_chunks.py`), and the watermarks. So each can continue from the state of the other,
or of a tree of another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.events.parts import JoinedCounts
from thalweg.kernels.window_chunks import Changes, WindowChunks, WindowRows
from thalweg.plan.joins.graph import KeyClasses
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.filters.loop_ledger import Work
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import JoinIntake
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.watermark import Watermarks

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Probed:
    """The probes of the rows of one stream since this was last taken. Lists in `work` are in the order of `others`."""

    others: tuple[str, ...]
    order: tuple[int, ...]
    """The order in which the others are probed now."""
    work: Work
    looked: int
    """The number of index entries compared by probes."""


class JoinWindow(Protocol):
    """The rows of one stream or table that may still have partners. `WindowStore` implements it."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """The memory of the window, in bytes."""
        ...

    @property
    def next_chunk(self) -> int:
        """The number of the next chunk."""
        ...

    def changes(self) -> Changes:
        """Return the chunks that a snapshot must add and remove since the last call."""
        ...

    def restore(self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0) -> None:
        """Load the chunks of a snapshot that this window has not seen. No results are produced."""
        ...

    @property
    def chunks(self) -> WindowChunks | None:
        """The chunks in which the rows are saved; None without snapshots."""
        ...

    def take_over(self, rows: WindowRows, chunks: WindowChunks | None) -> None:
        """Insert rows that another window had, which are in these chunks already. No results are produced."""
        ...


class WindowedJoin(Protocol):
    """The loop of a join, with the state that outlives batches."""

    @property
    def binding(self) -> JoinBinding:
        """The plan, bound to the columns."""
        ...

    @property
    def options(self) -> JoinOptions:
        """The options the loop was created with."""
        ...

    @property
    def clock(self) -> Callable[[], int]:
        """The clock that measures the work, in nanoseconds."""
        ...

    @property
    def shape(self) -> Shape:
        """The plan: which sub-joins are kept."""
        ...

    @property
    def outgrown(self) -> bool:
        """Whether kept sub-joins are incomplete because they need too much memory. If so, the plan must be changed
        before the next batch."""
        ...

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams, without tables."""
        ...

    @property
    def intake(self) -> JoinIntake:
        """The selection of the rows that take part."""
        ...

    @property
    def watermarks(self) -> Watermarks:
        """The watermarks of the streams and of the query."""
        ...

    @property
    def counts(self) -> dict[str, JoinedCounts]:
        """The counters by stream and table, without those of probes."""
        ...

    @property
    def windows(self) -> Mapping[str, JoinWindow]:
        """The windows by stream and table."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory of all windows and inner results, in bytes."""
        ...

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the results that these rows complete. Consume all of them before passing the next rows."""
        ...

    def find_late(self, alias: str, batch: pa.RecordBatch) -> None:
        """Set aside rows that are late or have no time, and do nothing else: no row is probed, joined or stored."""
        ...

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """Return the smallest time of a batch; `BEGINNING` if it has none."""
        ...

    def end_round(self) -> None:
        """End a round: advance the watermarks and expire rows."""
        ...

    def expire(self, before: int) -> None:
        """Remove and count the rows that can have no partner if no further row is older than `before`."""
        ...

    def forget(self, before: int) -> Mapping[str, int]:
        """Remove the same rows as `expire` without counting them. Return their number by stream."""
        ...

    def contents(self, alias: str) -> WindowRows:
        """Return the rows of a window with the keys by which a multiway join indexes them."""
        ...

    def words(self, alias: str, key: KeyClasses, rows: Words) -> tuple[Words, Words, Words]:
        """Return the keys, times and ends of some rows of a window, by their places in it."""
        ...

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Return the rows and bytes of each window."""
        ...

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by stream, the order in which its rows look for partners in the others."""
        ...

    def take_probed(self, alias: str) -> Probed:
        """Return the work done for the rows of a stream since the last call."""
        ...

    def take_inner(self) -> Mapping[str, JoinedCounts]:
        """Return the counters of inner results since the last call, by name; a multiway join has none."""
        ...

    def learned(self) -> Mapping[str, Any]:
        """Return, by stream, what a new loop should start with, as values for JSON."""
        ...

    def learn(self, learned: Mapping[str, Any]) -> None:
        """Continue from what another loop has learned, as far as it applies here."""
        ...
