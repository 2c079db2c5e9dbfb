"""A query of a session, which can be explained, returned as a DataFrame or table, or started."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg.errors import PlanError, ThalwegError
from thalweg.events import Record
from thalweg.optimizer import optimize
from thalweg.optimizer.interval_choice import BUSY
from thalweg.optimizer.joins.compare_plans import compared_plans
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.optimizer.rules.choose_kept import choose_kept
from thalweg.optimizer.trigger_interval import check_busy, choose_interval
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.select import LOST
from thalweg.plan.joins.window import Length
from thalweg.plan.query.nodes import SourceColumn, WindowJoin
from thalweg.plan.query.query_plan import FilterPlaces, QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.plan.query.rows_left_out import failed_columns, late_schema, plan_of_failed, plan_of_late
from thalweg.printable import printable
from thalweg.report import Explanation
from thalweg.report.batch_intervals import batch_paragraph
from thalweg.report.chart_view import ChartView, chart_of
from thalweg.report.explain.query import NOTHING, QueryRun, explain_query, join_report
from thalweg.runtime.filters.outcome import ERRORS_COLUMN
from thalweg.runtime.limits import limits_of
from thalweg.runtime.sink.given_folder import given_folder, given_options
from thalweg.session.adaptive_parts import AdaptiveParts, QueryReport, of_groups
from thalweg.session.conditions_chart import chart_of_conditions
from thalweg.session.handle import BatchRun, Handle, Stopped, StreamRun
from thalweg.session.local_run import LocalRun
from thalweg.session.query_run import QuerySettings
from thalweg.session.running import Running
from thalweg.session.spark_run import SparkRun, check
from thalweg.stats import Knowledge
from thalweg.stats.batch_time import BatchTimes

if TYPE_CHECKING:
    from thalweg import simulation as virtual
    from thalweg.runtime.local.operator import Operator
    from thalweg.runtime.spark.joins.task_sink import TaskSink
    from thalweg.session.query_rounds import Turns

SETS_ASIDE = 's.query(..., on_error="dead-letter")'
MOST_EVENTS = 10_000
"""The maximum number of event records that a query keeps; older ones are removed."""


@dataclass(frozen=True)
class QueryOrigin:
    """The session and the arguments that a query was made with."""

    name: str | None
    args: Mapping[str, object]
    spark: Any
    """The SparkSession; None if the query runs in this process."""
    running: Running
    classify_by: tuple[SourceColumn, ...] | None = None
    """The columns by which rows are classified, under a policy that does that."""


class ContinuousQuery:
    """A continuous query, made with :meth:`Session.query`.

    ``q.explain()`` shows the plan. ``q.dataframe()``, ``q.batches()`` (without Spark) and ``q.start(...)`` run it. Then
    ``q.report()`` and ``q.events()`` show what happened.
    """

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        given: Mapping[str, Any],
        data: Mapping[str, Any],
        known: Knowledge,
        origin: QueryOrigin,
    ) -> None:
        self.name = origin.name
        self._functions, self._given, self._data, self._spark = functions, given, data, origin.spark
        self._plans = {plan.policy: plan}
        self._running, self._statistics, self._classify_by = origin.running, known, origin.classify_by
        self._args = {key: repr(value) for key, value in origin.args.items()}
        self._parts = AdaptiveParts()
        self._batch_times: BatchTimes | None = None
        self._busy = BUSY
        self._events: deque[Record] = deque(maxlen=MOST_EVENTS)
        self._parsed = plan.query
        if origin.spark is not None:
            check(plan, data)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._parsed.schema

    @property
    def plan(self) -> QueryPlan:
        """The first plan with the policy and the limits that apply now."""
        return self._planned(self._settings())

    def belongs_to(self, running: Running) -> bool:
        """Whether it is a query of the session with these running queries."""
        return self._running is running

    def _settings(self) -> QuerySettings:
        return QuerySettings.in_force(self._given, self._spark)

    def _planned(self, settings: QuerySettings) -> QueryPlan:
        """Return the plan for these settings. They decide what the query starts with, not its results."""
        policy = settings.policy_name
        if policy not in self._plans:
            self._plans[policy] = self._placed(settings, "cheapest")
        plan = self._plans[policy]
        if isinstance(plan.join, WindowJoin):
            wanted, limits = settings.join.wanted, self._limits(settings)
            if plan.join.kept is None or (wanted, limits) != (plan.wanted, start_of(plan.join).limits):
                self._plans[policy] = choose_kept(replace(plan, wanted=wanted), Knowledge(limits=limits))
        return self._plans[policy]

    def _limits(self, settings: QuerySettings) -> Limits:
        """Return the limits of a join where the query runs."""
        return limits_of(settings.join.max_bytes, spark=self._spark)

    def _placed(self, settings: QuerySettings, places: FilterPlaces) -> QueryPlan:
        """Return the plan for these settings, with conditions in these places."""
        engine = "local" if self._spark is None else "spark"
        known = replace(self._statistics, limits=self._limits(settings))
        return optimize(
            self._parsed, engine, settings.policy_name, known, sets_aside=settings.sets_aside, filter_places=places,
            classify_by=self._classify_by if settings.classifies else None, wanted=settings.join.wanted,
        )  # fmt: skip

    def explain(self) -> Explanation:
        """Describe what will run and, if it has run, what was counted. Nothing runs.

        Use ``print(q.explain())``, or the last line of a notebook cell.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> q = s.query("SELECT n FROM events WHERE n > 5")
        >>> q.explain().columns
        ('n: int64',)
        """
        return self.explained(self.plan, self._parts)

    def chart(
        self,
        k: int | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        *,
        interval: Length | None = None,
    ) -> ChartView:
        """Return the chart of the plans of the query's join: at which arrival rates which plan is the best. For a query
        of one stream, return the chart of its conditions: at which rates and pass shares which order is the best.

        See :meth:`Join.chart` and :meth:`Filters.chart`. With ``policy="chart"`` a query looks its plan up in such a
        chart after each round. Nothing runs.

        Parameters
        ----------
        k
            The number of parts of each range, from 2 to 1000; by default `parts` of the policy ``"chart"``, or 10.
        ranges
            The least and the largest rows per second by stream; by default, what was declared. For a query of one
            stream, ``rows_per_second`` and the shares of rows, from 0 to 1, by the text of the conditions.
        interval
            For a query of one stream: the time between two batches, 1 second by default.

        Returns
        -------
        ChartView

        Raises
        ------
        PlanError
            If the query has neither a join of three streams or more nor two conditions that are evaluated in one
            adaptive chain, if a rate, the partners of two streams or the cost of a condition are unknown, or if an
            argument is wrong.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> s = tw.session()
        >>> rows = pa.table({"ts": pa.array([], pa.timestamp("us")), "k": pa.array([], pa.int64())})
        >>> for name, rate in (("a", 2_000), ("b", 300), ("c", 20)):
        ...     s.stream(name, rows, time="ts", statistics={"rows_per_second": rate})
        >>> q = s.query("SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW 10 SECONDS",
        ...             statistics={"partners": {"a, b": (30, None), "b, c": (0.1, None)}})
        >>> q.chart(k=4).streams
        ('a', 'b', 'c')
        """
        settings = self._settings()
        plan = self._planned(settings)
        if plan.join is None:
            return chart_of_conditions(
                plan, self._statistics, self._parts.report(), self._batch_times, self._title(), settings, k,
                ranges, interval,
            )  # fmt: skip
        if not isinstance(plan.join, WindowJoin):
            raise PlanError("chart(): this query has no join of streams with windows, so it has only one plan")
        if interval is not None:
            raise PlanError(f"chart(interval={interval!r}): it is for queries of one stream; leave it out for a join")
        start = start_of(plan.join)
        counted = join_report(self._parts.report().parts)
        return chart_of(self._title(), start.asked_chart(k, ranges), start.rates, counted)

    def _title(self) -> str:
        return "Query" if self.name is None else f"Query {self.name}"

    def explained(self, plan: QueryPlan, parts: AdaptiveParts) -> Explanation:
        """Explain one run, with its plan and its parts."""
        streaming = any(getattr(df, "isStreaming", False) for df in self._data.values())
        where = "this process" if self._spark is None else "a Spark stream" if streaming else "Spark, on finished data"
        finished = self._spark is not None and not streaming
        report, times, intervals = parts.report(), self._batch_times, NOTHING
        if times is not None:
            intervals = batch_paragraph(choose_interval(times, self._busy, _held_seconds(plan)))
        compared = None
        if isinstance(plan.join, WindowJoin):  # plans do not change over finished data
            compared = compared_plans(start_of(plan.join), changes=not finished)
        groups = of_groups(report.groups[-1]) if report.groups else ""
        run = QueryRun(where, finished, report.parts, groups, compared, intervals, parts.sink)
        return explain_query(plan, run, self.name)

    def dataframe(self) -> Any:
        """Return the results.

        Returns
        -------
        DataFrame or pyarrow.Table
            On Spark, a DataFrame; nothing runs yet. In this process, a table of all results.

        Raises
        ------
        ThalwegError
            In this process, if the query fails on a row. On Spark, actions on the DataFrame raise Spark's errors.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> s.query("SELECT n * 2 AS twice FROM events").dataframe().to_pylist()
        [{'twice': 10}, {'twice': 14}]
        """
        if self._spark is None:
            return pa.Table.from_batches(list(self.batches()), self.schema)
        run = self._spark_run()
        made = run.dataframe()
        self._parts = run.parts
        return made

    def failed(self, column: str = ERRORS_COLUMN) -> Any:
        """Return the rows that are set aside. Needs ``on_error="dead-letter"``.

        They are found in a separate run, which reads the sources again. On Spark streams, start it in addition to the
        query: ``q.failed().writeStream...``. Rows of one source have all its columns; joined rows have the columns that
        conditions and results read.

        Parameters
        ----------
        column
            The name of the column that is added, with the predicates that raised and what they raised.

        Returns
        -------
        DataFrame or pyarrow.Table
            On Spark, a DataFrame; in this process, a table.

        Raises
        ------
        PlanError
            If the query was not made with ``on_error="dead-letter"``, or there is already a column with this name.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("codes", pa.table({"ts": [datetime(2026, 1, 1)] * 3, "code": ["7", "1", "x7"]}), time="ts")
        >>> s.function("large", lambda code: int(code) > 5, returns="boolean")
        >>> q = s.query("SELECT code FROM codes WHERE large(code)", on_error="dead-letter")
        >>> q.dataframe().to_pylist(), q.failed()["code"].to_pylist()
        ([{'code': '7'}], ['x7'])
        """
        run = self._local_run() if self._spark is None else self._spark_run()
        if not run.settings.sets_aside:
            raise PlanError(f"failed() needs {SETS_ASIDE}; without it, the first row that fails stops the query")
        if not isinstance(column, str) or not column:
            raise PlanError(
                f"failed(column={column!r}): column must be a non-empty string, the name of the column for the errors"
            )
        # with further columns in its windows
        run.plan = choose_kept(plan_of_failed(run.plan), Knowledge(limits=self._limits(run.settings)))
        if column.lower() in map(str.lower, failed_columns(run.plan)):
            raise PlanError(f"there is already a column {column!r}; choose another name with failed(column=...)")
        return run.failed(column) if isinstance(run, SparkRun) else pa.Table.from_batches(list(run.failed(column)))

    def late(self) -> Any:
        """Return the rows that are in no result because they are late or have no time.

        They have all columns of their stream and a column ``lost`` with the reason. In a join, the columns are named
        ``<source>_<column>``, and those of other streams are null. Late rows are found in a separate run, which reads
        the sources again and joins nothing.

        Returns
        -------
        DataFrame or pyarrow.Table
            On Spark, a DataFrame; in this process, a table.

        Raises
        ------
        PlanError
            If a stream has a column ``lost``, or for grouped windows of Spark streams, whose late rows Spark drops
            itself.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> rows = [pa.record_batch({"ts": [datetime(2026, 1, 1, 12, minute)], "n": [minute]}) for minute in (1, 9, 3)]
        >>> s.stream("events", rows, time="ts", lateness="2 minutes")
        >>> q = s.query("SELECT count(*) AS events FROM events GROUP BY TUMBLE(5 MINUTES)")
        >>> q.late().select(["n", "lost"]).to_pylist()
        [{'n': 3, 'lost': 'events: late'}]
        """
        run = self._local_run() if self._spark is None else self._spark_run()
        # late rows are not joined, so all conditions on one stream are evaluated before the join
        run.plan = plan_of_late(self._placed(run.settings, "before"))
        if LOST in map(str.lower, late_schema(run.plan).names[:-1]):
            raise PlanError(
                f"a stream has a column {LOST!r}, which late() adds; rename it before registering the stream"
            )
        return run.late() if isinstance(run, SparkRun) else pa.Table.from_batches(list(run.late()))

    def _spark_run(self) -> SparkRun:
        settings = self._settings()
        return SparkRun(self._planned(settings), self._functions, settings, self._data, self._events.append)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the results lazily, without Spark. Every call is a separate pass over the data.

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If the session runs on Spark; use :meth:`dataframe` there.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> for batch in s.query("SELECT n FROM events WHERE n > 5").batches():
        ...     print(batch.to_pylist())
        [{'n': 7}]
        """
        if self._spark is not None:
            raise PlanError("batches() is only for sessions without Spark; use q.dataframe()")
        run = self._local_run()
        self._parts = run.parts
        return run.batches()

    def _local_run(self) -> LocalRun:
        data = {alias: _reader(source) for alias, source in self._data.items()}
        settings = self._settings()
        return LocalRun(self._planned(settings), self._functions, settings, data, self._events.append)

    def operators(self, costs: virtual.Costs | Mapping[str, virtual.Costs] | None = None) -> tuple[Operator, ...]:
        """Return the plan as operators of a simulation (docs/simulation.md), without Spark.

        Use it as ``simulate(sources, q.operators(costs=...))``. The rows of streams come from the sources of the
        simulation, which have the names and the columns of the streams of the session. Tables are read from the session
        before the simulation starts.

        Parameters
        ----------
        costs
            The costs of all operators except scans, or a dict of costs by operator name. An operator without declared
            costs costs nothing.

        Returns
        -------
        tuple of Operator

        Raises
        ------
        PlanError
            If the session runs on Spark.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> from thalweg.simulation import Costs, Source, simulate
        >>> rows = pa.table({"ts": [datetime(2026, 1, 1, 12, 0, second) for second in (1, 2, 9)], "n": [5, 7, 1]})
        >>> s = tw.session()
        >>> s.stream("events", rows, time="ts")
        >>> q = s.query("SELECT count(*) AS events FROM events WHERE n > 3 GROUP BY TUMBLE(5 SECONDS)")
        >>> trace = simulate({"events": Source(rows, "ts")}, q.operators(costs=Costs(predicate="2 seconds")))
        >>> trace.rows().to_pylist(), trace.results["time"].to_pylist()
        ([{'events': 2}], [10.0])
        """
        if self._spark is not None:
            raise PlanError(
                "operators() is only for sessions without Spark, because simulations run in this process; use "
                "tw.session() and register Arrow tables"
            )
        from thalweg.simulation import Costs

        return self._local_run().operators(Costs() if costs is None else costs)

    def start(
        self,
        path: str | os.PathLike[str] | None = None,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        trigger: str | Mapping[str, Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        busy: float | None = None,
        sink: str | None = None,
    ) -> Handle:
        """Start the query, which writes its results in the background.

        Parameters
        ----------
        path, format, options
            Where the results go, as in Spark's ``writeStream``. If a path is given, the default is
            ``format="parquet"``. Without Spark, the formats are parquet and csv.
        trigger
            For Spark streams: ``"10 seconds"``, ``"availableNow"``, or a dict of the arguments of
            ``writeStream.trigger``. With ``"auto"`` it is the shortest interval in which the query is busy for at most
            a share `busy` of the time, from the times of the micro-batches of earlier starts (docs/plans.md); at the
            first start it is as without a trigger.
        checkpoint
            For Spark streams: the folder of the checkpoint. It belongs to this query: a restart continues with the plan
            that the checkpoint was created with, and another query is refused.
        busy
            With ``trigger="auto"``: the share of the time in which the query may be busy, between 0 and 1; 0.7 by
            default.
        sink
            For Spark streams: who writes the results. By default, Parquet files on a local or shared disk are written
            by the tasks that find the results of a join (docs/sql.md), and Spark's own sink writes everything else;
            ``run.explain()`` shows which, and why. ``"spark"`` asks for Spark's sink; ``"tasks"`` fails if tasks cannot
            write.

        Returns
        -------
        Handle
            The running query, with the interface of Spark's StreamingQuery.

        Raises
        ------
        PlanError
            If an argument is invalid, or a query with the same name or checkpoint is running.
        CheckpointError
            If the checkpoint belongs to another query or plan.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.awaitTermination()
        >>> run
        <query large: ended>
        """
        to, saved = given_folder("path", path), given_folder("checkpoint", checkpoint)
        with self._running.starting() as begin:
            return self._start(begin, to, format, given_options(options), trigger, saved, busy, sink)

    def _start(
        self, begin: Callable[[BatchRun], BatchRun], path: str | None, format: str | None, options: dict[str, Any],
        trigger: Any, checkpoint: str | None, busy: float | None, sink: str | None,
    ) -> Handle:  # fmt: skip
        check_busy(busy, trigger)
        self._running.refuse(self.name)
        streaming = self._spark is not None and any(df.isStreaming for df in self._data.values())
        kind = format or ("parquet" if path is not None else None)
        if kind is None:
            others = "format='console', 'memory', 'noop'" if streaming else "format='noop'"
            raise PlanError(f"start() needs a place for the results: give path=..., or {others}")
        if streaming:
            self._busy = BUSY if busy is None else float(busy)
            handle = self._stream(path, kind, options, trigger, checkpoint, sink)
            self._running.add(handle)
            return handle
        for given, value in (("trigger", trigger), ("checkpoint", checkpoint), ("sink", sink)):
            if value is not None:
                raise PlanError(
                    f"{given}={value!r} is only for Spark streams; remove it, because this run reads finished data"
                )
        return begin(self._finished(path, kind, options))

    def _stream(
        self,
        path: str | None,
        kind: str,
        options: dict[str, str],
        trigger: Any,
        checkpoint: str | None,
        sink: str | None,
    ) -> StreamRun:
        from thalweg.runtime.checkpoint_parts import TIMES
        from thalweg.runtime.spark.sql.start import AUTO, Start, automatic_trigger, checkpoint_of, start_stream
        from thalweg.runtime.spark.stream_watch import watch_batches

        run = self._spark_run()
        place = checkpoint_of(self._spark, checkpoint, options, path, self.name)

        def made(plan: QueryPlan, sink_for: Callable[[Any], TaskSink] | None) -> Any:
            run.plan = plan
            return run.dataframe() if sink_for is None else run.files(sink_for)

        spark = self._spark
        if self._batch_times is None:
            self._batch_times = (None if place is None else place.read(TIMES)) or BatchTimes()
        if trigger == AUTO:
            trigger = automatic_trigger(self._batch_times, self._busy)
        start = Start(kind, path, options, trigger, place, self.name, sink)

        def placed(places: FilterPlaces) -> QueryPlan:
            return self._placed(run.settings, places)

        query, run.parts.sink = start_stream(
            spark, run.plan, placed, made, run.after_join, self._parsed, self._args, start
        )
        run.parts.batch_times, run.parts.busy = self._batch_times, self._busy
        self._parts = run.parts
        handle = StreamRun(self, run, query, place)
        watch_batches(spark, str(query.runId), handle.batch_ended)
        return handle

    def _finished(self, path: str | None, kind: str, options: dict[str, Any]) -> BatchRun:
        if self._spark is not None:
            for option in [name for name in options if str(name).lower() == "path"]:
                options[option] = given_folder(f"the option {option}", options[option])
            run = self._spark_run()
            writer = (
                run.dataframe()
                .write.format(kind)
                .mode(options.pop("mode", "overwrite" if kind == "noop" else "error"))
                .options(**options)
            )
            self._parts = run.parts
            from thalweg.runtime.spark.sql.finished_job import FinishedJob

            job = FinishedJob(self._spark, writer, path, run.settings.redact)

            def save(report: Callable[[int | None], None]) -> None:
                try:
                    job.save()
                except ThalwegError:
                    if job.cancelled:
                        raise Stopped from None
                    raise

            return BatchRun(self, run, save, interrupt=job.cancel)
        from thalweg.session.local_sink import LocalSink

        local = self._local_run()
        self._parts = local.parts
        sink = LocalSink.of(path, kind, options, self.schema)

        def work(report: Callable[[int | None], None]) -> None:
            local.data = {alias: _reporting(batches, report) for alias, batches in local.data.items()}
            sink.write(local.batches(), report)

        return BatchRun(self, local, work, prepare=sink.claim, release=sink.release)

    def in_turn(self, name: str, turns: Turns, results: list[pa.RecordBatch]) -> BatchRun:
        """Return a run of the query in this process, in turn with others. Its results are appended to a list. What is
        wrong with the query raises here, before any of them has started."""
        local = self._local_run()

        def prepare() -> None:
            self._parts = local.parts

        def work(report: Callable[[int | None], None]) -> None:
            turns.take(name, is_round=False)
            try:
                local.data = {alias: turns.reading(name, read, report) for alias, read in local.data.items()}
                for batch in local.batches():
                    results.append(batch)
                    report(batch.num_rows)
            finally:
                turns.give()

        return BatchRun(self, local, work, prepare=prepare)

    def report(self) -> QueryReport:
        """Return what the adaptive parts of the latest run have counted so far. Never waits for a query.

        Returns
        -------
        QueryReport

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> s.function("is_prime", lambda n: n in (2, 3, 5, 7), returns="boolean")
        >>> q = s.query("SELECT n FROM events WHERE is_prime(n)")
        >>> rows = q.dataframe()
        >>> [(name, report.sections[0].rows) for name, report in q.report().parts]
        [('filter of events', 2)]
        """
        return self._parts.report()

    def events(self) -> list[Record]:
        """Return what was observed and decided, as plain records; the latest record is the last.

        Returns
        -------
        list of Record
            At most the latest 10,000 records.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> s.function("is_prime", lambda n: n in (2, 3, 5, 7), returns="boolean")
        >>> q = s.query("SELECT n FROM events WHERE is_prime(n)")
        >>> rows = q.dataframe()
        >>> [(record.event, record.rows) for record in q.events()]
        [('observed', 2)]
        """
        return list(self._events)

    def __repr__(self) -> str:
        text = " ".join(self._parsed.text.split())
        return printable(f"ContinuousQuery({self.name or ''}{': ' if self.name else ''}{text})")


def _reporting(read: Callable[[], Any], report: Callable[[None], None]) -> Callable[[], Any]:
    """Return a reader of the same batches that calls `report` for every batch it reads."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in read():
            report(None)
            yield batch

    return batches


def _reader(source: Any) -> Callable[[], Any]:
    def batches() -> Any:
        if isinstance(source, pa.RecordBatch):
            return [source]
        return source.to_batches() if hasattr(source, "to_batches") else source

    return batches


def _held_seconds(plan: QueryPlan) -> float:
    """Return for how long the windows of a query hold rows, in seconds: the mean over their rows if rates are known,
    otherwise over the streams; 0 without a join."""
    if not isinstance(plan.join, WindowJoin):
        return 0.0
    known = start_of(plan.join).estimates
    rates = {alias: known.quantities.get(("rate", alias)) for alias in known.seconds}
    weights = {alias: 1.0 if None in rates.values() or rate is None else rate.value for alias, rate in rates.items()}
    total = sum(weights.values())
    return sum(weights[alias] * seconds for alias, seconds in known.seconds.items()) / total if total else 0.0
