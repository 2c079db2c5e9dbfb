"""Results whose errors hold no value of a row, for those who set `redact`.

>>> from thalweg.errors import ExpressionError
>>> def rows():
...     yield 1
...     raise ExpressionError("'4x' is no INT").or_redacted("a text is no INT")
>>> list(redacted(rows(), True))
Traceback (most recent call last):
thalweg.errors.ExpressionError: a text is no INT
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from thalweg.errors import QueryError, ThalwegError

T = TypeVar("T")


def redacted(results: Iterator[T], redact: bool) -> Iterator[T]:
    """The same results; an error is raised without values of rows, and without what caused it."""
    return _redacted(results) if redact else results


def _redacted(results: Iterator[T]) -> Iterator[T]:
    try:
        yield from results
        return
    except ThalwegError as error:
        made = _without_values(error)
    except Exception as error:  # of a data source, or a mistake of ours: whatever it says, it may hold a value
        made = QueryError(f"the run failed with {type(error).__name__}, whose message is left out by redact")
    raise made  # not while the other one is handled, or it would be kept as the context


def called(work: Callable[[], T], redact: bool) -> T:
    """What `work` gives; as `redacted`."""
    return next(redacted((work() for _ in range(1)), redact))


def _without_values(error: ThalwegError) -> ThalwegError:
    """The same error without values of rows, in its message and in what it was raised from."""
    made = error if error.redacted is None else type(error)(error.redacted)
    made.__cause__ = made.__context__ = None
    return made
