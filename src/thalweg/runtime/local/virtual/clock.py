"""The clocks a pipeline runs under: a virtual one, moved by declared costs, and that of the wall.

Both are called like `time.perf_counter_ns`, so loops, kernels and policies see declared costs where they would see
measured ones. `begin` says when the work at hand starts, `advance` that it has taken so long.

>>> clock = VirtualClock()
>>> clock.begin(100); clock.advance(7); clock()
107
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Time in ticks, from 0 on."""

    real: bool
    """Whether it goes on by itself."""

    def __call__(self) -> int:
        """Now."""
        ...

    def begin(self, at: int) -> None:
        """It is `at` now, or time to wait until it is."""
        ...

    def advance(self, by: int) -> None:
        """Something took that long."""
        ...


class VirtualClock:
    """Stands still unless it is moved."""

    real = False

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        return self._now

    def begin(self, at: int) -> None:
        """It is `at` now."""
        self._now = at

    def advance(self, by: int) -> None:
        """Something took that long."""
        assert by >= 0, "time does not go back"
        self._now += by


class WallClock:
    """Real time since it was first looked at, a tick being a nanosecond. Declared costs are slept through, as papers
    do that slow their operators down; without them work takes the time it takes."""

    real = True

    def __init__(
        self, now_ns: Callable[[], int] = time.perf_counter_ns, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._now_ns, self._sleep = now_ns, sleep
        self._origin: int | None = None

    def __call__(self) -> int:
        now = self._now_ns()
        if self._origin is None:
            self._origin = now
        return now - self._origin

    def begin(self, at: int) -> None:
        """Sleep until then."""
        self.advance(at - self())

    def advance(self, by: int) -> None:
        """Sleep that long."""
        if by > 0:
            self._sleep(by / 1e9)
