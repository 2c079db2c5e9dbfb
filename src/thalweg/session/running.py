"""Keeps track of the running queries of a session."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.session.handle import Handle


@dataclass
class Running:
    """The running queries of a session."""

    lock: ClassVar[threading.Lock] = threading.Lock()
    """Only one query is started at a time over all sessions, because two sessions may be given the same checkpoint."""
    _handles: list[Handle] = field(default_factory=list)

    def add(self, handle: Handle) -> None:
        """Add a query that was started."""
        self._handles.append(handle)

    def named(self, name: str) -> bool:
        """Whether a running query has this name, ignoring case."""
        return any((handle.name or "").lower() == name.lower() for handle in self._active())

    def _active(self) -> list[Handle]:
        self._handles = [handle for handle in self._handles if handle.isActive]
        return self._handles
