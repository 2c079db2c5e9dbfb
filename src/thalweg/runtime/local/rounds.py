"""The rounds in which this process reads a stream: batches of at most `ROUND_ROWS` rows.

A row is late when its time is below the watermark at the start of its round (`runtime/watermark.py`). So whatever
judges late rows in this process, a join, an aggregate or a window of rows, reads the same rounds. A round's times are
taken before any condition drops rows of it: whether a row is late must not depend on where the optimizer puts a filter.

>>> batch = pa.record_batch({"t": pa.array([3, 9, None, 5], pa.timestamp("us"))})
>>> rounds = Rounds([batch], "t")
>>> [(each.num_rows, rounds.first_ns, rounds.latest_ns) for each in rounds]
[(4, 3000, 9000)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.plan.window_length import TICK_NS

ROUND_ROWS = 10_000
"""At most: state must be able to expire while a large batch is read."""


def in_rounds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch, large ones in slices."""
    for batch in batches:
        if batch.num_rows <= ROUND_ROWS:
            yield batch
        else:
            yield from (batch.slice(start, ROUND_ROWS) for start in range(0, batch.num_rows, ROUND_ROWS))


class Rounds(Iterable[pa.RecordBatch]):
    """A stream in rounds, and the times of what has been read of it; `time` names a column of timestamps."""

    def __init__(self, batches: Iterable[pa.RecordBatch], time: str) -> None:
        self._batches, self._time = batches, time
        self.first_ns: int | None = None
        """The least time of the round that was read last; None: it has none."""
        self.latest_ns: int | None = None
        """The largest time of all rounds so far."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in in_rounds(self._batches):
            times = batch.column(self._time)
            tick_ns = TICK_NS[times.type.unit]
            ends = pc.min_max(times)
            first, latest = (ends[end].value for end in ("min", "max"))
            self.first_ns = None if first is None else first * tick_ns
            if latest is not None:
                self.latest_ns = max(latest * tick_ns, latest * tick_ns if self.latest_ns is None else self.latest_ns)
            yield batch
