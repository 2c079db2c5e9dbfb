"""Explains in one sentence why a query failed on Spark: the error of a worker, or Spark's first sentence and a remedy.

>>> print(sentence_of("[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted\\n"
...                   "pyspark.errors.exceptions.base.PythonException: Traceback (most recent call last):\\n"
...                   "thalweg.errors.FailedRowError: predicate 'odd' raised KeyError\\n\\n\\tat org.S.a(S.java:1)"))
predicate 'odd' raised KeyError
>>> print(sentence_of("[STREAM_FAILED] Query failed: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` SQLSTATE"))
DIVIDE_BY_ZERO: Division by zero; write x / nullif(y, 0)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

from thalweg.errors import QueryError, ThalwegError

T = TypeVar("T")

_OURS = re.compile(
    r"^thalweg\.(?:errors|kernels\.answer)\.\w+: (.+?)"
    r"(?=\s*\n\s*at [\w.$/]+\(|\s+SQLSTATE: |\n=== |\n\s*(?:Driver|JVM) stacktrace|\n\s*The above exception|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)
_SPARKS = re.compile(
    r"\[(?!STREAM_FAILED|FAILED_EXECUTE_UDF|TASK_WRITE_FAILED|PYTHON_EXCEPTION|FOREACH_BATCH_USER_FUNCTION_ERROR|"
    r"USER_RAISED_EXCEPTION\] \nthalweg\.)"
    r"([A-Z][A-Z_.]+)\] "
    r"(.+?)(?:\. (?:Use|Correct|If necessary|Please|To |Set )|\.?\s*SQLSTATE|\n|\Z)"
)
_JAVAS = re.compile(r"java\.lang\.ArithmeticException: (\w+ overflow)")
"""The error of a time that does not fit, for which Spark has no name of its own."""
_DROPPED = "drop such rows with a condition that is written before it"
_REMEDIES = {
    "DIVIDE_BY_ZERO": "write x / nullif(y, 0)",
    "REMAINDER_BY_ZERO": "write x % nullif(y, 0)",
    "CAST_INVALID_INPUT": _DROPPED,
    "CAST_OVERFLOW": f"CAST it to a wider type, or {_DROPPED}",
    "ARITHMETIC_OVERFLOW": "CAST one side to a wider type first, such as BIGINT, DECIMAL or DOUBLE",
    "CANNOT_LOAD_STATE_STORE": (
        "a file in the folder `state` of its checkpoint is damaged or missing: restore it, or start the query with a "
        "new checkpoint and a new folder for its results"
    ),
    "PATH_ALREADY_EXISTS": "give a new path, or options={'mode': 'overwrite'}",
}


def run(work: Callable[[], T], redact: bool = False) -> T:
    """Return what `work` returns. Raise errors of Spark while a query runs as a ThalwegError; see `query_error`."""
    try:
        return work()
    except ThalwegError:
        raise
    except Exception as error:
        # py4j's errors have a Java exception; Connect has none
        if not isinstance(error, PySparkException) and not hasattr(error, "java_exception"):
            raise
        made = query_error(error, redact)
    raise made  # outside of the handler, so that Spark's error does not become the context


def query_error(error: Exception, redact: bool = False) -> ThalwegError:
    """Return an error of Spark as a QueryError. Spark's error is its cause, unless values are redacted: its message may
    contain some."""
    if isinstance(error, ThalwegError):
        return error
    made = QueryError(sentence_of(str(error), redact))
    if not redact:
        made.__cause__ = error
    return made


def sentence_of(text: str, redact: bool = False) -> str:
    """Return the part of an error's text that a reader needs. `redact`: only the names of Spark's own errors, because
    their messages contain values; the errors of our workers are already redacted.

    >>> sentence_of("[CAST_INVALID_INPUT] The value '4x' of the type STRING cannot be cast SQLSTATE", redact=True)
    'CAST_INVALID_INPUT; drop such rows with a condition that is written before it'
    >>> sentence_of("Job aborted: java.lang.ArithmeticException: long overflow at java.base/java.lang.Math")
    'long overflow: a result does not fit in its type; drop such rows with a condition that is written before it'
    """
    ours, found = _OURS.search(text), _SPARKS.search(text)
    # the first match is the real error: Spark's messages quote values, and a value may look like one of our errors
    if ours is not None and (found is None or ours.start() < found.start()):
        return str(_OURS.findall(text)[-1]).strip()
    if found is None and (overflow := _JAVAS.search(text)) is not None:
        return f"{overflow[1]}: a result does not fit in its type; {_DROPPED}"
    if found is None:
        # py4j puts the name of its call on a line before the message of Java
        message = re.sub(r"^An error occurred while calling \S+\s*:?\s*", "", text.strip()) or text.strip()
        return "the query failed on Spark; its message is redacted" if redact else message.split("\n", 1)[0]
    remedy = _REMEDIES.get(found[1].partition(".")[0])
    return (found[1] if redact else f"{found[1]}: {found[2].strip()}") + (f"; {remedy}" if remedy else "")
