"""Calls of user-defined functions: row by row with Python values, or once with Arrow arrays.

>>> from thalweg.plan.expressions.expression import Ref
>>> double = UserFunction("double", lambda x: None if x is None else 2 * x, pa.int64())
>>> call_user(double, [pa.array([1, None])], 2).to_pylist()
[2, None]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import repeat, starmap
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import FunctionError, WrongAnswerError
from thalweg.formatting import plural
from thalweg.kernels.columns import plain_array, shown
from thalweg.kernels.columns import plain_type as unencoded
from thalweg.kernels.user_error import cause_of, raised_text
from thalweg.plan.expressions.type_rules import is_number, plain_type, sql_name
from thalweg.plan.query.relation import UserFunction

is_ = pa.types
MOST_CHARACTERS = 80
"""The most characters of an argument that an error shows."""
_PLAIN = {type(None), bool, int, float, str, bytes, np.float64, np.int64, Decimal, date, datetime}
"""The usual types of results."""
_CONTAINERS = (list, tuple, set, frozenset, dict, np.ndarray)


def call_user(
    function: UserFunction, arrays: Sequence[pa.Array], rows: int, *, tries_all: bool = False
) -> pa.Array:  # fmt: skip
    """Return the results of a function in its registered type.

    `tries_all`: call it for all rows, even if it raises for some."""
    if not rows:
        return pa.array([], function.returns)
    if not function.vectorized:
        values = (_all_values if tries_all else _values)(function, arrays, rows)
        return _as_declared(function, _array_of_values(function, values, arrays))
    try:
        result = function.func(*arrays)
    except Exception as error:
        raise _raised_error(function, error, plural(rows, "row")) from cause_of(error)
    made = _array_of(function, result)
    if len(made) != rows:
        raise WrongAnswerError(
            f"function {function.name!r} got {plural(rows, 'row')} and returned {plural(len(made), 'value')}; "
            "it must return one per row"
        )
    return _as_declared(function, made)


class NoPythonValueError(ValueError):
    """Raised for a row with a value that Python does not have."""


def _call_and_rows(
    function: UserFunction, arrays: Sequence[pa.Array], rows: int
) -> tuple[Callable[..., Any], Iterable[tuple[Any, ...]]]:
    """Return what to call for each row, and its arguments."""
    if not arrays:
        return function.func, repeat((), rows)
    try:
        return function.func, zip(*(a.to_pylist() for a in arrays), strict=True)
    except Exception:  # only the rows without Python values must fail
        return (lambda row: function.func(*(_python(a[row]) for a in arrays))), zip(range(rows), strict=True)


def _python(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except Exception:
        raise NoPythonValueError(f"Python has no value for {shown(value, MOST_CHARACTERS)}") from None


def _values(function: UserFunction, arrays: Sequence[pa.Array], rows: int) -> list[Any]:
    values: list[Any] = []
    try:
        func, given = _call_and_rows(function, arrays, rows)
        values.extend(starmap(func, given))  # keeps the values before the row it fails on
        if len(values) < rows:
            raise StopIteration  # which ends `extend` silently
        return values
    except Exception as error:
        raise _raised_error(function, error, _arguments(arrays, len(values))) from cause_of(error)


def _all_values(function: UserFunction, arrays: Sequence[pa.Array], rows: int) -> list[Any]:
    func, given = _call_and_rows(function, arrays, rows)
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


def _arguments(arrays: Sequence[pa.Array], row: int) -> str:
    return ", ".join(shown(a[row], MOST_CHARACTERS) for a in arrays) or "no arguments"


def _raised_error(function: UserFunction, error: Exception, given: str) -> FunctionError:
    remedy = "make it return None for such rows, or filter them out in WHERE"
    name = f"function {function.name!r}"
    if type(error) is NoPythonValueError:
        what = f"{name} cannot be called for a row"
        return FunctionError(f"{what}: {error}; {remedy}").or_redacted(f"{what}: Python has no such value; {remedy}")
    return FunctionError(f"{name} raised {raised_text(error)}, given {given}; {remedy}").or_redacted(
        f"{name} raised {raised_text(error, redact=True)}; {remedy}"
    )


def _array_of_values(function: UserFunction, values: list[Any], arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the results of a row function as an array."""
    try:
        return _inferred(function, values)
    except UnicodeEncodeError as error:
        row = next(n for n, value in enumerate(values) if not _is_unicode(value))
        raise _no_unicode(function, _arguments(arrays, row)) from error


def _is_unicode(value: Any) -> bool:
    try:
        pa.array([value])
    except UnicodeEncodeError:
        return False
    except Exception:  # refused for another reason, or of another type than its neighbors
        return True
    return True


def _no_unicode(function: UserFunction, given: str) -> FunctionError:
    what = f"function {function.name!r} returned text that UTF-8 cannot encode, with half of a surrogate pair"
    remedy = "make it return valid text, or None"
    return FunctionError(f"{what}, given {given}; {remedy}").or_redacted(f"{what}; {remedy}")


def _array_of(function: UserFunction, result: Any) -> pa.Array:
    """Return the result of a vectorized function as an array."""
    kind = type(result)
    if issubclass(kind, (pa.Array, pa.ChunkedArray)):
        return _in_one_piece(result)
    if issubclass(kind, np.ndarray) and result.ndim != 1:
        raise WrongAnswerError(
            f"function {function.name!r} returned an array of {result.ndim} dimensions; return a one-dimensional array"
        )
    if not issubclass(kind, list) and not (hasattr(kind, "__array__") and hasattr(kind, "__len__")):
        raise WrongAnswerError(
            f"function {function.name!r} is vectorized and must return an array, one value per row; it returned "
            f"{kind.__name__}. It got whole columns, as Arrow arrays; if it is a function of one row's values, "
            "leave out vectorized=True"
        )
    try:
        return _inferred(function, result)
    except UnicodeEncodeError as error:
        raise _no_unicode(function, plural(len(result), "row")) from error


def _in_one_piece(made: Any) -> pa.Array:
    """Return an array that is not chunked, and whose values are not encoded by runs or a dictionary."""
    array = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
    return array if array.type == (plain := unencoded(array.type)) else plain_array(array, plain)


def _inferred(function: UserFunction, values: Any) -> pa.Array:
    """Return values as an array whose type Arrow infers: given the type, Arrow would silently truncate 1.5 to 1."""
    try:
        if isinstance(values, list) or getattr(values, "dtype", None) == np.dtype(object):
            _refuse_containers(list(values))
        if isinstance(values, list) and is_.is_floating(function.returns):
            return pa.array(values, function.returns)  # integers may be among them
        return _in_one_piece(pa.array(values))
    except (UnicodeEncodeError, MemoryError):
        raise
    except Exception:
        listed = values if isinstance(values, list) else ()
        kinds = sorted({type(value).__name__ for value in listed if value is not None})
        what = (
            f"values of {', '.join(kinds[:4])}" if kinds else f"a {type(values).__name__} that is no column of values"
        )
        raise _wrong_type(function, what) from None


def _refuse_containers(values: list[Any]) -> None:
    """Raise if there are values for which Arrow would end the process: a list that contains itself, or an object that
    raises when asked for its class. No function returns lists or other containers."""
    strange = set(map(type, values)) - _PLAIN
    if any(issubclass(kind, _CONTAINERS) for kind in strange):
        raise TypeError("a container")
    for value in values if strange else ():
        _ = value.__class__


def _as_declared(function: UserFunction, made: pa.Array) -> pa.Array:
    kind = function.returns
    if made.type == kind:
        return made
    have = plain_type(made.type)
    if not (is_.is_null(have) or have == kind or _family(have) == _family(kind) is not None):
        # the type of a struct contains field names, which may be values of the row
        raise _wrong_type(function, str(made.type)).or_redacted(str(_wrong_type(function, "values of another type")))
    try:
        if is_.is_floating(kind) and is_.is_integer(made.type):
            return made.cast(kind, safe=False)
        return made.cast(kind)
    except pa.ArrowException as error:
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
