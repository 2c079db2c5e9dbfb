"""Calls of user-defined functions: row by row with Python values, or once with Arrow arrays.

>>> from thalweg.plan.expression import Ref
>>> double = UserFunction("double", lambda x: None if x is None else 2 * x, pa.int64())
>>> call_user(double, [pa.array([1, None])], 2).to_pylist()
[2, None]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import FunctionError, WrongAnswerError
from thalweg.formatting import plural
from thalweg.kernels.user_frame import raised_at
from thalweg.plan.relation import UserFunction
from thalweg.plan.type_rules import is_number, plain_type, sql_name

is_ = pa.types


def call_user(
    function: UserFunction, arrays: Sequence[pa.Array], rows: int, *, tries_all: bool = False
) -> pa.Array:  # fmt: skip
    """Return the results of a function in its registered type.

    `tries_all`: call it for all rows, even if it raises for some."""
    if not rows:
        return pa.array([], function.returns)
    if function.vectorized:
        try:
            result = function.func(*arrays)
        except Exception as error:
            raise _raised_error(function, error, plural(rows, "row")) from error
        made = _array_of(function, result)
        if len(made) != rows:
            raise WrongAnswerError(
                f"function {function.name!r} got {plural(rows, 'row')} and returned {plural(len(made), 'value')}; "
                "it must return one per row"
            )
    else:
        made = _inferred(function, _values(function, arrays, rows, tries_all))
    return _as_declared(function, made)


def _values(function: UserFunction, arrays: Sequence[pa.Array], rows: int, tries_all: bool) -> list[Any]:
    func = function.func
    row: tuple[Any, ...] = ()
    if tries_all:
        return _all_values(function, arrays, rows)
    try:
        if not arrays:
            return [func() for _ in range(rows)]
        values = []
        for row in zip(*(a.to_pylist() for a in arrays), strict=True):
            values.append(func(*row))  # a loop, so that `row` is the row it fails on
        return values
    except Exception as error:
        raise _raised_error(function, error, ", ".join(f"{value!r:.80}" for value in row) or "no arguments") from error


def _all_values(function: UserFunction, arrays: Sequence[pa.Array], rows: int) -> list[Any]:
    func = function.func
    given = zip(*(a.to_pylist() for a in arrays), strict=True) if arrays else (() for _ in range(rows))
    values: list[Any] = []
    errors: list[Exception] = []
    raising: list[int] = []
    for n, row in enumerate(given):
        try:
            values.append(func(*row))
        except Exception as error:
            raising.append(n)
            errors.append(error)
    if errors:
        raised = _raised_error(function, errors[0], plural(rows, "row"))
        raise raised.on_rows(raising, errors.__getitem__) from errors[0]
    return values


def _raised_error(function: UserFunction, error: Exception, given: str) -> FunctionError:
    at = raised_at(error)
    place = f" ({at})" if at else ""
    remedy = "make it return None for such rows, or filter them out in WHERE"
    what = f"function {function.name!r} raised {type(error).__name__}"
    return FunctionError(f"{what}: {error}{place}, given {given}; {remedy}").or_redacted(f"{what}{place}; {remedy}")


def _array_of(function: UserFunction, result: Any) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        return result
    if isinstance(result, np.ndarray) and result.ndim != 1:
        raise WrongAnswerError(
            f"function {function.name!r} returned an array of {result.ndim} dimensions; return a one-dimensional array"
        )
    if not isinstance(result, list) and not (hasattr(result, "__array__") and hasattr(result, "__len__")):
        raise WrongAnswerError(
            f"function {function.name!r} is vectorized and must return an array, one value per row; it returned "
            f"{type(result).__name__}. It got whole columns, as Arrow arrays; if it is a function of one row's values, "
            "leave out vectorized=True"
        )
    return _inferred(function, result)


def _inferred(function: UserFunction, values: Any) -> pa.Array:
    """Return values as an array whose type Arrow infers: given the type, Arrow would silently truncate 1.5 to 1."""
    try:
        if isinstance(values, list) and is_.is_floating(function.returns):
            return pa.array(values, function.returns)  # integers may be among them
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        raise _wrong_type(function, f"values of {', '.join(kinds[:4])}") from None


def _as_declared(function: UserFunction, made: pa.Array) -> pa.Array:
    kind = function.returns
    if made.type == kind:
        return made
    have = plain_type(made.type)
    if not (is_.is_null(have) or have == kind or _family(have) == _family(kind) is not None):
        # the type of a struct contains field names, which may be values of the row
        raise _wrong_type(function, str(made.type)).or_redacted(str(_wrong_type(function, "values of another type")))
    try:
        if is_.is_dictionary(made.type):
            made = made.dictionary_decode()
        if is_.is_floating(kind) and is_.is_integer(made.type):
            return made.cast(kind, safe=False)
        return made.cast(kind)
    except pa.ArrowInvalid as error:
        does_not = f"{made.type} that does not fit"
        raise _wrong_type(function, f"{does_not} ({error})").or_redacted(str(_wrong_type(function, does_not))) from None


def _family(kind: pa.DataType) -> str | None:
    if is_number(kind):
        return "number"
    for name in ("timestamp", "duration", "date", "string", "binary"):
        if getattr(is_, f"is_{name}")(kind):
            return name
    return None


def _wrong_type(function: UserFunction, what: str) -> WrongAnswerError:
    return WrongAnswerError(
        f"function {function.name!r} is registered to return {sql_name(function.returns)} and returned {what}; change "
        "the function or its returns= argument"
    )
