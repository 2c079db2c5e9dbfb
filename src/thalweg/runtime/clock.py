"""The clocks of a pipeline: a virtual clock, moved by declared costs, and the wall clock.

Both are called like `time.perf_counter_ns`, so loops, kernels and policies see declared costs instead of measured ones.
`begin` sets the start of the next work, `advance` adds the time that it takes.

>>> clock = VirtualClock()
>>> clock.begin(100); clock.advance(7); clock()
107
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The time in ticks, starting at 0."""

    real: bool
    """Whether time passes without calls of `begin` and `advance`."""

    def __call__(self) -> int:
        """Return the current time."""
        ...

    def begin(self, at: int) -> None:
        """Set the time, or wait until then.

        Parameters
        ----------
        at
            The time at which the next work starts, in ticks.

        Examples
        --------
        >>> from thalweg.simulation import VirtualClock
        >>> clock = VirtualClock()
        >>> clock.begin(100)
        >>> clock()
        100
        """
        ...

    def advance(self, by: int) -> None:
        """Let time pass.

        Parameters
        ----------
        by
            How much, in ticks.

        Examples
        --------
        >>> from thalweg.simulation import VirtualClock
        >>> clock = VirtualClock()
        >>> clock.advance(7)
        >>> clock()
        7
        """
        ...


class VirtualClock:
    """A clock that moves only by calls of `begin` and `advance`.

    Examples
    --------
    >>> from thalweg.simulation import VirtualClock
    >>> clock = VirtualClock()
    >>> clock.begin(100)
    >>> clock.advance(7)
    >>> clock()
    107
    """

    real = False

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        return self._now

    def begin(self, at: int) -> None:
        """Set the time to `at`."""
        self._now = at

    def advance(self, by: int) -> None:
        """Add this much time."""
        assert by >= 0, "time does not go back"
        self._now += by


class WallClock:
    """The real time since the first call; a tick is a nanosecond. For declared costs the clock sleeps, as in papers
    that slow down their operators. Without them, work takes its real time.

    Parameters
    ----------
    now_ns, sleep
        A function that returns the time in nanoseconds, and a function that waits for a number of seconds.

    Examples
    --------
    >>> from thalweg.simulation import WallClock
    >>> clock = WallClock()
    >>> clock()
    0
    """

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
        """Sleep until the time is `at`."""
        self.advance(at - self())

    def advance(self, by: int) -> None:
        """Sleep for this much time."""
        if by > 0:
            self._sleep(by / 1e9)
