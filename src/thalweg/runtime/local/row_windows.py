"""Windows of rows in this process: every row learns the time from which on it is not among the last n any more.

The last n rows at a time t are those by event time, ties by arrival, of all that are not later than t. A row is among
them until its n-th successor comes: that row's time is its end, and a result of time t may have it while t is before
that. A row is given on when that time is known, so n rows of the stream are held here.

>>> times = pa.record_batch({"ts": pa.array([1, 5, 3, 7], pa.timestamp("us"))})
>>> rows = list(with_ends([times], "ts", 2, lateness=2, column="end"))
>>> [(row["ts"].microsecond, row["end"] and row["end"].microsecond) for batch in rows for row in batch.to_pylist()]
[(1, 5), (3, 7), (5, None), (7, None)]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ROUND_ROWS = 10_000


def with_ends(
    batches: Iterable[pa.RecordBatch], time: str, count: int, lateness: int, column: str
) -> Iterator[pa.RecordBatch]:
    """Rows by event time, each with its end in `column`; null: it has none. Rows without a time are given on as they
    are; rows later than the lateness allows have no place among the others and are left out, which is warned of."""
    held: pa.Table | None = None
    latest: int | None = None
    given: int | None = None
    late = 0
    for batch in batches:
        kind = batch.schema.field(time).type
        for start in range(0, max(batch.num_rows, 1), ROUND_ROWS):
            part = batch.slice(start, ROUND_ROWS)
            known = part.filter(pc.is_valid(part.column(time)))
            if known.num_rows < part.num_rows:
                nowhere = part.filter(pc.is_null(part.column(time)))
                yield nowhere.append_column(column, pa.nulls(nowhere.num_rows, kind))
            ticks = _ticks(known.column(time))
            if given is not None and len(ticks):
                in_time = ticks >= given
                late += int(len(ticks) - in_time.sum())
                known, ticks = known.filter(pa.array(in_time)), ticks[in_time]
            if not len(ticks):
                continue
            new = pa.Table.from_batches([known])
            held = new if held is None else pa.concat_tables([held, new])
            order = np.argsort(_ticks(held.column(time).combine_chunks()), kind="stable")
            held = held.take(pa.array(order)).combine_chunks()
            latest = int(ticks.max()) if latest is None else max(latest, int(ticks.max()))
            times = _ticks(held.column(time).combine_chunks())
            # what is not later than the watermark stands where it stands: whatever comes, comes behind it
            final = int(np.searchsorted(times, latest - lateness, side="right"))
            ready = final - count
            if ready > 0:
                ends = held.column(time).slice(count, ready)
                out = held.slice(0, ready).append_column(column, ends)
                yield from out.combine_chunks().to_batches()
                given = int(times[ready - 1])
                held = held.slice(ready)
    if held is not None and held.num_rows:
        kind = held.schema.field(time).type
        ends = pa.chunked_array(
            [*held.column(time).slice(count).chunks, pa.nulls(min(count, held.num_rows), kind)], kind
        )
        yield from held.append_column(column, ends).combine_chunks().to_batches()
    if late:
        warnings.warn(
            f"{late:,} rows came later than the lateness of their stream allows and are in no window of rows: raise "
            "its lateness=",
            stacklevel=2,
        )


def _ticks(array: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    ticks: NDArray[np.int64] = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return ticks
