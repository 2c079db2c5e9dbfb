"""A small file through which the workers of one host share what they have learned with new workers.

It is JSON, because a file in a shared folder must not be able to run code. It is written under another name and then
renamed, so that a reader never sees half of it. Only this user can access its folder.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OFTEN_S = 0.2
"""The minimum time between two writes: new workers are rare, and a write takes about 0.1 ms."""
OLD_S = 24 * 3600.0
"""Folders of applications that did not change for one day are removed, unless their driver is known to be alive."""
_DRIVER = "driver.json"


class HostFile:
    """The file with what the workers of one query on this host have learned."""

    def __init__(self, application: str, name: str, root: Path | None = None) -> None:
        self._folder = (root or _base()) / _plain(application)
        self.path = self._folder / f"{_plain(name)}.json"
        self._written = 0.0

    def read(self) -> dict[str, Any] | None:
        """Return what another worker wrote; None if there is nothing, or nothing that can be used."""
        try:
            if not self.ours():
                return None
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def offer(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Write what is known, unless this was done a moment ago. A full disk does not fail the query."""
        now = time.monotonic()
        if now - self._written < OFTEN_S:
            return
        self._written = now
        with contextlib.suppress(OSError):
            if not self.ready():
                return
            _write(self.path, snapshot())

    def ready(self) -> bool:
        """Create the folder if it is missing. Return whether it may be used. Nothing is created or removed in a folder
        that another user could have created."""
        base = self._folder.parent
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(base):
            return False
        if not self._folder.exists():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            _sweep(base)
        return _private(self._folder)

    def ours(self) -> bool:
        """Whether only this user can have written there: the names are not secret, and the parent folder is shared."""
        try:
            return _private(self._folder.parent) and _private(self._folder)
        except OSError:
            return False


def forget_at_exit(application: str) -> None:
    """Remove the folder on the driver's host when the driver ends. If the driver is killed, the next driver there
    removes it. The folders on other hosts are removed after one day."""
    if application not in _FORGOTTEN:
        _FORGOTTEN.add(application)
        folder = _base() / _plain(application)
        atexit.register(_remove, folder)
        with contextlib.suppress(OSError):
            if HostFile(application, "").ready():
                _write(folder / _DRIVER, {"pid": os.getpid(), "host": socket.gethostname()})
                _sweep(folder.parent)


def lives(pid: int) -> bool:
    """Whether a process of this host exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


_FORGOTTEN: set[str] = set()


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if _private(folder.parent) and _private(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a file under another name and rename it; only this user can read it."""
    aside = path.with_suffix(f".{os.getpid()}")
    aside.unlink(missing_ok=True)
    handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(content, out)
    aside.replace(path)


def _private(folder: Path) -> bool:
    """Whether it is a real folder, not a link, that only this user can access."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _base() -> Path:
    return Path(tempfile.gettempdir()) / f"thalweg-{os.getuid()}"


def _plain(name: str) -> str:
    """Return a file name without separators, which cannot leave its folder.

    >>> _plain("app-1/2"), _plain("..")
    ('app-1_2', '__')
    """
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)


def _sweep(base: Path) -> None:
    for folder in base.iterdir():
        with contextlib.suppress(OSError):
            alive = _driver_lives(folder)
            if alive is False or (alive is None and time.time() - folder.stat().st_mtime > OLD_S):
                shutil.rmtree(folder, ignore_errors=True)


def _driver_lives(folder: Path) -> bool | None:
    """Whether the driver is alive; None if that cannot be known here."""
    try:
        driver = json.loads((folder / _DRIVER).read_text(encoding="utf-8"))
        return lives(driver["pid"]) if driver["host"] == socket.gethostname() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
