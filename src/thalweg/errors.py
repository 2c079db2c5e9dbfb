"""What Thalweg raises when a user can mend it: each message names the thing, the value and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Self


class ThalwegError(Exception):
    """The base of every error Thalweg raises on purpose."""

    redacted: str | None = None
    """The message without values of rows, where the message holds some."""

    def or_redacted(self, message: str) -> Self:
        """The same error, which knows what to say where values of rows must not be given out."""
        self.redacted = message
        return self

    def within(self, place: str) -> Self:
        """An error of the same kind whose messages begin with the place it happened at."""
        made = type(self)(f"{place}: {self}")
        return made if self.redacted is None else made.or_redacted(f"{place}: {self.redacted}")


class PlanError(ThalwegError, ValueError):
    """What was asked for cannot be run: a wrong name, a cycle, a bad setting. Raised before any row is read."""


class SqlError(PlanError):
    """A query's text cannot be run; `line` and `column`, from 1, say where."""

    def __init__(self, sentence: str, line: int, column: int, shown: str = "") -> None:
        self.sentence, self.line, self.column = sentence, line, column
        mark = f"\n  {shown}\n  {' ' * (column - 1)}^" if shown.strip() else ""
        super().__init__(f"line {line}, column {column}: {sentence}{mark}")
        self._given = (sentence, line, column, shown)

    def __reduce__(self) -> tuple[type[SqlError], tuple[str, int, int, str]]:
        return SqlError, self._given


class PredicateError(ThalwegError, RuntimeError):
    """A predicate's set-up raised, or it returned something that is not one truth value a row."""


class WrongAnswerError(PredicateError):
    """A predicate or a function returned something that is no answer for its rows: too few values, or of a wrong type.
    No row is to blame for it, so none is named or set aside."""


class FailedRowError(PredicateError):
    """A row on which predicates raised and which no other predicate drops: the same row in whatever order they are
    tried. With ``on_error="dead-letter"`` such rows are set aside instead."""


class TimeLimitError(PredicateError):
    """A predicate did not answer on a slice within the time limit."""


class ExpressionError(ThalwegError, ArithmeticError):
    """An expression has no value on a row: a division by zero, an overflow, text that is no number, a function that
    raises."""

    rows: Sequence[int] | None = None
    """Numbers of the rows that raise this error, if known."""
    each: Callable[[int], Exception] | None = None
    """The error of the n-th of these rows."""

    def on_rows(self, rows: Sequence[int], each: Callable[[int], Exception]) -> Self:
        """The same error, which knows all rows that raise it."""
        self.rows, self.each = rows, each
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...], dict[str, object]]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("rows", "each")}
        return type(self), self.args, kept


class FunctionError(ExpressionError):
    """A function of the user's raised in a query; what it raised is the cause."""


class JoinLimitError(ThalwegError, RuntimeError):
    """One row of a join has more results than `max_matches` allows."""


class SumOverflowError(ThalwegError, OverflowError):
    """A sum over the rows of a window is more than its type can hold."""


class QueryError(ThalwegError, RuntimeError):
    """A query that was started failed; the cause is the error of Spark, or whatever else ended it."""


class CheckpointError(ThalwegError, RuntimeError):
    """A checkpoint was written by another query than the one that is started from it."""


class WorkerDiedError(PredicateError):
    """The Python workers that ran this task before died in a predicate."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown word.

    >>> nearest("sweeep", ["sweep", "static"])
    " (did you mean 'sweep'?)"
    >>> nearest("xyz", ["sweep", "static"])
    ''
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
