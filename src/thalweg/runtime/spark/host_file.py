"""A small file through which the workers of one host tell newcomers what they have learned.

JSON, since a file in a shared folder must not be able to run code; written aside and renamed, so that a reader never
sees half of one; in a folder only this user can enter.
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
"""At most one write in this time: newcomers are rare, and a write costs some 0.1 ms."""
OLD_S = 24 * 3600.0
"""Folders of applications untouched for a day are removed, unless their driver is known to live."""
_DRIVER = "driver.json"


class HostFile:
    """What one query's workers on this host know."""

    def __init__(self, application: str, name: str, root: Path | None = None) -> None:
        self._folder = (root or _base()) / _plain(application)
        self.path = self._folder / f"{_plain(name)}.json"
        self._written = 0.0

    def read(self) -> dict[str, Any] | None:
        """What a sibling left; None when there is nothing, or nothing that can be used."""
        try:
            if not self.ours():
                return None
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def offer(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Leave what is known, unless that was done a moment ago. A full disk is no reason to fail a query."""
        now = time.monotonic()
        if now - self._written < OFTEN_S:
            return
        self._written = now
        with contextlib.suppress(OSError):
            if not self.ready():
                return
            _write(self.path, snapshot())

    def ready(self) -> bool:
        """Make the folder where it is missing; whether it may be used. Nothing is made or removed in a folder that
        somebody else could have put there."""
        base = self._folder.parent
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(base):
            return False
        if not self._folder.exists():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            _sweep(base)
        return _private(self._folder)

    def ours(self) -> bool:
        """Whether only this user can have put something there: the names are no secret, and the parent is shared."""
        try:
            return _private(self._folder.parent) and _private(self._folder)
        except OSError:
            return False


def forget_at_exit(application: str) -> None:
    """On the driver: its own host's folder goes away with it; when it is killed, the next driver there removes it.
    Those of other hosts are removed after a day."""
    if application not in _FORGOTTEN:
        _FORGOTTEN.add(application)
        folder = _base() / _plain(application)
        atexit.register(_remove, folder)
        with contextlib.suppress(OSError):
            if HostFile(application, "").ready():
                _write(folder / _DRIVER, {"pid": os.getpid(), "host": socket.gethostname()})
                _sweep(folder.parent)


def lives(pid: int) -> bool:
    """Whether a process of this host is there."""
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


def _write(path: Path, told: dict[str, Any]) -> None:
    """Aside and renamed, readable by this user alone."""
    aside = path.with_suffix(f".{os.getpid()}")
    aside.unlink(missing_ok=True)
    handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(told, out)
    aside.replace(path)


def _private(folder: Path) -> bool:
    """A real folder, no link, of this user alone."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _base() -> Path:
    return Path(tempfile.gettempdir()) / f"thalweg-{os.getuid()}"


def _plain(name: str) -> str:
    """A name that stays in its folder.

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
    """None: nobody here can tell."""
    try:
        told = json.loads((folder / _DRIVER).read_text(encoding="utf-8"))
        return lives(told["pid"]) if told["host"] == socket.gethostname() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
