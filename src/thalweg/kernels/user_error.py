"""What a user's code has raised, as text for our errors: the type and message of the exception, and the place.

An exception is user code, too: its message may raise, be enormous, or be text that UTF-8 cannot encode. Spark loses a
worker's traceback but keeps the message.
"""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

from thalweg.kernels.columns import cut

MOST_MESSAGE_CHARACTERS = 1000
"""The most characters of an exception's message; some messages contain the whole input."""
MOST_CAUSE_CHARACTERS = 1_000_000
"""The most characters of the traceback of a cause."""
_OURS = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


def raised_text(error: Exception, redact: bool = False) -> str:
    """Return the type, the message and the place of an exception; with `redact` without the message."""
    at = raised_at(error)
    return error_text(error, redact) + (f" ({at})" if at else "")


def error_text(error: Exception, redact: bool = False) -> str:
    """Return the type and the message of an exception; with `redact` only its type.

    >>> error = ValueError("bad digit in '4x'")
    >>> error_text(error), error_text(error, redact=True)
    ("ValueError: bad digit in '4x'", 'ValueError')
    """
    kind = type(error).__name__
    if redact:
        return kind
    try:
        message = str.__str__(str(error))  # a copy, if it is of a subclass
    except Exception:  # __str__ may be the user's code, too
        message = "its message is not available, because str() of it failed"
    return _readable(f"{kind}: {message}" if message else kind)


def cause_of(error: Exception) -> Exception | None:
    """Return the exception as the cause of another; None if it cannot be printed. PySpark prints all causes of an
    error in a worker, and fails if that is no valid text."""
    try:
        text = "".join(traceback.format_exception(error))
        text.encode()
    except Exception:
        return None
    return error if len(text) <= MOST_CAUSE_CHARACTERS else None


def _readable(text: str) -> str:
    """Return a text shortened, and with "?" for what is not valid Unicode and cannot be stored in a column."""
    return cut(text, MOST_MESSAGE_CHARACTERS).encode("utf-8", "replace").decode("utf-8")


def raised_at(error: BaseException) -> str:
    """Return the innermost frame of the user's code, or else of a library; empty if there is neither.

    >>> def parse(text):
    ...     return int(text)
    >>> try:
    ...     parse("4x")
    ... except ValueError as error:
    ...     raised_at(error).partition(":")[2]
    '2 in parse'
    """
    try:
        trace = error.__traceback__
    except Exception:  # an attribute of a user's class
        return ""
    frames = [
        (code.co_filename, line, code.co_name)
        for frame, line in traceback.walk_tb(trace)
        if not (code := frame.f_code).co_filename.startswith(_OURS)
    ]
    if not frames:
        return ""
    theirs = [frame for frame in frames if not _of_a_library(frame[0])]
    file, line, function = (theirs or frames)[-1]
    return _readable(f"{Path(file).name}:{line} in {function}")


def _of_a_library(file: str) -> bool:
    return file.startswith((*_LIBRARIES, "<frozen ")) or "site-packages" in file or "dist-packages" in file
