"""Windows of rows in this process: every row gets the time from which it is no longer among the last n rows.

The last n rows at a time t are the latest n by event time (ties by arrival) of all rows that are not later than t. A
row is among them until its n-th successor: the time of that row is its end, and a result of time t may contain the row
if t is before the end. A row is passed on when its end is known, so n rows of the stream are held here.

>>> times = pa.record_batch({"ts": pa.array([1, 5, 3, 7], pa.timestamp("us"))})
>>> rows = list(with_ends([times], "ts", 2, lateness=2, column="end"))
>>> [(row["ts"].microsecond, row["end"] and row["end"].microsecond) for batch in rows for row in batch.to_pylist()]
[(1, 5), (3, 7), (5, None), (7, None)]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import warn_user
from thalweg.formatting import plural
from thalweg.runtime.local.rounds import in_rounds
from thalweg.runtime.watermark import Watermarks

IN_SQL = "the stream is not in order; raise lateness= of s.stream(...). q.late() returns these rows"
"""What to do about late rows of a query."""


def with_ends(
    batches: Iterable[pa.RecordBatch],
    time: str,
    count: int,
    lateness: int,
    column: str,
    on_late: Callable[[pa.RecordBatch], None] | None = None,
    stream: str = "the stream",
) -> Iterator[pa.RecordBatch]:
    """Return rows by event time, each with its end in `column`, or null if it has none. Rows without a time are passed
    on unchanged. Rows later than the lateness allows are left out with a warning; `on_late` is called with them."""
    window, rows = RowWindow(time, count, lateness, column, on_late), 0
    for batch in in_rounds(batches):
        rows += batch.num_rows
        yield from window.follow(batch)
    yield from window.rest()
    if window.late:
        warn_user(
            f"{window.late:,} of {plural(rows, 'row')} of {stream} came later than the lateness of {stream} allows and "
            f"are in no window of rows: {IN_SQL}"
        )


class RowWindow:
    """Does the same as `with_ends`, round by round."""

    def __init__(
        self, time: str, count: int, lateness: int, column: str, on_late: Callable[[pa.RecordBatch], None] | None = None
    ) -> None:
        self._time, self._column, self._on_late = time, column, on_late
        self._last = _Last(time, count, column)
        self._unsettled: pa.RecordBatch | None = None
        self._marks = Watermarks({time: lateness})
        self.late = 0
        """The number of rows left out."""

    def follow(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the rows whose ends are known after these rows."""
        time, marks = self._time, self._marks
        known = batch.filter(pc.is_valid(batch.column(time)))
        if known.num_rows < batch.num_rows:
            nowhere = batch.filter(pc.is_null(batch.column(time)))
            yield nowhere.append_column(self._column, pa.nulls(nowhere.num_rows, batch.schema.field(time).type))
        ticks = _ticks(known, time)
        if marks.query is not None:
            in_time = ticks >= marks.query
            lost = len(ticks) - int(in_time.sum())
            self.late += lost
            if lost and self._on_late is not None:
                self._on_late(known.filter(pa.array(~in_time)))
            known, ticks = known.filter(pa.array(in_time)), ticks[in_time]
        if not len(ticks):
            return
        marks.seen(time, int(ticks.max()))
        marks.end_round()
        assert marks.query is not None
        unsettled = self._unsettled
        unsettled = _in_order(known if unsettled is None else pa.concat_batches([unsettled, known]), time)
        # rows that are not later than the watermark keep their place, because all further rows come after them
        final = int(np.searchsorted(_ticks(unsettled, time), marks.query, side="right"))
        self._unsettled = unsettled.slice(final)
        yield from self._last.follow(unsettled.slice(0, final))

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Return all remaining rows, at the end of the stream."""
        if self._unsettled is not None:
            yield from self._last.follow(self._unsettled)
        yield from self._last.rest()

    @property
    def held(self) -> tuple[int, int]:
        """The rows and bytes that are held."""
        batches = [*self._last.rows, *([] if self._unsettled is None else [self._unsettled])]
        return sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)


class _Last:
    """The last rows so far, in order."""

    def __init__(self, time: str, count: int, column: str) -> None:
        self._time, self._count, self._column = time, count, column
        self.rows: deque[pa.RecordBatch] = deque()
        self._held = 0

    def follow(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add rows after all others. Return the rows that they replace, with their ends."""
        if not batch.num_rows:
            return
        self.rows.append(batch)
        self._held += batch.num_rows
        replaced = self._held - self._count
        ends = batch.column(self._time).slice(max(batch.num_rows - replaced, 0)) if replaced > 0 else None
        while replaced > 0:
            assert ends is not None
            first = self.rows.popleft()
            given = first.slice(0, replaced)
            if given.num_rows < first.num_rows:
                self.rows.appendleft(first.slice(given.num_rows))
            replaced -= given.num_rows
            self._held -= given.num_rows
            yield given.append_column(self._column, ends.slice(0, given.num_rows))
            ends = ends.slice(given.num_rows)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Return the rows that are not replaced; they have no end."""
        while self.rows:
            batch = self.rows.popleft()
            yield batch.append_column(self._column, pa.nulls(batch.num_rows, batch.schema.field(self._time).type))


def _in_order(batch: pa.RecordBatch, time: str) -> pa.RecordBatch:
    """Sort rows by time. Rows with the same time stay in the order in which they arrived."""
    ticks = _ticks(batch, time)
    if (ticks[1:] >= ticks[:-1]).all():
        return batch
    return batch.take(pa.array(np.argsort(ticks, kind="stable")))


def _ticks(batch: pa.RecordBatch, time: str) -> NDArray[np.int64]:
    ticks: NDArray[np.int64] = batch.column(time).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return ticks
