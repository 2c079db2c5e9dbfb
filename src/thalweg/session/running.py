"""Which queries of a session run, by name."""

from __future__ import annotations

import threading

from thalweg.session.handle import Handle


class Running:
    """The queries of a session that run."""

    lock = threading.Lock()
    """One query is started at a time, of all sessions, which may be given one checkpoint."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []

    def add(self, handle: Handle) -> None:
        """One more."""
        self._handles.append(handle)

    def named(self, name: str) -> bool:
        """Whether one has that name, in whatever case."""
        return any((handle.name or "").lower() == name.lower() for handle in self._active())

    def _active(self) -> list[Handle]:
        self._handles = [handle for handle in self._handles if handle.isActive]
        return self._handles
