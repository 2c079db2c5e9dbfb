"""Errors of Spark jobs inside `foreachBatch`, in a form that Spark recognizes.

When a query is stopped, Spark interrupts the job of its micro-batch, and finds out from the text of the Python error
whether it was interrupted. It searches the text with a regular expression that needs stack for each character after
"Py4JJavaError: An error occurred while calling" (`StreamExecution.isInterruptionException` of Spark 4.3), so the text
of a usual error, which has a Java stack trace of 8,000 characters, ends in a StackOverflowError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from thalweg.errors import QueryError
from thalweg.runtime.spark.sql.failures import sentence_of

_INTERRUPTIONS = re.compile(
    r"java\.lang\.InterruptedException|java\.io\.InterruptedIOException|"
    r"java\.nio\.channels\.ClosedByInterruptException"
)


class InterruptedJobError(Exception):
    """Raised if a query is stopped while a job of its micro-batch runs."""


def is_interruption(error: Py4JJavaError) -> bool:
    """Whether an error says that a query is being stopped."""
    return _interruption(error) is not None


def _interruption(error: Py4JJavaError) -> str | None:
    found = _INTERRUPTIONS.search("\n".join(str(error).splitlines()[:2]))
    return None if found is None else found[0]


@contextmanager
def recognizable_errors() -> Iterator[None]:
    """Raise errors of jobs so that Spark recognizes interrupted ones, and reports the others."""
    try:
        yield
    except Py4JJavaError as error:
        if (found := _interruption(error)) is not None:
            raise InterruptedJobError(
                f"py4j.protocol.Py4JJavaError: An error occurred while calling a job of a micro-batch: {found}"
            ) from None
        raise QueryError(sentence_of(str(error))) from None
