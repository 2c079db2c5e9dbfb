"""Packs the rows of a stream for the buckets of a join: a few rows of bytes are sent instead of many rows of columns.

If a stream has a column of the class by which the join is partitioned, its rows are spread over the buckets by a hash
of this column. The salt of the hash is the same in all tasks, and for as long as the buckets keep their rows. Any other
stream is sent to every bucket. The last rows of a task send every bucket the latest time that the task has seen, so
that all buckets have the same watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from thalweg.kernels.columns import take_rows
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.kernels.spreading import spread
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import latest_of
from thalweg.runtime.watermark import BEGINNING

PACKED = pa.schema(
    [
        ("bucket", pa.int32()),
        ("stream", pa.int32()),
        ("first", pa.int64()),
        ("latest", pa.int64()),
        ("chunk", pa.binary()),
    ]
)
"""The columns of packed rows. `first`: the smallest time of a chunk's rows. `latest`: the largest trusted time that the
task has seen, sent once per task and bucket; otherwise `BEGINNING` (with nulls PySpark would make it a float)."""
NOW = "__thalweg_now"
"""The column with the time of the clock, or the day. It is the same in all rows of a micro-batch, even if that is run
again."""
DAY_US = 86_400_000_000
TOGETHER_ROWS = 200_000
TOGETHER_BYTES = 16 << 20
"""Rows are packed when there are this many rows or bytes."""


@dataclass(frozen=True)
class Packing:
    """Packs the rows of one stream."""

    binding: JoinBinding
    alias: str
    key: int | None
    """The class by which rows are spread; None if every bucket gets all rows."""
    buckets: tuple[int, ...]
    """The ids of the buckets."""

    def pack(
        self, batches: Iterable[pa.RecordBatch], ahead: int | None = None, salt: Salt = NO_SALT
    ) -> Iterator[pa.RecordBatch]:
        """Return batches with the schema `PACKED`. `ahead`: how far a time may be ahead of the column `NOW` and be
        trusted; None for any time. `salt`: the same in all tasks, and for as long as packed rows are held."""
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        latest = BEGINNING
        bound: int | None = None
        some = False
        for batch in batches:
            if not batch.num_rows:
                continue
            some = True
            if ahead is not None and bound is None:
                bound = _now(batch.column(NOW)[0]) + ahead
            batch = self.binding.plain(self.alias, batch)
            times, known = self.binding.times(self.alias, batch)
            trusted, _ = latest_of(times if known is None else times[known], bound)
            latest = latest if trusted is None else max(trusted, latest)
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= TOGETHER_ROWS or size >= TOGETHER_BYTES:
                yield from self._packed(waiting, BEGINNING, False, salt)
                waiting, rows, size = [], 0, 0
        if some:
            yield from self._packed(waiting, latest, True, salt)

    def _packed(self, waiting: list[pa.RecordBatch], latest: int, last: bool, salt: Salt) -> Iterator[pa.RecordBatch]:
        number = self.binding.plan.graph.aliases.index(self.alias)
        made: list[tuple[int, int, memoryview | None]] = []
        size = 0
        before: tuple[pa.RecordBatch | None, int, memoryview | None] = None, BEGINNING, None
        for bucket, rows in zip(self.buckets, self._parts(waiting, salt), strict=True):
            if rows is None and not last:
                continue
            if rows is not before[0]:  # a stream that every bucket gets is serialized once
                before = (
                    (None, BEGINNING, None) if rows is None else (rows, self._first(rows), memoryview(rows.serialize()))
                )
            made.append((bucket, *before[1:]))
            size += 0 if before[2] is None else before[2].nbytes
            if size >= TOGETHER_BYTES:
                yield self._rows(number, made, latest)
                made, size = [], 0
        if made:
            yield self._rows(number, made, latest)

    def _rows(self, number: int, made: list[tuple[int, int, memoryview | None]], latest: int) -> pa.RecordBatch:
        buckets, firsts, chunks = zip(*made, strict=True)
        n = len(made)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(buckets, pa.int32()), pa.array([number] * n, pa.int32()), pa.array(firsts, pa.int64()),
                pa.array([latest] * n, pa.int64()), pa.array(chunks, pa.binary()),
            ],
            schema=PACKED,
        )  # fmt: skip

    def _parts(self, waiting: list[pa.RecordBatch], salt: Salt) -> list[pa.RecordBatch | None]:
        """Return the rows of each bucket; None if it has none."""
        if not waiting:
            return [None] * len(self.buckets)
        whole = one_batch(waiting)
        if self.key is None or len(self.buckets) == 1:
            return [whole] * len(self.buckets)
        graph = self.binding.plan.graph
        words, _ = self.binding.kinds[self.key].words(whole.column(graph.column_of[self.key][self.alias]), salt)
        order, ends = spread(words, len(self.buckets), salt)
        spread_rows = pa.RecordBatch.from_arrays([take_rows(c, order) for c in whole.columns], schema=whole.schema)
        starts = [0, *ends[:-1].tolist()]
        return [
            spread_rows.slice(start, end - start) if end > start else None
            for start, end in zip(starts, ends.tolist(), strict=True)
        ]

    def _first(self, rows: pa.RecordBatch) -> int:
        """Return the smallest time of the rows; `BEGINNING`, which is before all others, if a row has no time."""
        times, known = self.binding.times(self.alias, rows)
        return int(times.min()) if known is None else BEGINNING


def _now(clock: pa.Scalar) -> int:
    """Return the time in microseconds. For a day, it is the time at which the day has ended in every time zone."""
    return (clock.value + 2) * DAY_US if pa.types.is_date(clock.type) else int(clock.value)


def one_batch(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches. Together they must be far below 2 GB."""
    if len(batches) == 1:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def unpacked(binding: JoinBinding, alias: str, chunk: bytes) -> pa.RecordBatch:
    """Return the rows of a packed chunk."""
    return pa.ipc.read_record_batch(pa.py_buffer(chunk), binding.schemas[alias])
