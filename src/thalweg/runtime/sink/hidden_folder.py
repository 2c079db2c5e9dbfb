"""The folder `.thalweg` in a folder of results, with all that is not a result: readers do not look into it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress

HIDDEN = ".thalweg"
DRAFT = ".draft"
"""The ending of files that are not complete."""

PROBE = "probe-"
"""The beginning of the names of files that are only written to try whether that is possible."""


def make_folders(folder: str, *names: str) -> None:
    """Create folders in a folder of results, which must exist: if it does not, a disk may not be mounted."""
    for name in names:
        with suppress(FileExistsError):
            os.mkdir(os.path.join(folder, name))


def create_once(folder: str, name: str, content: Iterable[bytes]) -> bool:
    """Create a file in a folder of results with all of its content at once, unless it exists. Return whether this call
    created it. The hidden folder must exist: a process that is killed leaves its draft there. `content`: the parts of
    the file, one after the other."""
    path = os.path.join(folder, name)
    draft = os.path.join(folder, HIDDEN, f"{uuid.uuid4().hex}{DRAFT}")
    try:
        with open(draft, "wb") as file:
            file.writelines(content)
        try:
            os.link(draft, path)  # fails if the file exists, unlike a rename
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.exists(path):
                return False
            os.rename(draft, path)
        return True
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)


def try_to_write(folder: str) -> None:
    """Raise an OSError if no file can be created in the hidden folder, or moved out of it."""
    os.makedirs(os.path.join(folder, HIDDEN), exist_ok=True)
    name = f"{PROBE}{uuid.uuid4().hex}"
    probe, moved = os.path.join(folder, HIDDEN, name), os.path.join(folder, f".{name}")
    with open(probe, "wb"):
        pass
    os.rename(probe, moved)
    os.unlink(moved)
