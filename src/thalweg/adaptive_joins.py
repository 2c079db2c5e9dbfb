"""The public face of windowed joins: `join(...)` makes a :class:`Join`, which is applied to streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thalweg.adapt import Chosen
from thalweg.deprecated import current_arguments
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window import Length, check_length
from thalweg.report import Explanation, JoinReport, JoinTally
from thalweg.report.applied import Applied
from thalweg.report.join_explain import JoinLayout, explain_layout, explain_plan
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.joins.join_settings import JoinSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.runtime.local.joins import Source
    from thalweg.runtime.local.rounds import Rounds


def join(
    on: str,
    window: Length | Mapping[str, Length],
    time: str | Mapping[str, str],
    lateness: Length | Mapping[str, Length] = "0 seconds",
    policy: Chosen | None = None,
    *,
    select: Sequence[str] | None = None,
    budget: float | None = None,
    max_matches: int | None = None,
    max_bytes: int | None = None,
    buckets: int | None = None,
    max_ahead: Length | None = "1 day",
    idle_after: Length | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
    redact: bool | None = None,
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
        The column with a row's time, or a dict with one entry a stream: timestamps, or whole numbers (not in streams of
        Spark).

        What a dict of windows or of times leaves out is a table: its rows have no time and join with rows of any time.
    lateness
        How far a stream may be out of order. A row older than the query's watermark (the least, over the streams, of
        the largest time read minus the lateness) is late: counted, and not joined.
    policy, budget
        As for :func:`thalweg.filters`, ``"auto"`` by default: the probe of a window is a filter, and each stream has an
        order of its own. ``"static"`` probes in the order of `on`.
    select
        The columns of the result: ``["a.price", "b.*", "event_time"]``; None: all. Windows hold only what is selected
        or compared by value.
    max_matches
        Matches a single row may have by its keys, ten million by default; more is an error that names them.
    max_bytes
        Memory that windows may hold, in bytes; more is an error. In this process it is for all windows of the join, and
        half of the machine's by default; on Spark for those of one bucket, and the half is shared by the cores.
    buckets
        On Spark, the parts in which windows are held and joined at once; by default as many as tasks run at once. A
        checkpoint refuses another number than it was begun with: say it where the machine may change.
    max_ahead
        On Spark streams: a row whose time is further ahead of the clock is joined, but does not move the watermark, so
        that one wrong row does not make all others late. None: any time is believed. Of a day or more, the clock is
        read to the day, and up to two days more are believed; of less, each micro-batch costs some 50 ms more.
    idle_after
        On Spark streams: a stream without rows for that long is not waited for any more. It can change the answer: its
        next rows may be late. By default every stream is waited for, however long.
    slice_rows, seed, events
        As for :func:`thalweg.filters`; the salt of hashes follows from `seed` too (docs/joins.md, Chosen keys).
    redact
        True: errors, reports and event records hold no value of a row. The keys of the row with the most matches are
        left out.

    What is not given of `policy`, `budget`, `max_matches`, `max_bytes`, `slice_rows`, `seed`, `events` and `redact` is
    taken from Spark's configuration (``spark.thalweg.policy``), then from the environment (``THALWEG_POLICY``), then
    from the default, each time the join is applied to data. `p`, `profile_window` and `alpha` of the paper's policies
    are read from there too.

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
    for name, lengths in (("window", window), ("lateness", lateness)):
        if isinstance(lengths, Mapping):
            for alias, length in lengths.items():
                check_length(length, f"{name} of {alias}")
        else:
            check_length(lengths, name)
    given = {
        "policy": policy, "budget": budget, "max_matches": max_matches, "max_bytes": max_bytes,
        "buckets": buckets, "max_ahead": max_ahead, "idle_after": idle_after, "slice_rows": slice_rows, "seed": seed,
        "events": events, "redact": redact,
    }  # fmt: skip
    return Join(plan, current_arguments(given))


class Join(Applied):
    """Apply it to DataFrames with ``j(a=A, b=B)``, or to Arrow batches with ``j.over(a=..., b=...)``; ask
    ``j.explain(a=A, b=B)`` and ``j.report()``. Rows that came late: ``j.tagged(...)``, ``j.late(...)``,
    ``j.tagged_over(...)``, ``j.late_over(...)``."""

    def __init__(self, plan: JoinPlan, given: Mapping[str, Any]) -> None:
        self._tally = JoinTally()
        super().__init__(self._tally.add)
        self._plan = plan
        self._given = given
        JoinSettings.resolve(given, environ={})  # refuses a wrong argument; what is set outside is read when applied
        self._was_attached = False

    def __call__(self, /, **streams: Any) -> Any:
        """The joined DataFrame of Spark DataFrames, one a stream, streaming or finished.

        Streams need the RocksDB state store (docs/joins.md) and come out in append mode. A finished DataFrame beside
        streaming ones is a table: it has no time and no window, is read when this is
        called, and held by every worker."""
        return self._attached(streams, JoinRows.RESULTS)

    def tagged(self, /, **streams: Any) -> Any:
        """As a call, and with the rows that are not joined because they came late or had no time: they have their own
        columns, null in all others, and say why in the column ``lost``, which is null in results. `event_time` carries
        no watermark here."""
        return self._attached(streams, JoinRows.TAGGED)

    def late(self, /, **streams: Any) -> Any:
        """The rows alone that are not joined because they came late or had no time, with the columns of `tagged`.

        This is a query of its own over the streams, with a checkpoint of its own: it joins nothing and holds no
        windows. Which rows are late depends on how Spark cuts streams into micro-batches, so that a query beside it may
        find others late; to write results and late rows of one run, write `tagged`."""
        return self._attached(streams, JoinRows.LATE)

    def _attached(self, streams: Mapping[str, Any], wanted: JoinRows) -> Any:
        from thalweg.runtime.spark.joins import attach

        settings = JoinSettings.in_force(self._given, _session_of(streams), look=not self._was_attached)
        self._was_attached = True
        joined, fetch = attach(self._plan, settings, streams, self._sink(settings.events), wanted)
        self._await(fetch)
        return joined

    def explain(self, /, **streams: Any) -> Explanation:
        """How these DataFrames of Spark will be joined: what is partitioned by what, what is replicated, what is held.
        Without data, what is known before: conditions, windows, and where new rows look for partners first.

        >>> import thalweg as tw
        >>> print(tw.join(on="a.k = b.k", window="10 seconds", time="ts", lateness="2 seconds").explain().physical.name)
        Join
        """
        if not streams:
            return explain_plan(self._plan, JoinSettings.in_force(self._given))
        from thalweg.runtime.spark.joins import lay_out

        settings = JoinSettings.in_force(self._given, _session_of(streams))
        laid = lay_out(self._plan, settings, streams)
        layout = JoinLayout(
            laid.binding, laid.partitioning, len(laid.buckets), laid.partitions, laid.streaming, laid.followed,
            {alias: tuple(df.columns) for alias, df in streams.items()},
        )  # fmt: skip
        return explain_layout(layout, settings)

    def over_telling(
        self,
        streams: Mapping[str, Source],
        watermark: Callable[[int | None], None],
        rounds: Mapping[str, Rounds] | None = None,
        wanted: JoinRows = JoinRows.RESULTS,
    ) -> Iterator[pa.RecordBatch]:
        """As `over`, `tagged_over` or `late_over`; `watermark` hears the query's watermark, in ticks, after every
        round: what joins what comes out must know when no older result can come. `rounds`: see `JoinPass`."""
        return self._over(streams, wanted, watermark, rounds)

    def over(self, /, **streams: Source) -> Iterator[pa.RecordBatch]:
        """The results over iterables of Arrow batches, tables, or whatever gives such batches (a ``pyarrow.dataset``, a
        Polars DataFrame, a DuckDB relation), one a stream, without Spark.

        They are read as results are asked for, the stream that is furthest behind in time first, but tables wholly
        before any other rows are joined, and relations of DuckDB wholly, since a connection has one open result; every
        call of this is a pass of its own, which learns from zero. A pass without results gives one empty batch, for its
        columns."""
        return self._over(streams)

    def tagged_over(self, /, **streams: Source) -> Iterator[pa.RecordBatch]:
        """As `over`, and with the rows that are not joined because they came late or had no time: they have their own
        columns, null in all others, and say why in the column ``lost``, which is null in results.

        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t", select=["a.k"])
        >>> clicks = [pa.record_batch({"k": ["x"], "t": [t]}) for t in (100, 120, 90)]
        >>> for batch in j.tagged_over(a=clicks, b=pa.table({"k": ["x"], "t": [105]})):
        ...     print(*batch.to_pylist(), sep="\\n")
        {'a_k': 'x', 'event_time': 105, 'a_t': None, 'b_k': None, 'b_t': None, 'lost': None}
        {'a_k': 'x', 'event_time': None, 'a_t': 90, 'b_k': None, 'b_t': None, 'lost': 'a: late'}
        """
        return self._over(streams, JoinRows.TAGGED)

    def late_over(self, /, **streams: Source) -> Iterator[pa.RecordBatch]:
        """The rows alone that `over` does not join because they came late or had no time, with the columns of
        `tagged_over`. Nothing is joined or held for them, and of tables only the columns are read."""
        return self._over(streams, JoinRows.LATE)

    def _over(
        self,
        streams: Mapping[str, Source],
        wanted: JoinRows = JoinRows.RESULTS,
        watermark: Callable[[int | None], None] | None = None,
        rounds: Mapping[str, Rounds] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        from thalweg.runtime.local.joins import JoinPass, join_batches

        settings = JoinSettings.in_force(self._given)
        sink = self._sink(settings.events)
        one = JoinPass(self._plan, settings, self._next_run(), sink, wanted, watermark, rounds)
        return join_batches(one, streams)

    def report(self) -> JoinReport:
        """What has been counted so far, one section a pass."""
        return self._tally.report(*self._fetched())

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process is the same join with a report of its own."""
        return Join, (self._plan, self._given)

    def __repr__(self) -> str:
        return f"tw.join({self._plan.on!r})"


def _session_of(streams: Mapping[str, Any]) -> Any:
    """The session of Spark that the first DataFrame belongs to; None: none of them is one, which is refused later."""
    return next((df.sparkSession for df in streams.values() if hasattr(df, "sparkSession")), None)
