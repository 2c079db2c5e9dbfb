"""The public face of adaptive filters: `filters(...)` makes a :class:`Filters`, which is applied to a DataFrame."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from thalweg.adapt import Chosen
from thalweg.deprecated import current_arguments, warn_renamed_method
from thalweg.errors import PlanError
from thalweg.plan import FilterPlan, NativePredicate, Predicate
from thalweg.plan.predicate import ColumnLike
from thalweg.report import Explanation, Report, Tally
from thalweg.report.applied import Applied
from thalweg.report.filter_explain import FilterInput, FirstOrders, explain_filters
from thalweg.runtime.filters.native_order import NativeOrder
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted, WantedRows, check_wanted
from thalweg.runtime.filters.recalled import recalled
from thalweg.runtime.local import filter_batches
from thalweg.runtime.local.filters import refuse_native
from thalweg.runtime.settings import FilterSettings

if TYPE_CHECKING:
    import pyarrow as pa


MOST_DEATHS = 10
"""Workers that died, shown in a report."""


def filters(
    *predicates: Predicate | NativePredicate | ColumnLike,
    policy: Chosen | None = None,
    p: float | None = None,
    profile_window: int | None = None,
    alpha: float | None = None,
    budget: float | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    redact: bool | None = None,
    time_limit: float | None = None,
    window: int | None = None,
) -> Filters:
    """A conjunction of predicates whose order follows the data.

    A row passes when every predicate is true; null counts as false. A predicate that raises on a row is unknown there:
    the row is dropped if another one is false, else it fails. The rows that pass and those that fail never depend on
    the order.

    Parameters
    ----------
    predicates
        Made with :func:`thalweg.predicate`, in any order. Among them may be Columns of PySpark, as they are or given
        to :func:`thalweg.predicate` with a name: native predicates, evaluated in the JVM before rows travel.
    policy
        ``"auto"`` (default) sets everything by itself. ``"a-greedy"``, ``"sweep"``, ``"independent"`` and
        ``"local-swaps"`` are the algorithms of the paper; ``"static"`` keeps the order as it stands;
        ``"duckdb-swap"`` and ``"velox-rank"`` do what other engines do, to compare with. Or a class of your own that
        has the protocol of :class:`thalweg.adapt.Policy` (docs/filters.md, "A policy of your own").
    budget
        For ``"auto"``: the share of the time that adapting may take, 0.02 by default.
    p, profile_window, alpha
        For the paper's algorithms: share of dropped rows to profile, profile tuples remembered, and thrashing
        avoidance. The defaults are the policy's own, from the paper. Given without a policy, that is ``"a-greedy"``.
    slice_rows
        Rows per slice; the order can change only between slices. By default ``"auto"`` begins with 16 rows, the
        paper's algorithms with 1,024, and slices grow up to 16,384.
    seed
        For the sample of profiled rows; it never changes the answer.
    events
        A file to which the driver appends event records as JSON lines. If it holds records of an earlier run with the
        same predicates, a new start begins with the order and the costs of that run.
    on_error
        ``"raise"`` (default): a row that fails fails the query, which names the predicates that raised, the row and
        its values. ``"dead-letter"``: it is set aside and counted; see :meth:`Filters.tagged`, :meth:`Filters.failed`.
    redact
        True: errors and rows set aside hold no value of a row and no message of an exception, only the exceptions'
        types.
    time_limit
        Seconds a predicate may take for a slice of some thousand rows; then the query fails with its name.
    window
        Deprecated: the old name of `profile_window`.

    What is not given is taken from Spark's configuration (``spark.thalweg.policy``), then from the environment
    (``THALWEG_POLICY``), then from the default, each time the filters are applied to data.

    >>> import pyarrow as pa, thalweg as tw
    >>> keep = tw.filters(tw.predicate(str.isdigit, "code"), tw.predicate(lambda c: len(c) > 2, "code", name="long"))
    >>> [b.to_pylist() for b in keep.over(pa.table({"code": ["7", "1234", "abc"]}))]
    [[{'code': '1234'}]]
    >>> keep.report().sections[0].kept
    1
    """
    given = {
        "policy": policy, "p": p, "profile_window": profile_window, "alpha": alpha, "budget": budget,
        "slice_rows": slice_rows, "seed": seed, "events": events, "on_error": on_error, "redact": redact,
        "time_limit": time_limit, "window": window,
    }  # fmt: skip
    return Filters(FilterPlan.of(predicates), current_arguments(given))


class Filters(Applied):
    """Apply it with ``df.transform(keep)``, or to Arrow batches with ``keep.over(batches)``; ask ``keep.explain()`` and
    ``keep.report()``.

    With ``on_error="dead-letter"`` also ``df.transform(keep.tagged)`` and ``keep.failed(df)``.
    """

    def __init__(self, plan: FilterPlan, given: dict[str, Any], identity: str | None = None) -> None:
        self._tally = Tally()
        super().__init__(self._tally.add, identity)
        self._plan = plan
        self._given = given
        FilterSettings.resolve(given, environ={})  # refuses a wrong argument; what is set outside is read when applied
        self._native = NativeOrder(plan.native)
        self._applications: set[str] = set()

    def __call__(self, df: Any) -> Any:
        """The rows of a Spark DataFrame, batch or streaming, that pass; a plain DataFrame with the same columns."""
        return self.attached(df)

    def tagged(self, df: Any, column: str = ERRORS_COLUMN) -> Any:
        """The rows that pass and the rows that failed, in one pass over the data: ``df.transform(keep.tagged)``.

        They are told apart by one more column, an array of (predicate, error): null where the row passed. Needs
        ``on_error="dead-letter"``.
        """
        return self.attached(df, Wanted.TAGGED, column)

    def failed(self, df: Any, column: str = ERRORS_COLUMN) -> Any:
        """The rows that failed alone, with the column of `tagged`. This is a pass over the data of its own."""
        return self.attached(df, Wanted.FAILED, column)

    def errors(self, df: Any, column: str = ERRORS_COLUMN) -> Any:
        """Deprecated: the old name of `failed`."""
        warn_renamed_method("errors")
        return self.failed(df, column)

    def attached(self, df: Any, wanted: Wanted = Wanted.KEPT, column: str = ERRORS_COLUMN) -> Any:
        """What a call, `tagged` and `failed` give, by name."""
        if not (hasattr(df, "observe") and hasattr(df, "sparkSession")):
            here = {Wanted.KEPT: "over()", Wanted.TAGGED: "tagged_over()"}.get(wanted, "failed_over()")
            raise PlanError(f"filters are applied to a Spark DataFrame, not to {type(df).__name__}; for Arrow: .{here}")
        from thalweg.runtime.spark.filters import application_of, attach

        settings = FilterSettings.in_force(self._given, df.sparkSession, look=not self._applications)
        check_wanted(wanted, settings, column, df.columns)
        sink = self._sink(settings.events)
        out, fetch = attach(df, self._plan, settings, self._identity, sink, self._native, WantedRows(wanted, column))
        self._applications.add(application_of(df))
        self._await(fetch)
        return out

    def over(self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of Arrow batches that pass, batch by batch, without Spark.

        They are filtered as they are asked for; every call of this is a pass of its own, which learns from zero, or
        from the last order and costs in the file that `events` names.
        """
        return self.over_wanted(batches)

    def tagged_over(
        self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch, column: str = ERRORS_COLUMN
    ) -> Iterator[pa.RecordBatch]:
        """As `tagged`, over Arrow batches.

        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(lambda c: int(c) > 5, "code", name="large"), on_error="dead-letter")
        >>> for batch in keep.tagged_over(pa.table({"code": ["7", "1", "x7"]})):
        ...     print(*batch.to_pylist(), sep="\\n")
        {'code': '7', 'thalweg_errors': None}
        {'code': 'x7', 'thalweg_errors': [{'predicate': 'large', 'error': "ValueError: invalid literal for int() with base 10: 'x7'"}]}
        """  # noqa: E501
        return self.over_wanted(batches, Wanted.TAGGED, column)

    def failed_over(
        self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch, column: str = ERRORS_COLUMN
    ) -> Iterator[pa.RecordBatch]:
        """As `failed`, over Arrow batches."""
        return self.over_wanted(batches, Wanted.FAILED, column)

    def errors_over(
        self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch, column: str = ERRORS_COLUMN
    ) -> Iterator[pa.RecordBatch]:
        """Deprecated: the old name of `failed_over`."""
        warn_renamed_method("errors_over")
        return self.failed_over(batches, column)

    def over_wanted(
        self,
        batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch,
        wanted: Wanted = Wanted.KEPT,
        column: str = ERRORS_COLUMN,
    ) -> Iterator[pa.RecordBatch]:
        """What `over`, `tagged_over` and `failed_over` give, by name."""
        refuse_native(self._plan)
        settings = FilterSettings.in_force(self._given)
        sink = self._sink(settings.events)
        return filter_batches(self._plan, settings, batches, self._next_run(), sink, wanted, column)

    def learn(self, df: Any, share: float = 0.01, rows: int = 10_000) -> int:
        """Sample finished data, so that the next query starts with its native predicates in the right order.

        One Spark job evaluates them on a `share` of the rows of a batch DataFrame, at most on `rows`, and returns on
        how many it did: 0, and no job, where there is nothing to order. What it learns serves streams of the same
        columns too.
        """
        if not (hasattr(df, "observe") and hasattr(df, "sparkSession")):
            raise PlanError(f"learn() takes a Spark DataFrame of finished data, not {type(df).__name__}")
        if not 0.0 < share <= 1.0 or rows < 1:
            raise PlanError(f"learn(share={share!r}, rows={rows!r}): a share above 0, at most 1, of at least 1 row")
        from thalweg.runtime.spark.native import learn

        return learn(df, self._native, share, rows)

    def explain(self, df: Any = None) -> Explanation:
        """What these filters will do, and of what ran what was counted: ``print(keep.explain())``, the last line of a
        notebook cell, or ``keep.explain().save("plan.html")``. Nothing runs.

        `df`: a Spark DataFrame, whose columns are checked and whose session's configuration is read; or an Arrow table
        or record batch.

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
          nothing: there is one way to do it
        <BLANKLINE>
        Settings
          a row that fails fails the query (on_error='raise')
        """
        source = FilterInput.of(self._plan, df)
        settings = FilterSettings.in_force(self._given, source.session)
        adapts = settings.profile is not None
        self._native.recall(settings.events)  # as the next start does
        native, why = self._native.foreseen(adapts)
        earlier = recalled(settings.events, self._plan.pipeline)
        chain = self._plan.pipeline.start if earlier is None else earlier.order
        orders = FirstOrders(native, chain, why, adapts and self._native.worth_sampling)
        return explain_filters(self._plan, settings, orders, source, self.report())

    def report(self) -> Report:
        """What has been counted so far, one section a query or run. Never waits for a query."""
        self._native.settle()
        pending, unobserved = self._fetched()
        return self._tally.report(pending, unobserved, self._deaths())

    def _deaths(self) -> tuple[str, ...]:
        if not self._applications:
            return ()
        from thalweg.runtime.spark.call_mark import deaths, sentence

        names = self._plan.pipeline.names
        found = [death for application in self._applications for death in deaths(application, self._identity)]
        return tuple(sentence(death, names) for death in found[-MOST_DEATHS:])

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process (a `foreachBatch` on Connect) is the same filter set with a report of its own."""
        return Filters, (self._plan, self._given, self._identity)

    def __repr__(self) -> str:
        names = ", ".join([*self._plan.native.names, *(p.name for p in self._plan.predicates)])
        return f"tw.filters({names})"
