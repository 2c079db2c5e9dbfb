"""Adaptive filters: `filters(...)` returns a :class:`Filters`, which is applied to DataFrames or Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thalweg.adapt import PolicyLike, check_classified
from thalweg.errors import PlanError
from thalweg.given_predicate import ColumnLike, native_predicate
from thalweg.optimizer.charts.filter_chart import make_filter_chart
from thalweg.plan import FilterPlan, NativePredicate, Predicate
from thalweg.plan.filters.filter_plan import checked_classifiers
from thalweg.plan.filters.predicate import is_column
from thalweg.plan.joins.window import Length
from thalweg.plan.objective import Objective, objective_of
from thalweg.printable import printable
from thalweg.report import Explanation, Report, Tally
from thalweg.report.chart_view import ChartView
from thalweg.report.explain.filter import FilterInput, FirstOrders, explain_filters
from thalweg.report.filter_chart_view import DeclaredFilters, filter_chart_of, filter_numbers
from thalweg.runtime.filters.native_order import NativeOrder
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted, WantedRows
from thalweg.runtime.filters.recalled_order import recalled
from thalweg.runtime.local import filter_batches
from thalweg.runtime.local.filters import refuse_native
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark.session_settings import session_settings

if TYPE_CHECKING:
    import pyarrow as pa


def filters(
    *predicates: Predicate | NativePredicate | ColumnLike,
    policy: PolicyLike | None = None,
    budget: float | None = None,
    classify_by: Sequence[str] | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    redact: bool | None = None,
    time_limit: float | None = None,
) -> Filters:
    """Return a conjunction of predicates whose evaluation order adapts to the data.

    A row passes if every predicate is true; null counts as false. If a predicate raises on a row, its value there is
    unknown: the row is dropped if another predicate is false, and fails otherwise. Which rows pass and which rows fail
    never depends on the order.

    Parameters
    ----------
    predicates
        Predicates made with :func:`thalweg.predicate`, in any order. PySpark Columns are accepted too, either as they
        are or passed to :func:`thalweg.predicate` with a name. These are native predicates: Spark evaluates them in the
        JVM before it sends rows to Python.
    policy
        ``"auto"`` (default) chooses all its settings itself. ``"a-greedy"``, ``"sweep"``, ``"independent"`` and
        ``"local-swaps"`` are the algorithms of the paper. ``"static"`` never changes the order. ``"duckdb-swap"`` and
        ``"velox-rank"`` do what these engines do, for comparison. ``"chart"`` looks the order up in a chart
        (docs/plans.md). ``"mesh"`` filters rows of different classes in different orders (docs/mesh.md). ``"eddy"`` and
        ``"eddy-cbr"`` decide anew for each batch of rows at each predicate, for comparison. Settings of a policy
        (docs/policies.md) follow its name: ``"mesh(routes=4, search='sa')"``, ``"sweep(p=0.02)"``, or
        ``tw.policy("mesh", routes=4, search="sa")``. You can also pass your own class that implements the protocol
        :class:`thalweg.adapt.Policy` (docs/writing-a-policy.md).
    budget
        For ``"auto"``, ``"chart"`` and ``"mesh"``: the share of the time that adapting may take. The default is 0.02.
        It is the same as ``"auto(budget=0.02)"``; giving both is an error.
        ``"mesh"`` takes up to 7.5 times as much while it collects rows for its first trials.
    classify_by
        For ``"mesh"``, ``"auto"`` and ``"eddy-cbr"``: the columns by which rows are divided into classes, each with an
        order of its own if that is cheaper. They may be columns that no predicate reads. By default these are the
        columns that predicates read, and ``"auto"`` has one order for all rows.
    slice_rows
        The number of rows per slice; the order can change only between slices. By default ``"auto"`` starts with 16
        rows and the paper's algorithms start with 1,024, and slices grow up to 16,384 rows.
    seed
        The seed for the sample of profiled rows. It never changes the result.
    events
        A file to which the driver appends event records as JSON lines. If it contains records of an earlier run with
        the same predicates, a new run starts with the order and the costs of that run.
    on_error
        ``"raise"`` (default): a row that fails stops the query with an error that names the predicates that raised,
        the row and its values. ``"dead-letter"``: the row is set aside and counted; see :meth:`Filters.tagged` and
        :meth:`Filters.failed`.
    redact
        If True, errors contain no values of rows and no exception messages, only the types of the exceptions. This
        includes the column of errors of rows that are set aside; their own columns keep their values.
    time_limit
        The number of seconds that a predicate may take for one slice of a few thousand rows. If it takes longer, the
        query fails with an error that names the predicate.

    Returns
    -------
    Filters

    Raises
    ------
    PlanError
        If a predicate or a setting is invalid.

    Notes
    -----
    A setting that is not given, except `on_error`, is read from Spark's configuration (``spark.thalweg.policy``), then
    from the environment (``THALWEG_POLICY``), and then has its default. It is read each time the filters are applied to
    data.

    Examples
    --------
    >>> import pyarrow as pa, thalweg as tw
    >>> keep = tw.filters(tw.predicate(str.isdigit, "code"), tw.predicate(lambda c: len(c) > 2, "code", name="long"))
    >>> [b.to_pylist() for b in keep.over(pa.table({"code": ["7", "1234", "abc"]}))]
    [[{'code': '1234'}]]
    >>> keep.report().sections[0].kept
    1
    """
    given = {
        "policy": policy, "budget": budget, "slice_rows": slice_rows, "seed": seed, "events": events,
        "on_error": on_error, "redact": redact, "time_limit": time_limit,
    }  # fmt: skip
    plan = FilterPlan.of(tuple(native_predicate(p) if is_column(p) else p for p in predicates))
    if classify_by is not None:
        plan = replace(plan, classify_by=checked_classifiers(classify_by))
    return Filters(plan, given)


class Filters:
    """A set of filters, made with :func:`filters`.

    Apply it to a Spark DataFrame with ``df.transform(keep)``, or to Arrow batches with ``keep.over(batches)``.
    ``keep.explain()`` shows what it will do, ``keep.report()`` shows what it did. With ``on_error="dead-letter"``,
    ``df.transform(keep.tagged)`` and ``keep.failed(df)`` return the rows that failed.
    """

    def __init__(self, plan: FilterPlan, given: dict[str, Any], identity: str | None = None) -> None:
        self._receiver = Receiver(Tally(), identity)
        self._plan = plan
        self._given = given
        # refuses invalid arguments; configuration is read when applied
        settings = FilterSettings.resolve(given, environ={})
        check_classified(plan.classify_by, settings.policy.kind, of_filters=True)
        self._native = NativeOrder(plan.native)
        self._was_attached = False

    def _settings(self, session: Any = None, *, look: bool = True) -> FilterSettings:
        """Return the settings in force. A policy that is set outside the code may ignore `classify_by`."""
        return FilterSettings.in_force(self._given, session_settings(session), look=look)

    def __call__(self, df: Any) -> Any:
        """Return the rows of a Spark DataFrame that pass.

        Parameters
        ----------
        df
            A batch or streaming DataFrame.

        Returns
        -------
        DataFrame
            An ordinary DataFrame with the same columns.

        Raises
        ------
        PlanError
            If `df` is not a Spark DataFrame, or has no column with the name that a predicate reads.

        Examples
        --------
        >>> import thalweg as tw
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"))
        >>> df = spark.createDataFrame([("7",), ("x7",)], ["code"])  # doctest: +SKIP
        >>> df.transform(keep).collect()  # doctest: +SKIP
        [Row(code='7')]
        """
        return self._attached(df)

    def tagged(self, df: Any, column: str = ERRORS_COLUMN) -> Any:
        """Return the rows that pass and the rows that failed, in one pass over the data.

        Call it as ``df.transform(keep.tagged)``. It needs ``on_error="dead-letter"``.

        Parameters
        ----------
        df
            A batch or streaming DataFrame.
        column
            The name of the column that is added. It is an array of (predicate, error), and null if the row passed.

        Returns
        -------
        DataFrame

        Raises
        ------
        PlanError
            If the filters were not made with ``on_error="dead-letter"``, or there is already a column with this name.

        Examples
        --------
        >>> import thalweg as tw
        >>> keep = tw.filters(tw.predicate(lambda c: int(c) > 5, "code", name="large"), on_error="dead-letter")
        >>> df = spark.createDataFrame([("7",), ("x7",)], ["code"])  # doctest: +SKIP
        >>> df.transform(keep.tagged).selectExpr("code", "thalweg_errors.predicate").collect()  # doctest: +SKIP
        [Row(code='7', predicate=None), Row(code='x7', predicate=['large'])]
        """
        return self._attached(df, Wanted.TAGGED, column)

    def failed(self, df: Any, column: str = ERRORS_COLUMN) -> Any:
        """Return only the rows that failed, with the same extra column as `tagged`.

        This is a separate pass over the data. It needs ``on_error="dead-letter"``.

        Parameters
        ----------
        df
            A batch or streaming DataFrame.
        column
            The name of the column that is added, an array of (predicate, error).

        Returns
        -------
        DataFrame

        Raises
        ------
        PlanError
            If the filters were not made with ``on_error="dead-letter"``, or there is already a column with this name.

        Examples
        --------
        >>> import thalweg as tw
        >>> keep = tw.filters(tw.predicate(lambda c: int(c) > 5, "code", name="large"), on_error="dead-letter")
        >>> df = spark.createDataFrame([("7",), ("x7",)], ["code"])  # doctest: +SKIP
        >>> keep.failed(df).select("code").collect()  # doctest: +SKIP
        [Row(code='x7')]
        """
        return self._attached(df, Wanted.FAILED, column)

    def _attached(self, df: Any, wanted: Wanted = Wanted.KEPT, column: str = ERRORS_COLUMN) -> Any:
        """Return what a call, `tagged` or `failed` returns, depending on `wanted`."""
        if not (hasattr(df, "observe") and hasattr(df, "sparkSession")):
            here = {Wanted.KEPT: "over()", Wanted.TAGGED: "tagged_over()"}.get(wanted, "failed_over()")
            raise PlanError(f"filters take a Spark DataFrame, not {type(df).__name__}; for Arrow data use .{here}")
        from thalweg.runtime.spark.filters import attach

        settings = self._settings(df.sparkSession, look=not self._was_attached)
        self._was_attached = True
        return attach(df, self._plan, settings, self._receiver, WantedRows(wanted, column), self._native)

    def over(self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the rows of Arrow batches that pass, without Spark.

        Batches are filtered lazily, one at a time. Every call is a separate pass, which starts without any knowledge
        of the data, or with the last order and costs in the file that `events` names.

        Parameters
        ----------
        batches
            Record batches, a table, or a single record batch.

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If one of the predicates is native, because only Spark can evaluate it.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"))
        >>> [batch.to_pylist() for batch in keep.over(pa.table({"code": ["7", "x7"]}))]
        [[{'code': '7'}]]
        """
        return self._over(batches)

    def tagged_over(
        self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch, column: str = ERRORS_COLUMN
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows that pass and the rows that failed, as `tagged` does, for Arrow batches.

        Parameters
        ----------
        batches
            Record batches, a table, or a single record batch.
        column
            The name of the column that is added. It is a list of (predicate, error), and null if the row passed.

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If the filters were not made with ``on_error="dead-letter"``, or one of the predicates is native.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(lambda c: int(c) > 5, "code", name="large"), on_error="dead-letter")
        >>> for batch in keep.tagged_over(pa.table({"code": ["7", "1", "x7"]})):
        ...     print(*batch.to_pylist(), sep="\\n")
        {'code': '7', 'thalweg_errors': None}
        {'code': 'x7', 'thalweg_errors': [{'predicate': 'large', 'error': "ValueError: invalid literal for int() with base 10: 'x7'"}]}
        """  # noqa: E501
        return self._over(batches, Wanted.TAGGED, column)

    def failed_over(
        self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch, column: str = ERRORS_COLUMN
    ) -> Iterator[pa.RecordBatch]:
        """Return only the rows that failed, as `failed` does, for Arrow batches.

        Parameters
        ----------
        batches
            Record batches, a table, or a single record batch.
        column
            The name of the column that is added, a list of (predicate, error).

        Returns
        -------
        Iterator[pyarrow.RecordBatch]

        Raises
        ------
        PlanError
            If the filters were not made with ``on_error="dead-letter"``, or one of the predicates is native.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(lambda c: int(c) > 5, "code", name="large"), on_error="dead-letter")
        >>> [batch["code"].to_pylist() for batch in keep.failed_over(pa.table({"code": ["7", "1", "x7"]}))]
        [['x7']]
        """
        return self._over(batches, Wanted.FAILED, column)

    def _over(
        self,
        batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch,
        wanted: Wanted = Wanted.KEPT,
        column: str = ERRORS_COLUMN,
    ) -> Iterator[pa.RecordBatch]:
        """Return what `over`, `tagged_over` or `failed_over` returns, depending on `wanted`."""
        refuse_native(self._plan)
        return filter_batches(self._plan, self._settings(), batches, self._receiver, wanted, column)

    def learn(self, df: Any, share: float = 0.01, rows: int = 10_000) -> int:
        """Sample a batch DataFrame, so that the next query starts with its native predicates in a good order.

        One Spark job evaluates the native predicates on the sample. What it learns also applies to streams with the
        same columns.

        Parameters
        ----------
        df
            A batch DataFrame.
        share
            The share of the rows to sample, above 0 and at most 1.
        rows
            The maximum number of rows to sample.

        Returns
        -------
        int
            The number of rows that were evaluated. It is 0, and no job runs, if there is nothing to order.

        Raises
        ------
        PlanError
            If `df` is a stream or not a Spark DataFrame, or if `share` or `rows` is out of range.

        Examples
        --------
        >>> import thalweg as tw
        >>> from pyspark.sql import functions as F  # doctest: +SKIP
        >>> keep = tw.filters(F.col("size") > 40, F.col("payload").rlike("GET"))  # doctest: +SKIP
        >>> sampled = keep.learn(spark.read.parquet("yesterday"))  # doctest: +SKIP
        >>> out = packets.transform(keep)  # doctest: +SKIP
        """
        if not (hasattr(df, "observe") and hasattr(df, "sparkSession")):
            raise PlanError(
                f"learn() takes a batch DataFrame of Spark, not {type(df).__name__}; give it the DataFrame that the "
                "filters will be applied to, or spark.createDataFrame(...)"
            )
        if not 0.0 < share <= 1.0 or rows < 1:
            raise PlanError(
                f"learn(share={share!r}, rows={rows!r}): share must be above 0 and at most 1, rows must be at least 1"
            )
        from thalweg.runtime.spark.native import learn

        return learn(df, self._native, share, rows)

    def explain(self, df: Any = None) -> Explanation:
        """Describe what these filters will do and, if they have run, what was counted. Nothing runs.

        Use ``print(keep.explain())``, the last line of a notebook cell, or ``keep.explain().save("plan.html")``.

        Parameters
        ----------
        df
            A Spark DataFrame, an Arrow table or a record batch; optional. Its columns are checked. For a Spark
            DataFrame, the configuration of its session is read.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import thalweg as tw
        >>> long = tw.predicate(lambda c: len(c) > 2, "code", name="long", after="isdigit")
        >>> print(tw.filters(tw.predicate(str.isdigit, "code"), long, policy="sweep").explain())
        Plan
        Filter adaptive (sweep)
        │   isdigit: reads code  (Python)
        │   long: reads code  (Python, after isdigit)
        └─ Input reads code
        <BLANKLINE>
        May adapt while it runs
          nothing: only one order is possible
        <BLANKLINE>
        Settings
          a row that fails stops the query (on_error='raise')
        """
        source = FilterInput.of(self._plan, df)
        settings = self._settings(source.session)
        adapts = settings.profile is not None
        self._native.recall(settings.events)  # as the next start does
        native, why = self._native.foreseen(adapts)
        earlier = None if settings.events is None else recalled(settings.events, self._plan.pipeline)
        chain = self._plan.pipeline.start if earlier is None else earlier.order
        orders = FirstOrders(native, chain, why, adapts and self._native.worth_sampling)
        return explain_filters(self._plan, settings, orders, source, self.report())

    def chart(
        self,
        k: int | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        *,
        objective: Objective | str | None = None,
        interval: Length | None = None,
    ) -> ChartView:
        """Return the chart of the orders: at which pass shares and arrival rates which order is the best.

        The dimensions are the rate, ``rows_per_second``, and the share of rows that each predicate passes, if it can
        change places with another one. Each range is cut into `k` equal parts, and each region has the order that is
        the best in its middle, if predicates are independent. The times of predicates are those of the last run, so
        the filters must have run. Nothing runs.

        Parameters
        ----------
        k
            The number of parts of each range, from 2 to 1000; 10 by default.
        ranges
            The least and the largest value by dimension. By default, shares are from 0 to 1, and the rate is within a
            factor of two of the one at which the last run filtered rows. For a stream on Spark, give the range of
            ``rows_per_second``; its middle is then the present rate.
        objective
            What an order should be best at: the least CPU time (default), ``"least_memory"`` (the fewest rows that wait
            between predicates), or :func:`thalweg.objective.balance`.
        interval
            The time between two batches, 1 second by default. A batch has the rows of that time, and a call has at most
            16,384 rows. The larger calls are, the less their fixed time matters.

        Returns
        -------
        ChartView

        Raises
        ------
        PlanError
            If no two predicates can change places, if the time of a predicate is unknown, or if an argument is wrong.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> long = tw.predicate(lambda c: len(c) > 2, "code", name="long")
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"), long)
        >>> passed = list(keep.over(pa.table({"code": ["7", "1234", "abc", "12"] * 1_000})))
        >>> keep.chart(k=4, ranges={"rows_per_second": (10, 1_000)}).names
        ('rows_per_second', 'isdigit', 'long')
        """
        last = next((section for section in reversed(self.report().sections) if section.order), None)
        known = DeclaredFilters("apply the filters to some rows first, and call chart() after that")
        title = f"Filters {', '.join(self._plan.pipeline.names)}"
        numbers = filter_numbers(self._plan.pipeline, last, known, ranges, interval)
        made = make_filter_chart(
            numbers.times, numbers.rate, numbers.passes, k, ranges=ranges, objective=objective_of(objective),
            round_s=numbers.round_s,
        )  # fmt: skip
        return filter_chart_of(title, made, numbers, last)

    def report(self) -> Report:
        """Return what has been counted so far, with one section per query or run. Never waits for a query.

        Returns
        -------
        Report

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"))
        >>> batches = list(keep.over(pa.table({"code": ["7", "x7"]})))
        >>> section = keep.report().sections[0]
        >>> section.rows, section.kept
        (2, 1)
        """
        return self._receiver.report()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the same filter set with its own report: a copy in another process, as `foreachBatch` on Connect
        makes, starts an empty one."""
        return Filters, (self._plan, self._given, self._receiver.identity)

    def __repr__(self) -> str:
        names = ", ".join([*self._plan.native.names, *(p.name for p in self._plan.predicates)])
        return printable(f"tw.filters({names})")
