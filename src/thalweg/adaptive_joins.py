"""The public face of windowed joins: `join(...)` makes a :class:`Join`, which is applied to streams."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thalweg.events import JsonLines, Record
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window_length import Length
from thalweg.report import JoinReport, JoinTally
from thalweg.runtime.join_settings import JoinSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.runtime.local.joins import Source


def join(
    on: str,
    window: Length | Mapping[str, Length],
    time: str | Mapping[str, str],
    lateness: Length | Mapping[str, Length] = "0 seconds",
    policy: str = "auto",
    *,
    select: Sequence[str] | None = None,
    budget: float | None = None,
    max_matches: int | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
) -> Join:
    """A join of two or more streams over time windows, whose probing order follows the data.

    Rows, one of each stream, are a result when all conditions hold and, with t the largest of their times, each of
    them is at most its stream's window older than t; equal times are within a window of zero. What is joined never
    depends on the order in which windows are probed, nor on how the streams are cut into batches, as long as no row is
    late.

    Parameters
    ----------
    on
        Conditions, as in SQL: ``"a.k = b.k AND a.k = c.k AND c.m = d.m"``. The names before the dots are the streams.
        Equalities must connect all of them; further conditions (``a.price < b.limit``) are checked on joined rows. Null
        equals nothing.
    window
        How much older than the newest row of a result a row may be: ``"10 seconds"``, a timedelta, or a dict with one
        entry a stream. Where times are whole numbers, a whole number.
    time
        The column with a row's time, or a dict with one entry a stream: timestamps, or whole numbers.

        What a dict of windows or of times leaves out is a table: its rows have no time and join with rows of any time.
    lateness
        How far a stream may be out of order. A row older than the query's watermark (the least, over the streams, of
        the largest time read minus the lateness) is late: counted, and not joined.
    policy, budget
        As for :func:`thalweg.filters`: the probe of a window is a filter, and each stream has an order of its own.
        ``"written"`` probes in the order of `on`.
    select
        The columns of the result: ``["a.price", "b.*", "event_time"]``; None: all. Windows hold only what is selected
        or compared by value.
    max_matches
        Matches a single row may have by its keys, ten million by default; more is an error that names them.
    slice_rows, seed, events
        As for :func:`thalweg.filters`.

    The result has the columns ``<stream>_<column>``, those of `select` in its order, and ``event_time``, the largest of
    the times, last unless it is listed. Dictionary-encoded
    columns and views come as the plain text, bytes or numbers they stand for.

    >>> import pyarrow as pa, thalweg as tw
    >>> j = tw.join(on="a.k = b.k", window=10, time="t", lateness=0)
    >>> clicks = pa.table({"k": ["x", "y"], "t": [100, 101]})
    >>> buys = pa.table({"k": ["x", "y"], "t": [105, 200]})
    >>> [row for batch in j.over(a=clicks, b=buys) for row in batch.to_pylist()]
    [{'a_k': 'x', 'a_t': 100, 'b_k': 'x', 'b_t': 105, 'event_time': 105}]
    """
    plan = JoinPlan.of(on, window, time, lateness, select)
    given = {
        "policy": policy, "budget": budget, "max_matches": max_matches, "slice_rows": slice_rows, "seed": seed,
        "events": events,
    }  # fmt: skip
    settings = JoinSettings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    return Join(plan, settings)


class Join:
    """Apply it to Arrow batches with ``j.over(a=..., b=...)``; ask ``j.report()``."""

    def __init__(self, plan: JoinPlan, settings: JoinSettings) -> None:
        self._plan = plan
        self._settings = settings
        self._tally = JoinTally()
        self._identity = uuid.uuid4().hex
        self._passes = itertools.count(1)
        self._lines = JsonLines(settings.events) if settings.events is not None else None

    def over(self, /, **streams: Source) -> Iterator[pa.RecordBatch]:
        """The results over iterables of Arrow batches, tables, or whatever gives such batches (a ``pyarrow.dataset``, a
        Polars DataFrame, a DuckDB relation), one a stream, without Spark.

        They are read as results are asked for, the stream that is furthest behind in time first, but tables wholly
        before any other rows are joined; every call of this is a pass of its own, which learns from zero. A pass
        without results gives one empty batch, for its columns."""
        from thalweg.runtime.local.joins import join_batches

        run = f"local pass {next(self._passes)} of {self._identity[:8]}"
        return join_batches(self._plan, self._settings, streams, run, self._sink())

    def report(self) -> JoinReport:
        """What has been counted so far, one section a pass."""
        return self._tally.report()

    def _sink(self) -> Callable[[Record], None]:
        def both(record: Record) -> None:
            self._tally.add(record)
            if self._lines is not None:
                self._lines.write(record)

        return both

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process is the same join with a report of its own."""
        return Join, (self._plan, self._settings)

    def __repr__(self) -> str:
        return f"tw.join({self._plan.on!r})"
