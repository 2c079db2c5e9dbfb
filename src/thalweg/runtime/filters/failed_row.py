"""Failed rows, as values and as the error of a query: predicates raised on them, and no other predicate drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.errors import FailedRowError
from thalweg.kernels import Columns
from thalweg.kernels.user_frame import raised_at
from thalweg.plan import FilterPlan

MOST_CHARACTERS = 200
"""The most characters of a value that an error message shows."""
MOST_MESSAGE_CHARACTERS = 1000
"""The most characters of an exception's message; some messages contain the whole input."""
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


def error_text(error: Exception, redact: bool) -> str:
    """Return the type and the message of an exception; with `redact` only its type.

    >>> error = ValueError("bad digit in '4x'")
    >>> error_text(error, redact=False), error_text(error, redact=True)
    ("ValueError: bad digit in '4x'", 'ValueError')
    """
    kind = type(error).__name__
    if redact:
        return kind
    try:
        message = str(error)
    except Exception:  # __str__ may be the user's code, too
        message = "its message is not available, because str() of it failed"
    # text that is not valid Unicode cannot be stored in a column
    text = cut(f"{kind}: {message}" if message else kind, MOST_MESSAGE_CHARACTERS)
    return text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, most: int) -> str:
    """Shorten a text to about `most` characters.

    >>> cut("abcdefgh", 5)
    'abcde... (8 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


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
    what = "; ".join(f"{word} {plan.predicates[k].name!r} raised {_text_and_place(e, redact)}" for k, e in raised)
    read = dict.fromkeys(c for k, _ in raised for c in plan.predicates[k].columns)
    values = "redacted" if redact else ", ".join(f"{c}={_value(columns, c, row)}" for c in read)
    by_array = [
        plan.predicates[k].name for k, e in raised if plan.predicates[k].vectorized and isinstance(e, WRONG_KIND)
    ]
    if by_array and not plan.of_query:
        remedy = f"{BY_ARRAY.format(name=by_array[0])} {remedy}"
    return FailedRowError(f"{what}. This is {where}, which no {word} drops; values: {values}. {remedy}")


def _text_and_place(error: Exception, redact: bool) -> str:
    at = raised_at(error)
    return error_text(error, redact) + (f" ({at})" if at else "")


def _value(columns: Columns, column: str, row: int) -> str:
    at = np.array([row])
    try:
        text = repr(columns.python(column, at)[0])
    except Exception:  # some Arrow values have no Python equivalent
        text = f"a {columns.arrow(column, at).type} that cannot be shown"
    return cut(text, MOST_CHARACTERS)
