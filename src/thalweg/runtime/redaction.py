"""Results whose errors contain no value of a row, for queries with `redact`.

>>> from thalweg.errors import ExpressionError
>>> def rows():
...     yield 1
...     raise ExpressionError("'4x' is not an INT").or_redacted("a text is not an INT")
>>> list(redacted(rows(), True))
Traceback (most recent call last):
thalweg.errors.ExpressionError: a text is not an INT
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from thalweg.errors import QueryError, ThalwegError

T = TypeVar("T")


def redacted(results: Iterator[T], redact: bool) -> Iterator[T]:
    """Return the same results. If `redact` is true, errors are raised without values of rows and without a cause."""
    return _redacted(results) if redact else results


def _redacted(results: Iterator[T]) -> Iterator[T]:
    try:
        yield from results
        return
    except ThalwegError as error:
        made = _without_values(error)
    except Exception as error:  # from a data source, or a bug in Thalweg: its message may contain a value
        made = QueryError(f"the run failed with {type(error).__name__}; its message is hidden because redact is set")
    raise made  # outside the except block, or the original error would be kept as the context


def called(work: Callable[[], T], redact: bool) -> T:
    """Return the result of `work`, with errors as in `redacted`."""
    return next(redacted((work() for _ in range(1)), redact))


def _without_values(error: ThalwegError) -> ThalwegError:
    """Return the same error without values of rows, both in its message and in its cause."""
    made = error if error.redacted is None else type(error)(error.redacted)
    made.__cause__ = made.__context__ = None
    return made
