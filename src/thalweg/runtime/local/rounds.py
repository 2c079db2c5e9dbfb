"""The rounds in which this process reads a stream: batches of at most `ROUND_ROWS` rows.

A row is late if its time is below the watermark at the start of its round (`runtime/watermark.py`). So all operators
that detect late rows in this process (joins, aggregates and windows of rows) read the same rounds. The times of a round
are recorded before any condition drops rows, because whether a row is late must not depend on where the optimizer puts
a filter.

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

from thalweg.plan.joins.window import TICK_NS

ROUND_ROWS = 10_000
"""The most rows of a round, so that state can expire while a large batch is read."""


def in_rounds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches, with large ones cut into slices."""
    for batch in batches:
        if batch.num_rows <= ROUND_ROWS:
            yield batch
        else:
            yield from (batch.slice(start, ROUND_ROWS) for start in range(0, batch.num_rows, ROUND_ROWS))


class Rounds:
    """A stream in rounds, and the times of the rows read so far. `time` names a column of timestamps, `number` a column
    that the stream does not have."""

    def __init__(self, time: str, number: str = "round") -> None:
        self._time, self._number = time, number
        self._times: list[tuple[int | None, int | None]] = []
        self.first_ns: int | None = None
        """The smallest time of the round that was read last; None if it has no times."""
        self.latest_ns: int | None = None
        """The largest time of all rounds so far."""

    def of(
        self,
        batches: Iterable[pa.RecordBatch],
        passing: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] = iter,
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows that pass, one batch per round. `passing` returns one batch for each input batch, with some
        of its rows. It gets whole batches, so it is called less often than if they were cut before."""
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
        """Return the batches; if a batch is several rounds, with a column for the number of each row's round."""
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
