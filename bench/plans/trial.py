"""One run of one plan in this process: the CPU time of the join, without that of looking at its results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import thalweg as tw
from bench.joins.checksum import Checksum
from bench.plans.streams import JoinRows
from thalweg.adaptive_joins import Join
from thalweg.errors import JoinLimitError
from thalweg.events import JoinObserved
from thalweg.events.parts import WindowCounts

MOST_BYTES = 6 << 30
"""The memory that a plan may use; a plan that needs more is stopped."""


class _StoppedError(Exception):
    """Raised inside a join that takes too long, when it asks for its next batch."""


@dataclass(frozen=True)
class PlanTrial:
    """What a run took. A run that was stopped has no result."""

    cpu_seconds: float
    result: tuple[int, int] | None
    second_half: float
    """The CPU seconds after half of the stream time had been read; 0 if it was stopped before."""
    share: float
    """The share of the rows that were read: 1 unless it was stopped."""
    stopped: str = ""
    """Why it was stopped: `cpu` or `bytes`."""
    held_rows: int = 0
    held_bytes: int = 0
    """The rows and bytes of the streams' windows at their largest, from the report."""
    kept_made: int = 0
    """The rows that were put into kept sub-joins."""
    kept_rows: int = 0
    kept_bytes: int = 0
    """The rows and bytes of kept sub-joins at their largest."""
    start_seconds: float = 0.0
    """The CPU seconds until the first batch had been joined, such as those of choosing a plan."""
    cpu_by_slice: tuple[float, ...] = ()
    """The CPU seconds of the batches of each slice of time, without those of the start."""
    bytes_by_slice: tuple[int, ...] = ()
    """The most bytes of windows and kept sub-joins at the reports of each slice; 0 before the first report."""


def join_of(joined: JoinRows, **given: Any) -> Join:
    """Return the join with all columns, as a user writes it."""
    return tw.join(joined.drawn.on, joined.windows, "ts", max_bytes=MOST_BYTES, seed=1, **given)


def run(joined: JoinRows, join: Join, limit_s: float = float("inf")) -> PlanTrial:
    """Run a join over all rows; it is stopped when it has taken more CPU time than the limit."""
    checksum = Checksum(joined.drawn.aliases)
    half_us = joined.drawn.run_seconds * 1e6 / 2
    half: float | None = None
    held, read, stopped = 0.0, 0, ""
    slice_us = joined.drawn.run_seconds * 1e6 / joined.slices
    cpu_by_slice, bytes_by_slice, reported = [0.0] * joined.slices, [0] * joined.slices, 0
    sizes: list[int] = []
    join._receiver.listeners.append(
        lambda record: sizes.append(record.window.bytes) if isinstance(record, JoinObserved) else None
    )
    begun = time.process_time()
    start: float | None = None
    marked = 0.0

    def taken() -> float:
        return time.process_time() - begun - held

    def served(place: int) -> None:
        """Count the time since the last batch, and what was held at the last report."""
        nonlocal start, marked, reported
        now = taken()
        if start is None:
            start = now
        else:
            cpu_by_slice[place] += now - marked
        marked = now
        if sizes:
            reported = sum(sizes)
            sizes.clear()
        bytes_by_slice[place] = max(bytes_by_slice[place], reported)

    def fed(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonlocal half, read
        for batch in batches:
            if half is None and batch.column("ts")[0].value >= half_us:
                half = taken()
            if taken() > limit_s:
                raise _StoppedError
            yield batch
            read += batch.num_rows
            served(min(int(batch.column("ts")[0].value / slice_us), joined.slices - 1))

    try:
        for batch in join.over(**{alias: fed(batches) for alias, batches in joined.batches.items()}):
            looked = time.process_time()
            checksum.add(batch)
            held += time.process_time() - looked
            if taken() > limit_s:
                raise _StoppedError
    except _StoppedError:
        stopped = "cpu"
    except JoinLimitError:
        stopped = "bytes"
    cpu = taken()
    if start is not None:
        cpu_by_slice[-1] += cpu - marked  # the last report, and expiring what is left
    sections = join.report().sections
    streams = WindowCounts.of_buckets(stream.window for section in sections for stream in section.streams.values())
    kept = [inner for section in sections for inner in section.inner.values()]
    return PlanTrial(
        cpu, None if stopped else checksum.result, 0.0 if half is None else cpu - half, read / joined.rows, stopped,
        streams.most_rows, streams.most_bytes, sum(one.stream.rows for one in kept),
        sum(one.window.most_rows for one in kept), sum(one.window.most_bytes for one in kept),
        cpu if start is None else start, tuple(cpu_by_slice), tuple(bytes_by_slice),
    )  # fmt: skip
