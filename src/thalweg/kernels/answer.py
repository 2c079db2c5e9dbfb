"""What a predicate answers on some rows: one bit a row, and on which rows it raised.

A row function is called once a row, also when it raises on some: the call goes on behind the row that raised. A
vectorised predicate that raises is called again on halves, down to the rows that raise alone: O(f log n) more calls for
f such rows of n. A slice that raises while neither half does (too little memory, say) has no such row.

>>> mask, raised = answer_by_row(lambda x: 10 / x > 2, [[1, 0, 9]], 3, "p")
>>> mask.tolist(), raised  # unknown is not false: the bit says whether the row stays
([True, True, False], {1: ZeroDivisionError('division by zero')})
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import truth
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PredicateError
from thalweg.plan.native_text import is_column

Bits = NDArray[np.bool_]
Raised = dict[int, Exception]
"""What was raised, by the number of the row among those asked for. Its owner clears it when it is done: an exception
holds the frames it went through, and they hold the rows."""


class WrongAnswerError(PredicateError):
    """Of all rows: no one of them is to blame, and none is looked for."""


class CallEnded(BaseException):
    """Raised inside a call by who watches it, to end it; no `except Exception` of a predicate's may swallow it."""


def answer_by_row(
    call: Callable[..., Any], values: Sequence[list[Any]], rows: int, name: str, *, strict: bool = False
) -> tuple[Bits, Raised]:
    """A row function on the values of its columns. The first thing it returns is looked at: an array has no truth.
    `strict`: all are, since what is no truth value is none."""
    answers: list[Any] = []
    raised: Raised = {}
    results = map(call, *values)
    rest = results if strict else map(truth, results)
    looked = strict
    while len(answers) < rows:
        try:
            if not looked:
                first = next(results)
                looked = True
                if type(first) is not bool:
                    _refuse_what_is_no_truth(first, name)
                answers.append(truth(first))
            answers.extend(rest)  # keeps what came before an exception
            if len(answers) < rows:  # a StopIteration ends `extend` without a word
                raised[len(answers)] = StopIteration()
                answers.append(True)
        except _NoTruthError as error:  # no row is to blame
            raise PredicateError(str(error)) from None
        except Exception as error:
            raised[len(answers)] = error
            answers.append(True)
    if strict:
        kinds = set(map(type, answers))
        if kinds != {bool}:
            _refuse_other_kinds(kinds, name)
            answers = list(map(truth, answers))
    return np.frombuffer(bytes(answers), dtype=bool), raised


def _refuse_other_kinds(kinds: set[type], name: str) -> None:
    others = kinds - {bool, type(None), np.bool_}
    if others:
        told = ", ".join(sorted(kind.__name__ for kind in others)[:4])
        raise WrongAnswerError(
            f"{name} is registered to return BOOLEAN and returned {told}; change the function, or returns="
        )


class _NoTruthError(Exception):
    """Not a PredicateError, which the user's function may raise itself, and which then is of one row."""


def _refuse_what_is_no_truth(result: Any, name: str) -> None:
    """Arrow, NumPy and pandas arrays, Arrow scalars (before pyarrow 21 even a false one counts as true), Columns."""
    library = type(result).__module__.partition(".")[0]
    what = f"predicate {name!r} returned {library}'s {type(result).__name__} for a row"
    if is_column(result):
        raise _NoTruthError(
            f"{what}: a function of Columns is no predicate; give what it returns, tw.predicate(f(F.col(...)))"
        )
    of_pandas = library == "pandas" and hasattr(type(result), "__array__")
    if (
        of_pandas
        or isinstance(result, (pa.Scalar, pa.Array, pa.ChunkedArray))
        or (isinstance(result, np.ndarray) and result.ndim)
    ):
        raise _NoTruthError(
            f"{what}, which is no truth value; did you forget vectorized=True? Then it gets whole columns, as Arrow "
            "arrays, and returns one boolean a row"
        )


def answer_by_array(call: Callable[..., Any], arrays: Sequence[pa.Array], rows: int, name: str) -> tuple[Bits, Raised]:
    """A vectorised predicate on its columns."""
    raised: Raised = {}
    return _halved(call, arrays, rows, name, 0, raised), raised


def _halved(
    call: Callable[..., Any], arrays: Sequence[pa.Array], rows: int, name: str, first: int, raised: Raised
) -> Bits:
    try:
        result = call(*arrays)
    except WrongAnswerError:
        raise
    except Exception as error:
        if rows == 1:
            raised[first] = error
            return np.ones(1, dtype=bool)
    else:
        return as_mask(result, rows, name)
    half = rows // 2
    return np.concatenate(
        [
            _halved(call, [a.slice(0, half) for a in arrays], half, name, first, raised),
            _halved(call, [a.slice(half) for a in arrays], rows - half, name, first + half, raised),
        ]
    )


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
