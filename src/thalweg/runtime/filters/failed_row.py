"""Failed rows, as values and as the error of a query: predicates raised on them, and no other predicate drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.errors import FailedRowError
from thalweg.kernels import Columns
from thalweg.kernels.columns import shown
from thalweg.kernels.user_error import raised_text
from thalweg.plan import FilterPlan

REMEDY = (
    "Return False for such rows, add a predicate that is false for them (after= keeps this one from being called on "
    'them), or set them aside with tw.filters(..., on_error="dead-letter"); keep.failed(df), or keep.failed_over(...) '
    "for Arrow data, returns them."
)
REMEDY_IN_SQL = (
    "Make the condition false for such rows, add a condition to WHERE that is false for them, or set them aside with "
    's.query(..., on_error="dead-letter"); q.failed() returns them.'
)
WRONG_KIND = (TypeError, AttributeError)
"""The exceptions of a function that expects a value and is called with an array."""
BY_ARRAY = "{name!r} gets Arrow arrays, not values: if it is a function of one row, leave out vectorized=True."


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A failed row: its number in the batch, and for each predicate that raised its name and the error, in the order of
    the plan."""

    row: int
    raised: tuple[tuple[str, str], ...]


def failed_row_error(
    plan: FilterPlan,
    columns: Columns,
    row: int,
    raised: Sequence[tuple[int, Exception]],
    where: str,
    redact: bool,
) -> FailedRowError:
    """Return the error that the query fails with. `where` names the row, `columns` are those of its slice."""
    word, remedy = ("condition", REMEDY_IN_SQL) if plan.of_query else ("predicate", REMEDY)
    what = "; ".join(f"{word} {plan.predicates[k].name!r} raised {raised_text(e, redact)}" for k, e in raised)
    read = dict.fromkeys(c for k, _ in raised for c in plan.predicates[k].columns)
    values = "redacted" if redact else ", ".join(f"{c}={shown(columns.arrow(c, np.array([row]))[0])}" for c in read)
    by_array = [
        plan.predicates[k].name for k, e in raised if plan.predicates[k].vectorized and issubclass(type(e), WRONG_KIND)
    ]
    if by_array and not plan.of_query:
        remedy = f"{BY_ARRAY.format(name=by_array[0])} {remedy}"
    return FailedRowError(f"{what}. This is {where}, which no {word} drops; values: {values}. {remedy}")
