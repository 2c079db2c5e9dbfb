"""The answers of a predicate on some rows: one bit per row, and the rows on which it raised.

A row function is called once per row, even if it raises on some: the calls continue after the row that raised. A
vectorized predicate that raises is called again on halves, down to single rows that raise: O(f log n) more calls for f
such rows of n. If a slice raises but neither half does (too little memory, for example), no row of it has raised. An
SQL expression knows all rows on which it divides by zero, fails to cast text or calls a function that raises: it is
called once more, on the other rows.

>>> mask, raised = answer_by_row(lambda x: 10 / x > 2, [[1, 0, 9]], 3, "p")
>>> mask.tolist(), raised  # unknown is not false: the bit is whether the row stays
([True, True, False], {1: ZeroDivisionError('division by zero')})
"""

from __future__ import annotations

import marshal
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from operator import truth
from types import CoroutineType
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import ExpressionError, PlanError, PredicateError, WrongAnswerError
from thalweg.formatting import plural
from thalweg.plan.filters.predicate import is_column

Bits = NDArray[np.bool_]
Raised = dict[int, Exception]
"""The exceptions, by the row's position among the given rows. The owner clears it after use: an exception keeps the
frames it passed through alive, and these keep the rows alive."""

_HEAD = len(marshal.dumps([], 2))
_SMALL = {bool, int}
"""Types whose truth is their number."""
_TRUTH_VALUES = {bool, type(None), np.bool_, int, float, str, bytes, list, tuple, dict, set, re.Match}
"""Common types of results that need no check."""


class CallEnded(BaseException):
    """Raised inside a call by its watchdog, to end it. An `except Exception` in a predicate does not catch it."""


def answer_by_row(
    call: Callable[..., Any], values: Sequence[list[Any]], rows: int, name: str, *, strict: bool = False
) -> tuple[Bits, Raised]:
    """Call a row function on the values of its columns.

    Each type that it returns is checked once: an array has no truth value, and a coroutine is always true. `strict`:
    refuse everything that is not a boolean or None."""
    raised: Raised = {}
    answers = _all_of(map(call, *values), rows, raised)
    if answers and type(answers[0]) is bool:
        with suppress(Exception):  # not all are numbers
            numbers = bytes(answers)
            # marshal writes booleans as one byte, and other numbers as more; to compare all types takes three times as
            # long
            if len(marshal.dumps(answers, 2)) == rows + _HEAD:
                return np.frombuffer(numbers, dtype=bool), raised
    types = list(map(type, answers))
    kinds = set(types)
    if strict:
        _refuse_other_kinds(kinds, name)
    for kind in sorted(kinds - _TRUTH_VALUES, key=lambda kind: kind.__name__):
        _refuse_non_truth_value(answers[types.index(kind)], answers, name)
    if kinds <= _SMALL:  # and no subclass of int, which may have a truth of its own
        with suppress(ValueError):  # a number that is not in a byte
            return np.frombuffer(bytes(answers), dtype=np.uint8) != 0, raised
    return np.frombuffer(bytes(_all_of(map(truth, answers), rows, raised)), dtype=bool), raised


def _all_of(results: Iterator[Any], rows: int, raised: Raised) -> list[Any]:
    """Return all results, with True for calls that raised."""
    answers: list[Any] = []
    while len(answers) < rows:
        try:
            answers.extend(results)  # keeps the results before an exception
            if len(answers) < rows:  # a StopIteration ends `extend` silently
                raised[len(answers)] = StopIteration()
                answers.append(True)
        except Exception as error:
            raised[len(answers)] = error
            answers.append(True)
    return answers


def _refuse_other_kinds(kinds: set[type], name: str) -> None:
    others = kinds - {bool, type(None), np.bool_}
    if others:
        names = ", ".join(sorted({kind.__name__ for kind in others})[:4])
        raise WrongAnswerError(
            f"{name} is registered to return BOOLEAN and returned {names}; change the function or its returns= argument"
        )


def _refuse_non_truth_value(result: Any, answers: Sequence[Any], name: str) -> None:
    """Raise if a result cannot be a truth value.

    Refused are: Arrow, NumPy and pandas arrays, Arrow scalars (before pyarrow 21 even a false one counts as true),
    Columns, and objects that are always true because they have not run yet. Only the type is looked at: a result may
    name another `__class__`, as a mock does."""
    kind = type(result)
    library = kind.__module__.partition(".")[0]
    whose = "" if library == "builtins" else f"{library}'s "
    what = f"predicate {name!r} returned {whose}{kind.__name__} for a row"
    if is_column(result):
        raise PredicateError(
            f"{what}: a function of Columns is not a predicate; pass its result instead: tw.predicate(f(F.col(...)))"
        )
    of_pandas = library == "pandas" and hasattr(kind, "__array__")
    if (
        of_pandas
        or issubclass(kind, (pa.Scalar, pa.Array, pa.ChunkedArray))
        or (issubclass(kind, np.ndarray) and result.ndim)
    ):
        raise PredicateError(
            f"{what}, which is not a truth value; did you forget vectorized=True? With it, the function gets whole "
            "columns as Arrow arrays and returns one boolean per row"
        )
    if issubclass(kind, Awaitable | AsyncIterator):
        for each in answers:
            if issubclass(type(each), CoroutineType):
                each.close()  # else Python warns that each one was never awaited
        raise PredicateError(f"{what}, which is always true; return its result instead: asyncio.run(...)")
    if issubclass(kind, Iterator) and not hasattr(kind, "__bool__") and not hasattr(kind, "__len__"):
        raise PredicateError(
            f"{what}, which is always true, even if it yields nothing; return a value instead, such as any(...) or "
            "all(...) of it"
        )
    if result is NotImplemented:
        raise PredicateError(f"{what}, which is not a truth value; return True or False")


def answer_by_array(call: Callable[..., Any], arrays: Sequence[pa.Array], rows: int, name: str) -> tuple[Bits, Raised]:
    """Call a vectorized predicate on its columns."""
    raised: Raised = {}
    return _answered(call, arrays, name, range(rows), raised), raised


def _answered(
    call: Callable[..., Any], arrays: Sequence[pa.Array], name: str, places: Sequence[int], raised: Raised
) -> Bits:
    """Return the answers on the rows at `places`; `raised` gets the exceptions."""
    rows = len(places)
    try:
        result = call(*arrays)
    except (WrongAnswerError, PlanError):  # no row is to blame
        raise
    except Exception as error:
        if issubclass(type(error), ExpressionError) and (listed := cast(ExpressionError, error)).rows is not None:
            return _answered_on_other_rows(listed, call, arrays, name, places, raised)
        if rows == 1:
            raised[places[0]] = error
            return np.ones(1, dtype=bool)
    else:
        return as_mask(result, rows, name)
    half = rows // 2
    return np.concatenate(
        [
            _answered(call, [a.slice(0, half) for a in arrays], name, places[:half], raised),
            _answered(call, [a.slice(half) for a in arrays], name, places[half:], raised),
        ]
    )


def _answered_on_other_rows(
    error: ExpressionError,
    call: Callable[..., Any],
    arrays: Sequence[pa.Array],
    name: str,
    places: Sequence[int],
    raised: Raised,
) -> Bits:
    """Call an expression again on the rows on which it does not raise; `error` lists the others."""
    assert error.rows is not None
    assert error.each is not None
    mask = np.ones(len(places), dtype=bool)
    good = mask.copy()
    for n, row in enumerate(error.rows):
        raised[places[row]] = error.each(n)
        good[row] = False
    if good.any():
        left = good.nonzero()[0]
        some = [a.filter(pa.array(good)) for a in arrays]
        mask[good] = _answered(call, some, name, [places[row] for row in left.tolist()], raised)
    return mask


def as_mask(result: Any, rows: int, name: str) -> Bits:
    """Return the result of a vectorized predicate as one bit per row; null is false.

    >>> as_mask(pa.array([True, None, False]), 3, "p").tolist()
    [True, False, False]
    """
    with suppress(Exception):  # what looks like an array and fails as one is refused by its type
        result = _plain(result)
    if type(result) is np.ndarray and result.dtype == np.bool_ and result.ndim == 1:
        mask: Bits = result
    elif issubclass(type(result), pa.Array) and pa.types.is_boolean(result.type):
        mask = (result.fill_null(False) if result.null_count else result).to_numpy(zero_copy_only=False)
    else:
        raise PredicateError(
            f"predicate {name!r} is vectorized and must return an array of booleans, one per row; it returned "
            f"{type(result).__name__}{_of_type(result)}. It got whole columns, as Arrow arrays; if it is a function of "
            "one row's values, leave out vectorized=True"
        )
    if len(mask) != rows:
        raise PredicateError(
            f"predicate {name!r} got {plural(rows, 'row')} and returned {plural(len(mask), 'value')}; it must "
            "return one per row"
        )
    return mask


def _plain(result: Any) -> Any:
    """Return an array in one piece without a mask: as a NumPy array if it is one, or else, if possible, as an Arrow
    array."""
    kind = type(result)
    if issubclass(kind, np.ndarray):
        is_masked = issubclass(kind, np.ma.MaskedArray) and result.dtype == np.bool_
        return np.asarray(result.filled(False) if is_masked else result)
    if not issubclass(kind, (pa.Array, pa.ChunkedArray)) and hasattr(result, "__array__") and hasattr(result, "dtype"):
        result = pa.array(result)  # pandas and Polars have their own missing values
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    # Arrow infers the type null if no value is known, as may be the case in a part of the rows
    return result.cast(pa.bool_()) if isinstance(result, pa.NullArray) else result


def _of_type(result: Any) -> str:
    with suppress(Exception):
        what = result.type if issubclass(type(result), pa.Array) else getattr(result, "dtype", None)
        return "" if what is None else f" of {what}"
    return ""
