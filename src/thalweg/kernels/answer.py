"""What a predicate answers on some rows: one bit a row, and on which rows it raised.

A row function is called once a row, also when it raises on some: the call goes on behind the row that raised. A
vectorised predicate that raises is called again on halves, down to the rows that raise alone: O(f log n) more calls for
f such rows of n. A slice that raises while neither half does (too little memory, say) has no such row. An expression of
SQL knows all rows on which it divides by zero, fails to cast text or calls a function that raises: it is called once
more, on the others.

>>> mask, raised = answer_by_row(lambda x: 10 / x > 2, [[1, 0, 9]], 3, "p")
>>> mask.tolist(), raised  # unknown is not false: the bit says whether the row stays
([True, True, False], {1: ZeroDivisionError('division by zero')})
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from inspect import iscoroutine
from operator import truth
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import ExpressionError, PredicateError, WrongAnswerError
from thalweg.plan.predicate import is_column

Bits = NDArray[np.bool_]
Raised = dict[int, Exception]
"""What was raised, by the number of the row among those asked for. Its owner clears it when it is done: an exception
holds the frames it went through, and they hold the rows."""

_BOOL = {bool}
_TRUTH_VALUES = {bool, type(None), np.bool_, int, float, str, bytes, list, tuple, dict, set, re.Match}
"""Common types of results that need no look."""


class CallEnded(BaseException):
    """Raised inside a call by who watches it, to end it; no `except Exception` of a predicate's may swallow it."""


def answer_by_row(
    call: Callable[..., Any], values: Sequence[list[Any]], rows: int, name: str, *, strict: bool = False
) -> tuple[Bits, Raised]:
    """A row function on the values of its columns. The types of what it returns are looked at, each once: an array has
    no truth, and a coroutine is always true. `strict`: what is no truth value is refused."""
    raised: Raised = {}
    answers = _all_of(map(call, *values), rows, raised)
    if not strict and answers and type(answers[0]) in _TRUTH_VALUES:
        with suppress(Exception):  # of what is neither a truth value nor a small number: it is looked at below
            return np.frombuffer(bytes(answers), dtype=np.uint8) != 0, raised
    kinds = set(map(type, answers))
    if kinds != _BOOL:
        if strict:
            _refuse_other_kinds(kinds, name)
        else:
            for kind in sorted(kinds - _TRUTH_VALUES, key=lambda kind: kind.__name__):
                _refuse_what_is_no_truth(next(a for a in answers if type(a) is kind), answers, name)
        answers = _all_of(map(truth, answers), rows, raised)
    return np.frombuffer(bytes(answers), dtype=bool), raised


def _all_of(results: Iterator[Any], rows: int, raised: Raised) -> list[Any]:
    """All results, True where one raised instead."""
    answers: list[Any] = []
    while len(answers) < rows:
        try:
            answers.extend(results)  # keeps what came before an exception
            if len(answers) < rows:  # a StopIteration ends `extend` without a word
                raised[len(answers)] = StopIteration()
                answers.append(True)
        except Exception as error:
            raised[len(answers)] = error
            answers.append(True)
    return answers


def _refuse_other_kinds(kinds: set[type], name: str) -> None:
    others = kinds - {bool, type(None), np.bool_}
    if others:
        told = ", ".join(sorted(kind.__name__ for kind in others)[:4])
        raise WrongAnswerError(
            f"{name} is registered to return BOOLEAN and returned {told}; change the function, or returns="
        )


def _refuse_what_is_no_truth(result: Any, answers: Sequence[Any], name: str) -> None:
    """One result of a type: Arrow, NumPy and pandas arrays, Arrow scalars (before pyarrow 21 even a false one counts as
    true), Columns, and what is always true because it has not run yet."""
    kind = type(result)
    library = kind.__module__.partition(".")[0]
    whose = "" if library == "builtins" else f"{library}'s "
    what = f"predicate {name!r} returned {whose}{kind.__name__} for a row"
    if is_column(result):
        raise PredicateError(
            f"{what}: a function of Columns is no predicate; give what it returns, tw.predicate(f(F.col(...)))"
        )
    of_pandas = library == "pandas" and hasattr(kind, "__array__")
    if (
        of_pandas
        or isinstance(result, (pa.Scalar, pa.Array, pa.ChunkedArray))
        or (isinstance(result, np.ndarray) and result.ndim)
    ):
        raise PredicateError(
            f"{what}, which is no truth value; did you forget vectorized=True? Then it gets whole columns, as Arrow "
            "arrays, and returns one boolean a row"
        )
    if isinstance(result, Awaitable | AsyncIterator):
        for each in answers:
            if iscoroutine(each):
                each.close()  # or Python warns of every one that it was never awaited
        raise PredicateError(f"{what}, which is always true: return the value it stands for, asyncio.run(...)")
    if isinstance(result, Iterator) and not hasattr(kind, "__bool__") and not hasattr(kind, "__len__"):
        raise PredicateError(
            f"{what}, which is always true, also where it gives nothing: return a value, such as any(...) or all(...) "
            "of it"
        )
    if result is NotImplemented:
        raise PredicateError(f"{what}, which is no answer; return True or False")


def answer_by_array(call: Callable[..., Any], arrays: Sequence[pa.Array], rows: int, name: str) -> tuple[Bits, Raised]:
    """A vectorised predicate on its columns."""
    raised: Raised = {}
    return _answered(call, arrays, name, range(rows), raised), raised


def _answered(
    call: Callable[..., Any], arrays: Sequence[pa.Array], name: str, places: Sequence[int], raised: Raised
) -> Bits:
    """On the rows at these places."""
    rows = len(places)
    try:
        result = call(*arrays)
    except WrongAnswerError:
        raise
    except Exception as error:
        if isinstance(error, ExpressionError) and error.rows is not None:
            return _answered_but_for(error, call, arrays, name, places, raised)
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


def _answered_but_for(
    error: ExpressionError,
    call: Callable[..., Any],
    arrays: Sequence[pa.Array],
    name: str,
    places: Sequence[int],
    raised: Raised,
) -> Bits:
    """An expression that knows all rows on which it raises: it is asked again on the others."""
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
            f"{type(result).__name__}{f' of {what}' if what is not None else ''}. It got whole columns, as Arrow "
            "arrays; for a function of one row's values leave out vectorized=True"
        )
    if len(mask) != rows:
        raise PredicateError(f"predicate {name!r} got {rows} rows and returned {len(mask)} values; one a row is needed")
    return mask
