"""Windowed joins: `join(...)` returns a :class:`Join`, which is applied to streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thalweg.adapt import PolicyLike, check_classified, classifies
from thalweg.errors import PlanError
from thalweg.optimizer.joins.compare_plans import compared_plans
from thalweg.optimizer.joins.estimates import join_estimates
from thalweg.optimizer.joins.start_plan import StartPlan, start_plan
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.window import Length, check_length
from thalweg.plan.objective import Objective
from thalweg.report import Explanation, JoinReport, JoinTally
from thalweg.report.chart_view import ChartView, chart_of
from thalweg.report.explain.join import JoinLayout, explain_join, join_title
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.limits import limits_of
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.settings import policy_in_code
from thalweg.runtime.sink.given_folder import given_folder, given_options
from thalweg.runtime.spark.session_settings import session_settings
from thalweg.stats import NOTHING_KNOWN, Knowledge
from thalweg.stats.declared_statistics import join_statistics

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.runtime.joins.join_binding import JoinBinding
    from thalweg.runtime.local.joins import ArrowSource
    from thalweg.runtime.spark.joins.attach import SparkJoinLayout
    from thalweg.runtime.spark.joins.task_sink import TaskSink
    from thalweg.runtime.spark.sink.result_sink import ResultSink


_OF_SPARK = {
    "checkpointLocation": "use checkpoint=",
    "partitionBy": "use options={'partitionBy': [...]}",
    "queryName": "use name=",
    "outputMode": "leave it out, because results are always appended",
}
"""What users of `writeStream` may give to `Join.start`."""


def join(
    on: str,
    window: Length | Mapping[str, Length],
    time: str | Mapping[str, str],
    lateness: Length | Mapping[str, Length] = "0 seconds",
    policy: PolicyLike | None = None,
    *,
    select: Sequence[str] | None = None,
    budget: float | None = None,
    classify_by: Sequence[str] | None = None,
    max_matches: int | None = None,
    max_bytes: int | None = None,
    buckets: int | None = None,
    plan: str | None = None,
    objective: Objective | str | None = None,
    statistics: Mapping[str, Any] | None = None,
    max_ahead: Length | None = "1 day",
    idle_after: Length | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
    redact: bool | None = None,
) -> Join:
    """Return a join of two or more streams over time windows, whose probing order adapts to the data.

    A result consists of one row of each stream. All conditions hold, and if t is the largest of the times, no row is
    older than t by more than the window of its stream; equal times are within a window of zero. The results never
    depend on the order in which windows are probed and, as long as no row is late, do not depend on how the streams are
    divided into batches.

    Parameters
    ----------
    on
        The join conditions, as in SQL: ``"a.k = b.k AND a.k = c.k AND c.m = d.m"``. The names before the dots are the
        streams. Equalities must connect all streams; other conditions (``a.price < b.limit``) are checked on joined
        rows. Null equals nothing.
    window
        How much older than the newest row of a result a row may be: ``"10 seconds"``, a timedelta, or a dict with one
        entry per stream. If times are whole numbers, a whole number.
    time
        The column with the time of a row, or a dict with one entry per stream. Times are timestamps, or whole numbers
        (not in Spark streams).

        A name that a dict of windows or times leaves out is a table: its rows have no time and join with rows of any
        time.
    lateness
        How far a stream may be out of order. The watermark of the query is the smallest, over all streams, of the
        largest time read minus the lateness. A row that is older than the watermark is late: it is counted and not
        joined.
    policy, budget
        As for :func:`thalweg.filters`, ``"auto"`` by default. The probe of a window is a filter, and each stream has
        its own order of probes. ``"static"`` probes in the order of `on`. With ``"mesh"``, rows of one stream may probe
        in different orders, depending on their values.
    classify_by
        For ``"mesh"``: the columns by which the rows of streams are divided into classes, each with an order of probes
        of its own: ``["a.sector"]``. They may be columns that are neither compared nor selected. Rows of a stream of
        which no column is named have one order. By default, all streams are classified by the columns that `on`
        compares for equality. The columns of tables cannot be named, because their rows do not probe.
    select
        The columns of the result: ``["a.price", "b.*", "event_time"]``. None (default) selects all columns. Windows
        hold only columns that are selected or compared by value.
    max_matches
        The maximum number of matches that a single row may have by its keys; 10,000,000 by default. If a row has more,
        the join fails with an error that names the keys.
    max_bytes
        The maximum memory of windows, in bytes. If they need more, the join fails. In this process the limit applies to
        all windows of the join, and is half of the machine's memory by default. On Spark it applies to the windows of
        one bucket, and by default that half is divided by the number of cores.
    buckets
        On Spark, the number of buckets in which windows are held and joined in parallel; by default the number of tasks
        that run at once. A checkpoint can only be used with the number of buckets it was created with, so set this if
        the machine may change.
    plan
        Which sub-joins are kept: ``"multiway"`` keeps none, ``"((b c) a)"`` keeps the results of b and c, and rows of a
        look for partners in them. A plan that is set here never changes. By default it is chosen from `statistics`,
        or is ``"multiway"`` at first if too little is known, and changes while the join runs if that is expected to
        pay; with policy ``"static"`` it does not change. The results are the same (docs/plans.md). The plan can be
        another one when a Spark query restarts from its checkpoint.
    objective
        What the plan that is chosen should be best at: an objective of ``tw.objective``, or ``"steady_rate"`` or
        ``"least_memory"``. By default, the least CPU time among plans within `max_bytes`.
    statistics
        What is known in advance about the streams, and about the partners that their rows find::

            {"a": {"rows_per_second": 1000, "distinct": {"k": 50}}, "b": {"rows_per_second": {"low": 10, "high": 90}},
             "partners": {"a.k = b.k": (30, None)}}

        A row of `a` finds 30 rows in the window of `b`; None is unknown: here, how many rows of `a` a row of `b` finds,
        which follows from the rates if they are known. Numbers that contradict each other are an error. A number may be
        a dict, the interval that contains it with a probability of 90 %, or an :class:`thalweg.Estimate`. If times are
        whole numbers, a second is one unit of time. Tables have `rows` instead of `rows_per_second`.
        :func:`thalweg.statistics_from` returns the statistics of an earlier run (docs/plans.md, "Declaring
        statistics"). On Spark, the rates also decide which equal columns spread the rows over buckets, and a checkpoint
        can only be used with the columns it was created with.
    max_ahead
        On Spark streams: a row whose time is further ahead of the clock than this is joined, but does not advance the
        watermark, so that one wrong row does not make all others late. None accepts any time. If `max_ahead` is one day
        or longer, the clock is read with a precision of one day, and times up to two days further ahead are accepted.
        If it is shorter, each micro-batch takes about 50 ms longer.
    idle_after
        On Spark streams: the watermark no longer waits for a stream that has had no rows for this long. This can change
        the results, because its next rows may be late. By default the watermark waits for every stream indefinitely.
    slice_rows, seed, events
        As for :func:`thalweg.filters`. `seed` also determines the salt of hashes (docs/joins.md, "Chosen keys").
    redact
        If True, errors, reports and event records contain no values of rows. The keys of the row with the most matches
        are left out.

    Returns
    -------
    Join

    Raises
    ------
    PlanError
        If a condition, a setting or a statistic is invalid.

    Notes
    -----
    If `policy`, `budget`, `max_matches`, `max_bytes`, `slice_rows`, `seed`, `events` or `redact` is not given, it is
    read from Spark's configuration (``spark.thalweg.policy``), then from the environment (``THALWEG_POLICY``), and then
    has its default. It is read each time the join is applied to data. All other settings, such as `plan`, `objective`
    and `statistics`, are only arguments.

    The columns of the result are named ``<stream>_<column>`` and are in the order of `select`. ``event_time``, the
    largest of the times, is the last column unless `select` lists it. Dictionary-encoded columns and view types are
    returned as plain text, bytes or numbers.

    Examples
    --------
    >>> import pyarrow as pa, thalweg as tw
    >>> j = tw.join(on="a.k = b.k", window=10, time="t", lateness=0)
    >>> clicks = pa.table({"k": ["x", "y"], "t": [100, 101]})
    >>> buys = pa.table({"k": ["x", "y"], "t": [105, 200]})
    >>> [row for batch in j.over(a=clicks, b=buys) for row in batch.to_pylist()]
    [{'a_k': 'x', 'a_t': 100, 'b_k': 'x', 'b_t': 105, 'event_time': 105}]
    """
    joined = JoinPlan.of(on, window, time, lateness, select, classify_by)
    for name, lengths in (("window", window), ("lateness", lateness)):
        if isinstance(lengths, Mapping):
            for alias, length in lengths.items():
                check_length(length, f"{name} of {alias}")
        else:
            check_length(lengths, name)
    given = {
        "policy": policy, "budget": budget, "max_matches": max_matches, "max_bytes": max_bytes,
        "buckets": buckets, "plan": plan, "objective": objective, "max_ahead": max_ahead, "idle_after": idle_after,
        "slice_rows": slice_rows, "seed": seed, "events": events, "redact": redact,
    }  # fmt: skip
    return Join(joined, given, join_statistics(statistics, joined))


class Join:
    """A windowed join, made with :func:`join`.

    Apply it to Spark DataFrames with ``j(a=A, b=B)``, or to Arrow batches with ``j.over(a=..., b=...)``.
    ``j.explain(a=A, b=B)`` shows what it will do, ``j.report()`` shows what it did. ``j.tagged(...)``, ``j.late(...)``,
    ``j.tagged_over(...)`` and ``j.late_over(...)`` return late rows.
    """

    def __init__(self, plan: JoinPlan, given: Mapping[str, Any], statistics: Knowledge = NOTHING_KNOWN) -> None:
        self._receiver = Receiver(JoinTally())
        self._plan = plan
        self._given = given
        self._statistics = statistics
        self._estimates = join_estimates(plan, statistics)
        # refuses invalid arguments; configuration is read when applied
        settings = JoinSettings.resolve(given, environ={})
        if settings.plan is not None:
            settings.wanted.shape(plan.graph)
        if given.get("policy") is not None:
            check_classified(_texts(plan), settings.policy.kind)
        self._was_attached = False
        self._started: tuple[ResultSink, Any] | None = None
        """The sink and the trigger of the last start."""

    def __call__(self, /, **streams: Any) -> Any:
        """Join Spark DataFrames.

        Streams need the RocksDB state store (docs/joins.md), and the result is written in append mode. If some
        DataFrames are streaming, a finished one is a table: it has no time and no window, is read when this is called,
        and every worker holds it.

        Parameters
        ----------
        streams
            One DataFrame per stream, streaming or finished.

        Returns
        -------
        DataFrame

        Raises
        ------
        PlanError
            If a DataFrame or one of its columns is missing, or Spark's configuration does not allow the join.

        Examples
        --------
        >>> import thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window="10 seconds", time="ts")
        >>> joined = j(a=clicks, b=buys)  # doctest: +SKIP
        >>> joined.columns  # doctest: +SKIP
        ['a_k', 'a_ts', 'b_k', 'b_ts', 'event_time']
        """
        return self._attached(streams, JoinRows.RESULTS)

    def tagged(self, /, **streams: Any) -> Any:
        """Join Spark DataFrames and also return the rows that are not joined because they are late or have no time.

        Such a row has its own columns and null in all others. The column ``lost`` contains the reason; it is null in
        results. `event_time` has no watermark here.

        Parameters
        ----------
        streams
            One DataFrame per stream, streaming or finished.

        Returns
        -------
        DataFrame

        Raises
        ------
        PlanError
            If a DataFrame or one of its columns is missing, or Spark's configuration does not allow the join.

        Examples
        --------
        >>> import thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window="10 seconds", time="ts")
        >>> joined = j.tagged(a=clicks, b=buys)  # doctest: +SKIP
        >>> results, late = joined.where("lost IS NULL"), joined.where("lost IS NOT NULL")  # doctest: +SKIP
        """
        return self._attached(streams, JoinRows.TAGGED)

    def late(self, /, **streams: Any) -> Any:
        """Return only the rows that are not joined because they are late or have no time, with the columns of `tagged`.

        This is a separate query over the streams, with its own checkpoint. It joins nothing and holds no windows. Which
        rows are late depends on how Spark divides streams into micro-batches, so the query that joins may find other
        rows late. To get the results and the late rows of one run, use `tagged`.

        Parameters
        ----------
        streams
            One DataFrame per stream, streaming or finished.

        Returns
        -------
        DataFrame

        Raises
        ------
        PlanError
            If a DataFrame or one of its columns is missing, or Spark's configuration does not allow the join.

        Examples
        --------
        >>> import thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window="10 seconds", time="ts")
        >>> query = j.late(a=clicks, b=buys).writeStream.format("console").start()  # doctest: +SKIP
        """
        return self._attached(streams, JoinRows.LATE)

    def start(
        self,
        /,
        path: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        format: str | None = None,
        options: Mapping[str, Any] | None = None,
        trigger: str | Mapping[str, Any] | None = None,
        name: str | None = None,
        sink: str | None = None,
        **streams: Any,
    ) -> Any:
        """Join Spark streams and write the results in the background.

        Parquet files on a local or shared disk are written by the tasks that find the results, which is faster than
        Spark's own sink (docs/joins.md, "Writing files"). Each result is written exactly once.
        ``j.explain(...)`` shows who writes, and why.

        Parameters
        ----------
        path, format, options
            Where the results go, as in Spark's ``writeStream``. If a path is given, the default is
            ``format="parquet"``. The options ``compression``, ``maxRecordsPerFile`` and ``partitionBy`` (a list of
            columns) apply to both sinks.
        checkpoint
            The folder of the checkpoint. A restart continues with the sink that the checkpoint was created with.
        trigger
            ``"10 seconds"``, ``"availableNow"``, or a dict of the arguments of ``writeStream.trigger``.
        name
            The name of the Spark query.
        sink
            ``"spark"`` to use Spark's own sink, ``"tasks"`` to fail if tasks cannot write. By default tasks write if
            they can.
        streams
            One DataFrame per stream; at least one is streaming.

        Returns
        -------
        pyspark.sql.streaming.StreamingQuery
            The ``observedMetrics["thalweg_written"]`` of its ``lastProgress`` and ``recentProgress`` have the files,
            rows and bytes that tasks wrote in a micro-batch.

        Raises
        ------
        PlanError
            If an argument is invalid, or a query with the same checkpoint is running.
        CheckpointError
            If the checkpoint has results of another join, other columns, another sink, path or ``partitionBy``.

        Examples
        --------
        >>> import thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window="10 seconds", time="ts")
        >>> query = j.start(path="joined", checkpoint="joined-checkpoint", a=clicks, b=buys)  # doctest: +SKIP
        """
        from thalweg.runtime.spark.sink.join_start import start_join

        taken = sorted(
            {"path", "checkpoint", "format", "options", "trigger", "name", "sink"} & {*self._plan.graph.aliases}
        )
        if taken:
            raise PlanError(
                f"start(): {taken[0]!r} is an argument of start, so no stream can have this name; rename it in on="
            )
        for argument, instead in _OF_SPARK.items():
            if argument in streams and argument not in self._plan.graph.aliases:
                raise PlanError(f"start() has no argument {argument}: {instead}")
        if not any(getattr(df, "isStreaming", False) for df in streams.values()):
            raise PlanError("start() needs a streaming DataFrame; write finished data with j(...).write")
        kind = format or ("parquet" if path is not None else None)
        if kind is None:
            raise PlanError("start() needs a place for the results: give path=..., or format='console', 'noop'")
        to, saved = given_folder("path", path), given_folder("checkpoint", checkpoint)
        _, layout = self._laid_out(streams)
        query, opened = start_join(
            _session_of(streams), lambda sink_for: self._attached(streams, JoinRows.RESULTS, sink_for), layout, kind,
            to, given_options(options), trigger, saved, name, sink,
        )  # fmt: skip
        self._started = opened, trigger
        return query

    def _attached(
        self, streams: Mapping[str, Any], wanted: JoinRows, sink_for: Callable[[Any], TaskSink] | None = None
    ) -> Any:
        """Return what a call, `tagged` or `late` returns, depending on `wanted`. `sink_for` returns where tasks write
        results, given their columns; then the files are returned."""
        from thalweg.runtime.spark.joins.attach import attach, lay_out

        settings = JoinSettings.in_force(
            self._given, session_settings(_session_of(streams)), look=not self._was_attached
        )
        self._was_attached = True
        layout = lay_out(self._classified(settings), settings, streams, self._statistics)
        start = self._start_on_spark(settings, layout)
        return attach(layout, start, settings, streams, self._receiver, wanted, sink_for)

    def chart(self, k: int | None = None, ranges: Mapping[str, tuple[float, float]] | None = None) -> ChartView:
        """Return the chart of the join's plans: at which arrival rates which plan is the best.

        The range of each stream's rate is cut into `k` equal parts, and each region has the plan that is the best in
        its middle. With ``policy="chart"`` a join looks its plan up in such a chart after each round. Everything but
        the rates has the value that was declared with `statistics`. The columns of the streams are not known
        here; a join that runs knows them, so its chart may differ where plans are about equally good. Nothing runs.

        Parameters
        ----------
        k
            The number of parts of each range, from 2 to 1000; by default `parts` of the policy ``"chart"``, or 10.
        ranges
            The least and the largest rows per second by stream. By default, what was declared: the interval of a rate
            with ``low`` and ``high``, and a factor of two around other numbers.

        Returns
        -------
        ChartView

        Raises
        ------
        PlanError
            If a rate or the partners of two streams are unknown, if the join has fewer than three streams, or if an
            argument is wrong.

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> j.chart(k=4, ranges={"a": (1_000, 50_000)}).ranges["a"]
        (1000.0, 50000.0)
        """
        start = self._start_here(JoinSettings.in_force(self._given))
        return chart_of(join_title(self._plan), start.asked_chart(k, ranges), start.rates, self.report())

    def explain(self, /, **streams: Any) -> Explanation:
        """Describe how Spark DataFrames will be joined and, if the join has run, what was counted. Nothing runs.

        The explanation shows how rows are partitioned, which streams are replicated, and what is held. Without
        DataFrames it shows what is known already: conditions, windows, and which windows new rows probe first.

        Parameters
        ----------
        streams
            One DataFrame per stream, or none at all.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import thalweg as tw
        >>> print(tw.join(on="a.k = b.k", window="10 seconds", time="ts", lateness="2 seconds").explain().physical.name)
        Join
        """
        if not streams:
            settings = JoinSettings.in_force(self._given)
            return explain_join(self._plan, settings, compared_plans(self._start_here(settings)), self.report())
        settings, placed = self._laid_out(streams)
        layout = JoinLayout(
            placed.binding, placed.partitioning, placed.limits.buckets, placed.partitions, placed.streaming,
            placed.followed, {alias: tuple(df.columns) for alias, df in streams.items()},
        )  # fmt: skip
        written: tuple[str, ...] = ()
        if self._started is not None:
            sink, trigger = self._started
            written = sink.sentences(layout.buckets, trigger)
        compared = compared_plans(self._start_on_spark(settings, placed), changes=layout.streaming)
        return explain_join(placed.binding.plan, settings, compared, self.report(), layout, written)

    def _start_here(self, settings: JoinSettings, binding: JoinBinding | None = None) -> StartPlan:
        """Return the plan that the join begins with in this process. `binding`: None if its columns are not known."""
        estimates = self._estimates if binding is None else self._estimates.with_columns(binding.widths)
        return start_plan(estimates, settings.wanted, limits_of(settings.max_bytes))

    def _start_on_spark(self, settings: JoinSettings, layout: SparkJoinLayout) -> StartPlan:
        """Return the plan that the join begins with if it is distributed in this way."""
        estimates = self._estimates.with_columns(layout.binding.widths)
        return start_plan(
            estimates.in_buckets(layout.partitioning, layout.limits.buckets), settings.wanted, layout.limits
        )  # fmt: skip

    def _laid_out(self, streams: Mapping[str, Any]) -> tuple[JoinSettings, SparkJoinLayout]:
        """Return the settings in force, and how these DataFrames will be joined; nothing runs."""
        from thalweg.runtime.spark.joins.attach import lay_out

        settings = JoinSettings.in_force(self._given, session_settings(_session_of(streams)))
        return settings, lay_out(self._classified(settings), settings, streams, self._statistics)

    def over(self, /, **streams: ArrowSource) -> Iterator[pa.RecordBatch]:
        """Join Arrow data without Spark.

        Streams are read lazily, always the one that is furthest behind in time. Tables are read completely before any
        other row is joined. DuckDB relations are read completely too, because a connection has only one open result.
        Every call is a separate pass, which starts without any knowledge of the data. A pass without results returns
        one empty batch, so that its columns are known.

        Parameters
        ----------
        streams
            One source per stream: an iterable of Arrow batches, a table, or another object that provides Arrow batches
            (a ``pyarrow.dataset``, a Polars DataFrame, a DuckDB relation).

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If a stream or one of its columns is missing.
        JoinLimitError
            If a row has more than `max_matches` matches, or the windows need more than `max_bytes`.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t", select=["a.k", "event_time"])
        >>> for batch in j.over(a=pa.table({"k": ["x"], "t": [100]}), b=pa.table({"k": ["x"], "t": [105]})):
        ...     print(batch.to_pylist())
        [{'a_k': 'x', 'event_time': 105}]
        """
        return self._over(streams)

    def tagged_over(self, /, **streams: ArrowSource) -> Iterator[pa.RecordBatch]:
        """Join Arrow data and also return the rows that are not joined because they are late or have no time.

        Such a row has its own columns and null in all others. The column ``lost`` contains the reason; it is null in
        results.

        Parameters
        ----------
        streams
            One source per stream, as for :meth:`over`.

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError, JoinLimitError
            As for :meth:`over`.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t", select=["a.k"])
        >>> clicks = [pa.record_batch({"k": ["x"], "t": [t]}) for t in (100, 120, 90)]
        >>> for batch in j.tagged_over(a=clicks, b=pa.table({"k": ["x"], "t": [105]})):
        ...     print(*batch.to_pylist(), sep="\\n")
        {'a_k': 'x', 'event_time': 105, 'a_t': None, 'b_k': None, 'b_t': None, 'lost': None}
        {'a_k': 'x', 'event_time': None, 'a_t': 90, 'b_k': None, 'b_t': None, 'lost': 'a: late'}
        """
        return self._over(streams, JoinRows.TAGGED)

    def late_over(self, /, **streams: ArrowSource) -> Iterator[pa.RecordBatch]:
        """Return only the rows that `over` does not join because they are late or have no time.

        They have the columns of `tagged_over`. Nothing is joined or held, and only the columns of tables are read.

        Parameters
        ----------
        streams
            One source per stream, as for :meth:`over`.

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If a stream or one of its columns is missing.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t", select=["a.k"])
        >>> clicks = [pa.record_batch({"k": ["x"], "t": [t]}) for t in (100, 120, 90)]
        >>> late = pa.Table.from_batches(j.late_over(a=clicks, b=pa.table({"k": ["x"], "t": [105]})))
        >>> late.select(["a_t", "lost"]).to_pylist()
        [{'a_t': 90, 'lost': 'a: late'}]
        """
        return self._over(streams, JoinRows.LATE)

    def _over(
        self, streams: Mapping[str, ArrowSource], wanted: JoinRows = JoinRows.RESULTS
    ) -> Iterator[pa.RecordBatch]:
        from thalweg.runtime.local.joins import JoinPass, join_batches

        settings = JoinSettings.in_force(self._given)
        plan, start = self._classified(settings), partial(self._start_here, settings)
        return join_batches(JoinPass(plan, settings, self._receiver, start, wanted), streams)

    def _classified(self, settings: JoinSettings) -> JoinPlan:
        """Return the plan under a policy. A policy that is set outside the code and does not classify rows ignores
        `classify_by`: no columns are carried for it."""
        policy = settings.policy.kind
        if classifies(policy):
            return self._plan
        if policy == policy_in_code(self._given):
            check_classified(_texts(self._plan), policy)
        return replace(self._plan, classify_by=None)

    def report(self) -> JoinReport:
        """Return what has been counted so far, with one section per pass or query. Never waits for a query.

        Returns
        -------
        JoinReport

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t")
        >>> rows = pa.table({"k": ["x", "y"], "t": [1, 2]})
        >>> results = list(j.over(a=rows, b=rows))
        >>> j.report().sections[0].results
        2
        """
        return self._receiver.report()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the same join with its own report: a copy in another process starts an empty one."""
        return Join, (self._plan, self._given, self._statistics)

    def __repr__(self) -> str:
        return f"tw.join({self._plan.on!r})"


def _texts(plan: JoinPlan) -> list[str] | None:
    """Return `classify_by` as it was written."""
    return None if plan.classify_by is None else [f"{alias}.{column}" for alias, column in plan.classify_by]


def _session_of(streams: Mapping[str, Any]) -> Any:
    """Return the session of the first Spark DataFrame; None if there is none, which is refused later."""
    return next((df.sparkSession for df in streams.values() if hasattr(df, "sparkSession")), None)
