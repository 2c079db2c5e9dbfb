"""The filter chain: evaluate predicates in a given order, each only on the rows still alive.

Answers: which rows pass all predicates (`run`), and which predicates drop a sampled row (`profile`).
Guarantee: the rows that pass do not depend on the order; no predicate sees a row on which a guard of it is not known
to be true; every evaluation is counted.
Cost: one call a predicate and slice, on the alive rows; no Python per row unless the predicate is a row function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import truth
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PredicateError
from thalweg.kernels.columns import Columns, Rows
from thalweg.plan import FilterPlan, Predicate

Bits = NDArray[np.bool_]
Clock = Callable[[], int]
NOTHING: Any = object()
"""Marks a predicate without a set-up value; None is a value."""


@dataclass(slots=True)
class Pass:
    """What one slice came to. Lists are indexed by predicate."""

    kept: Rows
    dropped_at: NDArray[np.int16]
    """The position in the order that dropped each row; the number of predicates where none did."""
    evaluated: list[int]
    passed: list[int]
    ns: list[int]


@dataclass(slots=True)
class Profile:
    """What the sampled rows came to. Lists are indexed by predicate."""

    dropped: Bits
    """One row a sampled row: True where the predicate is known to drop it."""
    evaluated: list[int]
    ns: list[int]
    errors: list[int]
    """Calls that raised. Profiling never fails a query; the predicate then counts as not dropping."""


class FilterChain:
    """The predicates of a plan, ready to run in this process."""

    def __init__(self, plan: FilterPlan, clock: Clock, setups: dict[str, Any] | None = None) -> None:
        self.plan = plan
        self.clock = clock
        setups = setups if setups is not None else {p.name: set_up(p) for p in plan.predicates}
        self._calls = [_bind(p, setups.get(p.name, NOTHING)) for p in plan.predicates]
        self._guards = plan.pipeline.guards
        by_rows = [c for p in plan.predicates if not p.vectorized for c in set(p.columns)]
        self.shared = frozenset(c for c in by_rows if by_rows.count(c) > 1)

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """The columns the predicates read."""
        return Columns({name: batch.column(name) for name in self.plan.columns}, batch.num_rows, self.shared)

    def evaluate(self, k: int, columns: Columns, rows: Rows | None) -> Bits:
        """Predicate k on these rows (None: all), as one bit a row."""
        predicate = self.plan.predicates[k]
        count = columns.length if rows is None else len(rows)
        try:
            if predicate.vectorized:
                result = self._calls[k](*(columns.arrow(c, rows) for c in predicate.columns))
            else:
                values = (columns.python(c, rows) for c in predicate.columns)
                return np.fromiter(map(truth, map(self._calls[k], *values)), dtype=bool, count=count)
        except Exception as error:
            reads = ", ".join(predicate.columns)
            raise PredicateError(
                f"predicate {predicate.name!r} raised {type(error).__name__}: {error} (on a slice of {count} rows of "
                f"{reads}). Let it return False for such rows, or put a check before it with after="
            ) from error
        return as_mask(result, count, predicate.name)

    def run(self, columns: Columns, order: Sequence[int]) -> Pass:
        """The slice through the chain."""
        n = len(order)
        evaluated, passed, ns = [0] * n, [0] * n, [0] * n
        dropped_at = np.zeros(columns.length, dtype=np.int16)
        alive: Rows | None = None
        count = columns.length
        clock = self.clock
        for position, k in enumerate(order):
            if count == 0:
                break
            begun = clock()
            mask = self.evaluate(k, columns, alive)
            ns[k] = clock() - begun
            evaluated[k] = count
            true = mask.nonzero()[0]
            passed[k] = left = len(true)
            if left < count:
                alive = true if alive is None else alive[true]
                count = left
            # a row is dropped at the number of positions it has passed
            dropped_at[slice(None) if alive is None else alive] = position + 1
        kept = np.arange(columns.length) if alive is None else alive
        return Pass(kept, dropped_at, evaluated, passed, ns)

    def profile(self, columns: Columns, dropped_at: NDArray[np.int16], order: Sequence[int], evaluate: Bits) -> Profile:
        """These rows were dropped at the positions given; evaluate on each what `evaluate[position]` says."""
        n, m = len(order), columns.length
        counts, ns, errors = [0] * n, [0] * n, [0] * n
        place = np.empty(n, dtype=np.int64)
        place[list(order)] = np.arange(n)
        at = dropped_at[:, None]
        dropped, true = at == place, at > place
        asked = evaluate[dropped_at] & (at < place)
        for k in order:
            column = asked[:, k]
            for guard in self._guards[k]:
                column &= true[:, guard]
            rows = column.nonzero()[0]
            if not len(rows):
                continue
            begun = self.clock()
            try:
                mask = self.evaluate(k, columns, None if len(rows) == m else rows)
                true[rows, k] = mask
                dropped[rows, k] = ~mask
            except PredicateError:
                errors[k] += 1
            ns[k] = self.clock() - begun
            counts[k] = len(rows)
        return Profile(dropped, counts, ns, errors)


def set_up(predicate: Predicate) -> Any:
    """Call a predicate's `setup`, once a worker."""
    if predicate.setup is None:
        return NOTHING
    try:
        return predicate.setup()
    except Exception as error:
        raise PredicateError(f"setup of predicate {predicate.name!r} raised {type(error).__name__}: {error}") from error


def _bind(predicate: Predicate, value: Any) -> Callable[..., Any]:
    return predicate.func if value is NOTHING else partial(predicate.func, value)


def as_mask(result: Any, rows: int, name: str) -> Bits:
    """A vectorised predicate's answer as one bit a row; null is false.

    >>> as_mask(pa.array([True, None, False]), 3, "p").tolist()
    [True, False, False]
    """
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, (pa.Array, np.ndarray)) and hasattr(result, "__array__") and hasattr(result, "dtype"):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError):  # mixed values; refused below, by what they are
            result = pa.array(result)  # pandas, with its own missing values
    if isinstance(result, pa.Array) and pa.types.is_boolean(result.type):
        mask: Bits = (result.fill_null(False) if result.null_count else result).to_numpy(zero_copy_only=False)
    elif isinstance(result, np.ndarray) and result.dtype == np.bool_ and result.ndim == 1:
        mask = result
    else:
        what = result.type if isinstance(result, pa.Array) else getattr(result, "dtype", None)
        raise PredicateError(
            f"predicate {name!r} is vectorized and must return an array of booleans, one a row; it returned "
            f"{type(result).__name__}{f' of {what}' if what is not None else ''}"
        )
    if len(mask) != rows:
        raise PredicateError(f"predicate {name!r} got {rows} rows and returned {len(mask)} values; one a row is needed")
    return mask
