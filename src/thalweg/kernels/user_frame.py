"""The place in the user's code that raised an exception. Spark loses a worker's traceback but keeps the message."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_OURS = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


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
    frames = [
        (code.co_filename, line, code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not (code := frame.f_code).co_filename.startswith(_OURS)
    ]
    if not frames:
        return ""
    theirs = [frame for frame in frames if not _of_a_library(frame[0])]
    file, line, function = (theirs or frames)[-1]
    return f"{Path(file).name}:{line} in {function}"


def _of_a_library(file: str) -> bool:
    return file.startswith((*_LIBRARIES, "<frozen ")) or "site-packages" in file or "dist-packages" in file
