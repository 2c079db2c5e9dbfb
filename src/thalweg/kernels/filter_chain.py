"""The filter chain: evaluate predicates in a given order, each only on the rows that are still alive.

Answers: which rows pass all predicates (`run`), and which predicates drop a sampled row (`profile`).
Guarantee: the rows that pass, and the rows that fail with the predicates that raised on them, do not depend on the
order; no predicate sees a row on which one of its guards is not known to be true; every evaluation is counted.
Cost: one call per predicate and slice, on the alive rows; no Python code per row unless the predicate is a row
function. `answer` describes the additional cost of finding the rows that raise.

A predicate that raises on a row is unknown there: the row stays alive for the others, which may drop it. A predicate
whose guard is unknown is unknown too, and is not called. A row has failed if no predicate drops it and one is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import CoroutineType
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PredicateError
from thalweg.kernels.answer import Bits, CallEnded, Raised, answer_by_array, answer_by_row
from thalweg.kernels.columns import Columns, RowNumbers, gathered_type, plain_array, python_values
from thalweg.kernels.compiling import watch_compiling
from thalweg.kernels.unknown import Unknown
from thalweg.kernels.user_error import cause_of, error_text, raised_text
from thalweg.plan import FilterPlan, Predicate

ClockNs = Callable[[], int]
NOTHING: Any = object()
"""Marks a predicate without a setup value; None is a value."""


class Sentry(Protocol):
    """Is notified which predicate is being called, to watch the time or to write a record in case the process dies.

    It may end a call by raising `CallEnded`."""

    def enter(self, k: int) -> None:
        """Called before predicate k is called."""
        ...

    def leave(self) -> None:
        """Called after the predicate has returned or raised."""
        ...


class _NoSentry:
    def enter(self, k: int) -> None: ...

    def leave(self) -> None: ...


NO_SENTRY: Sentry = _NoSentry()


@dataclass(slots=True)
class SliceResult:
    """The result of one slice. Lists are indexed by predicate."""

    kept: RowNumbers
    failed: RowNumbers
    """Rows that no predicate dropped and on which some predicate is unknown."""
    dropped_at: NDArray[np.int16]
    """The position in the order that dropped each row; the number of predicates if none did."""
    evaluated: list[int]
    passed: list[int]
    """Rows that it did not drop: it was true, or it raised."""
    raised: list[int]
    ns: list[int]
    unknown: Unknown | None
    """The predicates that raised, by row; None if none did."""
    cpu_ns: list[int] | None = None
    """The part of `ns` in which this thread ran; None if it was not measured."""
    routed: RoutedCounts | None = None
    """What was counted by route; None if all rows took one."""


@dataclass(slots=True)
class RoutedCounts:
    """What is counted by route, if the rows of a slice take several. Arrays are indexed by route and predicate."""

    route: NDArray[np.integer[Any]]
    """The route of each row of the slice."""
    rows: NDArray[np.int64]
    """The rows of each route."""
    evaluated: NDArray[np.int64]
    passed: NDArray[np.int64]
    calls: list[Call]
    """The calls of predicates, which may be several for one predicate."""
    routes: Sequence[Sequence[int]]
    place: NDArray[np.int16] | None = None
    """By row and predicate its position on the way of the row; the number of predicates if the row did not get there.
    None if all rows followed `routes` exactly."""
    decisions: int = 0
    """How often a lottery decided which predicate is next."""

    def places(self, rows: RowNumbers) -> NDArray[np.integer[Any]]:
        """Return by row and predicate the position of the predicate on the way of the row."""
        return places_of(self.routes)[self.route[rows]] if self.place is None else self.place[rows]

    def on_one_route(self, order: Sequence[int]) -> RoutedCounts:
        """Return the counts as if all rows had taken one route. `order`: the route."""
        return RoutedCounts(
            np.zeros_like(self.route), self.rows.sum(keepdims=True), self.evaluated.sum(axis=0, keepdims=True),
            self.passed.sum(axis=0, keepdims=True), self.calls, (order,), self.place, self.decisions,
        )  # fmt: skip


class Call(NamedTuple):
    """One call of a predicate."""

    predicate: int
    rows: int
    ns: int
    cpu_ns: int | None


@dataclass(slots=True)
class SliceCounts:
    """What is counted while a slice runs through a chain. Lists are indexed by predicate."""

    evaluated: list[int]
    passed: list[int]
    raised: list[int]
    ns: list[int]
    cpu_ns: list[int] | None
    ran: int
    """When the thread's clock was last read."""
    unknown: Unknown | None = None
    skipped: Bits | None = None
    """Which of the rows of the last step were not evaluated, because a guard is unknown; None if all were."""

    @classmethod
    def none(cls, n: int, ran: int = 0, *, timed: bool = False) -> SliceCounts:
        """Counters at zero, for n predicates. `timed`: whether the time of the thread is measured."""
        return cls([0] * n, [0] * n, [0] * n, [0] * n, [0] * n if timed else None, ran)

    def result(self, kept: RowNumbers, dropped_at: NDArray[np.int16]) -> SliceResult:
        """Return the result of the slice. `kept`: the rows that no predicate dropped."""
        failed = kept[:0]
        if self.unknown is not None:
            fails = self.unknown.any_of(kept)
            kept, failed = kept[~fails], kept[fails]
        return SliceResult(
            kept, failed, dropped_at, self.evaluated, self.passed, self.raised, self.ns, self.unknown, self.cpu_ns
        )


@dataclass(slots=True)
class Profile:
    """The result of profiling sampled rows. Lists are indexed by predicate."""

    dropped: Bits
    """One row per sampled row: True if the predicate is known to drop it."""
    evaluated: list[int]
    ns: list[int]
    errors: list[int]
    """Rows that it raised on. Profiling never fails a query; the predicate then counts as not dropping the row."""
    known: Bits
    """One row per sampled row: True if the predicate was evaluated, now or before the row was dropped."""
    cpu_ns: list[int] | None = None
    """The part of `ns` in which this thread ran; None if it was not measured."""
    values: dict[str, pa.Array] | None = None
    """By column, the values by which the rows may be classified; None if no policy asks for them."""


class FilterChain:
    """The predicates of a plan, ready to run in this process."""

    def __init__(
        self, plan: FilterPlan, clock: ClockNs, setups: dict[str, Any] | None = None, cpu_clock: ClockNs | None = None
    ) -> None:
        """`clock` gives wall time. `cpu_clock`: the CPU time of this thread; without it, calls are timed by `clock`."""
        self.plan = plan
        self.pipeline = plan.pipeline
        self.clock = clock
        self.cpu_clock = cpu_clock
        setups = setups if setups is not None else {p.name: set_up(p) for p in plan.predicates}
        self._calls = [_bind(p, setups.get(p.name, NOTHING)) for p in plan.predicates]
        self._guards = plan.pipeline.guards
        self.classifiers, self.classified = plan.classifiers, plan.classify_by is not None
        self.sentry = NO_SENTRY
        self._types: list[pa.DataType] = []
        self._read_as: list[pa.DataType] = []
        by_rows = [c for p in plan.predicates if not p.vectorized for c in set(p.columns)]
        self.shared = frozenset(c for c in by_rows if by_rows.count(c) > 1)
        # pyarrow imports pandas at the first conversion in a process: a second that is not charged to a predicate
        python_values(pa.array([0]))
        watch_compiling(only_if_loaded=True)  # predicates that use numba are compiled at their first call

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """Return the columns that the predicates read, and those by which rows are classified.

        Views and run-end-encoded columns become plain arrays, which functions of Arrow arrays can work with."""
        arrays = {name: batch.column(name) for name in self.plan.needed}
        types = [array.type for array in arrays.values()]
        if types != self._types:
            self._types, self._read_as = types, [gathered_type(kind) for kind in types]
        for (name, array), kind in zip(arrays.items(), self._read_as, strict=True):
            if array.type != kind:
                arrays[name] = plain_array(array, kind)
        return Columns(arrays, batch.num_rows, self.shared)

    def evaluate(self, k: int, columns: Columns, rows: RowNumbers | None) -> tuple[Bits, Raised]:
        """Evaluate predicate k on these rows (None: all). Return which of them stay, and its exceptions by row."""
        predicate = self.plan.predicates[k]
        count = columns.length if rows is None else len(rows)
        values: list[Any]
        if predicate.vectorized:
            values = [columns.arrow(c, rows) for c in predicate.columns]
        else:
            try:
                values = [columns.python(c, rows) for c in predicate.columns]
            except Exception:
                return self._evaluate_convertible(k, columns, _numbers(rows, count))
        self.sentry.enter(k)
        try:
            if predicate.vectorized:
                return answer_by_array(self._calls[k], values, count, predicate.name)
            return answer_by_row(self._calls[k], values, count, predicate.name, strict=predicate.strict)
        finally:
            self.sentry.leave()

    def _evaluate_guarded(self, guard_unknown: Bits, k: int, columns: Columns, rows: RowNumbers) -> tuple[Bits, Raised]:
        """Evaluate predicate k on rows whose guards are known. Rows with an unknown guard (`guard_unknown`) stay."""
        mask = guard_unknown.copy()
        raised: Raised = {}
        if len(rows):
            mask[~guard_unknown], raised = self.evaluate(k, columns, rows)
        return mask, raised

    def _evaluate_convertible(self, k: int, columns: Columns, rows: RowNumbers) -> tuple[Bits, Raised]:
        """Evaluate predicate k if some rows have no Python value (text that is not UTF-8, the year 12000).

        On those rows the predicate is unknown, as if it had raised."""
        raised: Raised = {}
        for i in range(len(rows)):
            for column in self.plan.predicates[k].columns:
                try:
                    columns.python(column, rows[i : i + 1])
                except Exception as error:
                    raised[i] = ValueError(f"no Python value for column {column!r}: {error_text(error)}")
                    break
        good = np.array([i for i in range(len(rows)) if i not in raised], dtype=np.int64)
        mask = np.ones(len(rows), dtype=bool)
        if len(good):
            mask[good], more = self.evaluate(k, columns, rows[good])
            raised |= {int(good[i]): error for i, error in more.items()}
            more.clear()
        return mask, raised

    def begin(self, columns: Columns) -> SliceCounts:
        """Return the counters of a new slice."""
        cpu = self.cpu_clock
        return SliceCounts.none(len(self.pipeline), 0 if cpu is None else cpu(), timed=cpu is not None)

    def step(self, k: int, columns: Columns, rows: RowNumbers | None, count: int, done: SliceCounts) -> RowNumbers:
        """Evaluate predicate k on these rows (None: all), of which there are `count`. Return the places of those that
        stay among them."""
        begun = self.clock()
        guards, unknown = self._guards[k], done.unknown
        skipped = unknown.mark_guarded(k, guards, rows) if unknown is not None and guards else None
        done.skipped = skipped
        if skipped is None:
            asked, evaluated = rows, count
            mask, raised = self.evaluate(k, columns, rows)
        else:
            asked = _numbers(rows, count)[~skipped]
            evaluated = len(asked)
            mask, raised = self._evaluate_guarded(skipped, k, columns, asked)
        done.ns[k] += self.clock() - begun
        if self.cpu_clock is not None and done.cpu_ns is not None:
            # reading this clock takes as long as some rows: the time between two calls is charged to the second
            now = self.cpu_clock()
            done.cpu_ns[k] += now - done.ran
            done.ran = now
        if raised:
            done.raised[k] += len(raised)
            done.unknown = unknown or Unknown(columns.length, len(self._guards))
            done.unknown.add(k, asked, raised)
        true = mask.nonzero()[0]
        done.evaluated[k] += evaluated
        done.passed[k] += evaluated - (count - len(true))
        return true

    def run(self, columns: Columns, order: Sequence[int]) -> SliceResult:
        """Run a slice through the chain."""
        done = self.begin(columns)
        dropped_at = np.zeros(columns.length, dtype=np.int16)
        alive: RowNumbers | None = None
        count = columns.length
        for position, k in enumerate(order):
            if count == 0:
                break
            true = self.step(k, columns, alive, count, done)
            if len(true) < count:
                alive = true if alive is None else alive[true]
                count = len(true)
            # the position that drops a row is the number of predicates that it has passed
            dropped_at[slice(None) if alive is None else alive] = position + 1
        return done.result(_numbers(alive, columns.length), dropped_at)

    def profile(
        self, columns: Columns, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: Bits,
        place: NDArray[Any] | None = None,
    ) -> Profile:  # fmt: skip
        """Evaluate sampled rows, which were dropped at these positions, by the predicates in `evaluate[position]`.
        `place`: the position of each predicate in the route of each row; None if all rows took `order`."""
        n, m = len(order), columns.length
        counts, ns, errors = [0] * n, [0] * n, [0] * n
        place = places_of([order])[0] if place is None else place
        at = dropped_at[:, None]
        dropped, true = at == place, at > place
        known = at >= place
        asked = evaluate[dropped_at] & (at < place)
        cpu_clock = self.cpu_clock
        cpu_ns = None if cpu_clock is None else [0] * n
        for k in order:
            column = asked[:, k]
            for guard in self._guards[k]:
                column &= true[:, guard]
            rows = column.nonzero()[0]
            if not len(rows):
                continue
            ran = 0 if cpu_clock is None else cpu_clock()
            begun = self.clock()
            try:
                mask, raised = self.evaluate(k, columns, None if len(rows) == m else rows)
                true[rows, k] = mask
                dropped[rows, k] = ~mask
                known[rows, k] = True
                if raised:
                    errors[k] = len(raised)
                    true[rows[list(raised)], k] = False  # not known to be true: predicates it guards are not called
                    raised.clear()
            except (PredicateError, CallEnded):  # an answer of a wrong type or length, or none in time
                errors[k] = len(rows)
            ns[k] = self.clock() - begun
            if cpu_clock is not None and cpu_ns is not None:
                cpu_ns[k] = cpu_clock() - ran
            counts[k] = len(rows)
        return Profile(dropped, counts, ns, errors, known, cpu_ns)


def places_of(orders: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return by order and predicate its position.

    >>> places_of([(2, 0, 1)]).tolist()
    [[1, 2, 0]]
    """
    return np.argsort(np.array(orders, dtype=np.int64), axis=1)


def _numbers(alive: RowNumbers | None, count: int) -> RowNumbers:
    return np.arange(count) if alive is None else alive


def set_up(predicate: Predicate) -> Any:
    """Call a predicate's `setup`, once per worker."""
    if predicate.setup is None:
        return NOTHING
    try:
        value = predicate.setup()
    except Exception as error:
        raise PredicateError(
            f"setup of predicate {predicate.name!r} raised {raised_text(error)}. It is called once in each worker "
            "process, where the files and connections that it uses must be available"
        ) from cause_of(error)
    if issubclass(type(value), CoroutineType):
        value.close()
        raise PredicateError(
            f"setup of predicate {predicate.name!r} returned a coroutine, which is never awaited; return its result "
            "instead: asyncio.run(...)"
        )
    return value


def _bind(predicate: Predicate, value: Any) -> Callable[..., Any]:
    return predicate.func if value is NOTHING else partial(predicate.func, value)
