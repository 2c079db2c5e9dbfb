"""Which queries of a session run, by name and by checkpoint."""

from __future__ import annotations

import posixpath
import re
import threading

from thalweg.session.handle import Handle


class Running:
    """The queries of a session that run; one is started at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._handles: list[Handle] = []

    def add(self, handle: Handle) -> None:
        """One more."""
        self._handles.append(handle)

    def named(self, name: str) -> bool:
        """Whether one has that name, in whatever case."""
        return any((handle.name or "").lower() == name.lower() for handle in self._active())

    def at(self, checkpoint: str) -> Handle | None:
        """The one that goes on from there."""
        place = plain_path(checkpoint)
        return next((h for h in self._active() if h.checkpoint and plain_path(h.checkpoint) == place), None)

    def _active(self) -> list[Handle]:
        self._handles = [handle for handle in self._handles if handle.isActive]
        return self._handles


def plain_path(path: str) -> str:
    """Of the ways to write a place one.

    >>> plain_path("file:///a//b/"), plain_path("/a/b"), plain_path("s3a://bucket/a/")
    ('/a/b', '/a/b', 's3a://bucket/a')
    """
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    return path.rstrip("/") if "://" in path else posixpath.normpath(path)
