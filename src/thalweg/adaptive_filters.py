"""The public face of adaptive filters: `filters(...)` makes a :class:`Filters`, which is applied to a DataFrame."""

from __future__ import annotations

import itertools
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from thalweg.errors import PlanError
from thalweg.events import JsonLines, Record
from thalweg.plan import FilterPlan, NativePredicate, Predicate
from thalweg.plan.predicate import ColumnLike
from thalweg.report import Report, Tally
from thalweg.runtime.local import filter_batches
from thalweg.runtime.native_order import NativeOrder
from thalweg.runtime.settings import resolve

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.runtime.spark.first_action import Fetch

MOST_PENDING = 1000
"""Batch DataFrames whose first action is waited for; in a `foreachBatch` nobody may ever ask for a report."""


def filters(
    *predicates: Predicate | NativePredicate | ColumnLike,
    policy: str | None = None,
    p: float | None = None,
    window: int | None = None,
    alpha: float | None = None,
    slice_rows: int | None = None,
    seed: int | None = None,
    events: str | os.PathLike[str] | None = None,
) -> Filters:
    """A conjunction of predicates whose order follows the data.

    A row passes when every predicate is true; null counts as false. The rows that pass never depend on the order.

    Parameters
    ----------
    predicates
        Made with :func:`thalweg.predicate`, in any order. Among them may be Columns of PySpark, as they are or given
        to :func:`thalweg.predicate` with a name: native predicates, evaluated in the JVM before rows travel.
    policy
        ``"a-greedy"`` (default), ``"sweep"``, ``"independent"``, ``"local-swaps"``, ``"written"`` (keeps the order as
        it stands); ``"duckdb-swap"`` and ``"velox-rank"`` do what other engines do, to compare with.
    p, window, alpha
        Share of dropped rows to profile, profile tuples remembered, and thrashing avoidance. The defaults are the
        policy's own, from the paper.
    slice_rows
        Rows between two looks at the order. By default about a thousand, more while the order stands.
    seed
        For the sample of profiled rows; it never changes the answer.
    events
        A file to which the driver appends event records as JSON lines.

    What is not given is taken from Spark's configuration (``spark.thalweg.policy``), then from the environment
    (``THALWEG_POLICY``), then from the default.

    >>> import pyarrow as pa, thalweg as tw
    >>> keep = tw.filters(tw.predicate(str.isdigit, "code"), tw.predicate(lambda c: len(c) > 2, "code", name="long"))
    >>> [b.to_pylist() for b in keep.over(pa.table({"code": ["7", "1234", "abc"]}))]
    [[{'code': '1234'}]]
    >>> keep.report().sections[0].kept
    1
    """
    given = {
        "policy": policy, "p": p, "window": window, "alpha": alpha, "slice_rows": slice_rows, "seed": seed,
        "events": events,
    }  # fmt: skip
    return Filters(FilterPlan.of(predicates), given)


class Filters:
    """Apply it with ``df.transform(keep)``, or to Arrow batches with ``keep.over(batches)``; ask ``keep.report()``."""

    def __init__(self, plan: FilterPlan, given: dict[str, Any], identity: str | None = None) -> None:
        self._plan = plan
        self._given = given
        resolve(given)  # a wrong setting is told here, not when the query runs
        self._native = NativeOrder(plan.native)
        self._tally = Tally()
        self._sinks: dict[str, JsonLines] = {}
        self._fetch: list[Fetch] = []
        self._unobserved = 0
        self._passes = itertools.count(1)
        self._identity = identity or uuid.uuid4().hex
        self._lock = threading.Lock()

    def __call__(self, df: Any) -> Any:
        """The rows of a Spark DataFrame, batch or streaming, that pass; a plain DataFrame with the same columns."""
        if not (hasattr(df, "observe") and hasattr(df, "sparkSession")):
            raise PlanError(f"filters are applied to a Spark DataFrame, not to {type(df).__name__}; for Arrow: .over()")
        from thalweg.runtime.spark.filters import attach

        settings = resolve(self._given, lambda key: df.sparkSession.conf.get(key, None))
        out, fetch = attach(df, self._plan, settings, self._identity, self._sink(settings.events), self._native)
        if fetch is not None:
            with self._lock:
                self._fetch = [*self._fetch[-MOST_PENDING:], fetch]
        return out

    def over(self, batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of Arrow batches that pass, batch by batch, without Spark."""
        if self._plan.native:
            raise PlanError(f"native predicates need Spark: {', '.join(self._plan.native.names)}; over() takes none")
        settings = resolve(self._given)
        run = f"local pass {next(self._passes)} of {self._identity[:8]}"
        return filter_batches(self._plan, settings, batches, run, self._sink(settings.events))

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

    def report(self) -> Report:
        """What has been counted so far, one section a query or run. Never waits for a query."""
        self._native.settle()
        with self._lock:
            waiting = [fetch for fetch in self._fetch if not fetch()]
            self._unobserved += sum(1 for fetch in self._fetch if fetch.ended and not fetch.observed)
            self._fetch = waiting
            return self._tally.report(pending=len(waiting), unobserved=self._unobserved)

    def _sink(self, path: str | os.PathLike[str] | None) -> Callable[[Record], None]:
        if path is None:
            return self._tally.add
        with self._lock:
            lines = self._sinks.setdefault(str(path), JsonLines(path))

        def both(record: Record) -> None:
            self._tally.add(record)
            lines.write(record)

        return both

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process (a `foreachBatch` on Connect) is the same filter set with a report of its own."""
        return Filters, (self._plan, self._given, self._identity)

    def __repr__(self) -> str:
        names = ", ".join([*self._plan.native.names, *(p.name for p in self._plan.predicates)])
        return f"tw.filters({names})"
