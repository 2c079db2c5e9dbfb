"""A row that failed: predicates raised on it, and no other one drops it. As a value, and as the error of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.errors import FailedRowError
from thalweg.kernels import Columns
from thalweg.kernels.user_frame import raised_at
from thalweg.plan import FilterPlan

MOST_CHARACTERS = 200
"""Of a value in an error message."""
MOST_MESSAGE_CHARACTERS = 1000
"""Of an exception's message; some hold the whole input."""
REMEDY = (
    "Return False for such rows, add a predicate or condition that is false on them, or set such rows aside with "
    'on_error="dead-letter" (in tw.filters, after= keeps a predicate from being called where another is false).'
)
WRONG_KIND = (TypeError, AttributeError)
"""What a function raises that is given an array and wants a value."""
BY_ARRAY = "{name!r} gets Arrow arrays, not values: if it is a function of one row, leave out vectorized=True."


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A row by its number in the batch, and (name, what was raised) of each predicate, in the order of the plan."""

    row: int
    raised: tuple[tuple[str, str], ...]


def told(error: Exception, redact: bool) -> str:
    """An exception in one text; only its type when values must not be told.

    >>> told(ValueError("bad digit in '4x'"), redact=False), told(ValueError("bad digit in '4x'"), redact=True)
    ("ValueError: bad digit in '4x'", 'ValueError')
    """
    kind = type(error).__name__
    if redact:
        return kind
    try:
        message = str(error)
    except Exception:  # it is the user's code, too
        message = "its message cannot be made"
    # a text that is no Unicode could not travel
    text = cut(f"{kind}: {message}" if message else kind, MOST_MESSAGE_CHARACTERS)
    return text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, most: int) -> str:
    """A text of at most about `most` characters.

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
    """What the query fails with; `where` names the row, `columns` are those of its slice."""
    what = "; ".join(f"predicate {plan.predicates[k].name!r} raised {_told_with_place(e, redact)}" for k, e in raised)
    read = dict.fromkeys(c for k, _ in raised for c in plan.predicates[k].columns)
    values = "redacted" if redact else ", ".join(f"{c}={_value(columns, c, row)}" for c in read)
    by_array = [
        plan.predicates[k].name for k, e in raised if plan.predicates[k].vectorized and isinstance(e, WRONG_KIND)
    ]
    remedy = f"{BY_ARRAY.format(name=by_array[0])} {REMEDY}" if by_array else REMEDY
    return FailedRowError(f"{what}. This is {where}, which no predicate drops; values: {values}. {remedy}")


def _told_with_place(error: Exception, redact: bool) -> str:
    at = raised_at(error)
    return told(error, redact) + (f" ({at})" if at else "")


def _value(columns: Columns, column: str, row: int) -> str:
    at = np.array([row])
    try:
        text = repr(columns.python(column, at)[0])
    except Exception:  # Python has no value for it
        text = f"a {columns.arrow(column, at).type} that cannot be shown"
    return cut(text, MOST_CHARACTERS)
