"""The rounds in which this process reads a stream: batches of at most `ROUND_ROWS` rows.

A row is late when its time is below the watermark at the start of its round (`runtime/watermark.py`). So whatever
judges late rows in this process, a join, an aggregate or a window of rows, reads the same rounds. A round's times are
taken before any condition drops rows of it: whether a row is late must not depend on where the optimizer puts a filter.

>>> batch = pa.record_batch({"t": pa.array([3, 9, None, 5], pa.timestamp("us"))})
>>> rounds = Rounds("t")
>>> [(each.num_rows, rounds.first_ns, rounds.latest_ns) for each in rounds.of([batch])]
[(4, 3000, 9000)]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.plan.window import TICK_NS

ROUND_ROWS = 10_000
"""At most: state must be able to expire while a large batch is read."""


def in_rounds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch, large ones in slices."""
    for batch in batches:
        if batch.num_rows <= ROUND_ROWS:
            yield batch
        else:
            yield from (batch.slice(start, ROUND_ROWS) for start in range(0, batch.num_rows, ROUND_ROWS))


class Rounds:
    """A stream in rounds, and the times of what has been read of it; `time` names a column of timestamps, `number` one
    that the stream does not have."""

    def __init__(self, time: str, number: str = "round") -> None:
        self._time, self._number = time, number
        self._times: list[tuple[int | None, int | None]] = []
        self.first_ns: int | None = None
        """The least time of the round that was read last; None: it has none."""
        self.latest_ns: int | None = None
        """The largest time of all rounds so far."""

    def of(
        self,
        batches: Iterable[pa.RecordBatch],
        passing: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] = iter,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that pass, one batch for each round. `passing` gives a batch for each it is given, with some of its
        rows, and is given whole batches: it is called less often than if they were cut before."""
        for batch in passing(self._numbered(batches)):
            if self._number not in batch.schema.names:
                self._begin(0)
                yield batch
                continue
            place = batch.schema.get_field_index(self._number)
            edges = np.searchsorted(batch.column(place).to_numpy(), np.arange(len(self._times) + 1))
            batch = batch.remove_column(place)
            for n, (start, end) in enumerate(itertools.pairwise(edges.tolist())):
                self._begin(n)
                yield batch.slice(start, end - start)

    def _numbered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """With the number of a row's round, where a batch is several."""
        for batch in batches:
            times, rows = batch.column(self._time), batch.num_rows
            tick_ns = TICK_NS[times.type.unit]
            ends = [pc.min_max(times.slice(start, ROUND_ROWS)) for start in range(0, max(rows, 1), ROUND_ROWS)]
            self._times = [
                (None, None)
                if each["min"].value is None
                else (each["min"].value * tick_ns, each["max"].value * tick_ns)
                for each in ends
            ]
            if rows > ROUND_ROWS:
                numbers = np.arange(rows, dtype=np.int32) // ROUND_ROWS
                batch = batch.append_column(self._number, pa.array(numbers))
            yield batch

    def _begin(self, n: int) -> None:
        self.first_ns, latest = self._times[n]
        if latest is not None:
            self.latest_ns = latest if self.latest_ns is None else max(latest, self.latest_ns)
