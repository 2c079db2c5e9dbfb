"""Which queries of a session run, by name."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.session.handle import Handle


@dataclass
class Running:
    """The queries of a session that run."""

    lock: ClassVar[threading.Lock] = threading.Lock()
    """One query is started at a time, of all sessions, which may be given one checkpoint."""
    _handles: list[Handle] = field(default_factory=list)

    def add(self, handle: Handle) -> None:
        """One more."""
        self._handles.append(handle)

    def named(self, name: str) -> bool:
        """Whether one has that name, in whatever case."""
        return any((handle.name or "").lower() == name.lower() for handle in self._active())

    def _active(self) -> list[Handle]:
        self._handles = [handle for handle in self._handles if handle.isActive]
        return self._handles
