"""The errors that Thalweg raises. Each message says what is wrong, with the name and the value, and what to do.

`warn_user` issues its warnings, `nearest` suggests names.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from thalweg.printable import columns_of, printable


class ThalwegError(Exception):
    """The base class of all errors that Thalweg raises on purpose. Its text is printable, whatever values it has."""

    redacted: str | None = None
    """The message without values of rows; None if the message contains none."""

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n")

    def or_redacted(self, message: str) -> Self:
        """Set the message to show if values of rows must not be disclosed, and return the error."""
        self.redacted = message
        return self

    def within(self, place: str) -> Self:
        """Return an error of the same type whose messages begin with the place where it happened."""
        made = type(self)(f"{place}: {self}")
        return made if self.redacted is None else made.or_redacted(f"{place}: {self.redacted}")


class PlanError(ThalwegError, ValueError):
    """Raised before any row is read, if the request cannot be run: a wrong name, a cycle, a bad setting."""


class SqlError(PlanError):
    """Raised if the text of a query cannot be run; `line` and `column`, from 1, say where."""

    def __init__(self, sentence: str, line: int, column: int, shown: str = "") -> None:
        self.sentence, self.line, self.column = sentence, line, column
        excerpt = shown.rstrip("\r").replace("\t", " ")
        mark = f"\n  {excerpt}\n  {' ' * columns_of(printable(excerpt[: column - 1]))}^" if excerpt.strip() else ""
        super().__init__(f"line {line}, column {column}: {sentence}{mark}")
        self._given = (sentence, line, column, shown)

    def __reduce__(self) -> tuple[type[SqlError], tuple[str, int, int, str]]:
        return SqlError, self._given


class PredicateError(ThalwegError, RuntimeError):
    """Raised if the set-up of a predicate fails, or if a predicate does not return one truth value per row."""


class WrongAnswerError(PredicateError):
    """Raised if a predicate or a function returns a result that does not fit its rows: too few values, or a wrong type.

    No single row causes this error, so none is named or set aside.
    """


class FailedRowError(PredicateError):
    """Raised for a row on which predicates raised and which no other predicate drops.

    It is the same row in whatever order the predicates run. With ``on_error="dead-letter"`` such rows are set aside
    instead.
    """


class TimeLimitError(PredicateError):
    """Raised if a predicate does not finish a slice within the time limit."""


class ExpressionError(ThalwegError, ArithmeticError):
    """Raised if an expression has no value for a row: a division by zero, an overflow, text that is not a number, or a
    function that raises."""

    rows: Sequence[int] | None = None
    """Numbers of the rows that raise this error, if known."""
    each: Callable[[int], Exception] | None = None
    """The error of the n-th of these rows."""

    def on_rows(self, rows: Sequence[int], each: Callable[[int], Exception]) -> Self:
        """Set all rows that raise this error, and return the error."""
        self.rows, self.each = rows, each
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...], dict[str, object]]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("rows", "each")}
        return type(self), self.args, kept


class FunctionError(ExpressionError):
    """Raised if a user's function raises in a query; its exception is the cause."""


class JoinLimitError(ThalwegError, RuntimeError):
    """Raised if a row of a join has more matches than `max_matches`, or the windows need more than `max_bytes`."""


class SumOverflowError(ThalwegError, OverflowError):
    """Raised if a sum over the rows of a window does not fit its type."""


class QueryError(ThalwegError, RuntimeError):
    """Raised if a running query failed; the cause is Spark's error, or whatever else ended the query."""


class CheckpointError(ThalwegError, RuntimeError):
    """Raised if a query is started from a checkpoint that a different query wrote."""


class WorkerDiedError(PredicateError):
    """Raised if the Python workers that ran this task before died in a predicate."""


def warn_user(sentence: str) -> None:
    """Issue a warning for the first caller outside of Thalweg, PySpark and numba, so that Python shows the line that a
    user can change."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("thalweg", "pyspark", "numba"):
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(sentence), stacklevel=level)


def nearest(word: object, known: Iterable[str]) -> str:
    """Return a hint with the known word most similar to an unknown one; empty if none is similar.

    >>> nearest("sweeep", ["sweep", "static"])
    " (did you mean 'sweep'?)"
    >>> nearest("xyz", ["sweep", "static"])
    ''
    """
    close = difflib.get_close_matches(word, list(known), n=1) if isinstance(word, str) else ()
    return f" (did you mean {close[0]!r}?)" if close else ""
