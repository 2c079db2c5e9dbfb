"""Two clocks for synthetic filters: one that only filters move, and the processor's.

On the virtual clock results are the same on every machine, and all that is not a filter evaluation is free. On the
processor's a filter keeps it busy for the time it costs, and everything around it takes the time it takes here. It is
the CPU time of this thread: a filter that waits by the wall clock would be done sooner whenever another process runs.
"""

from __future__ import annotations

import time
from typing import Protocol

UNIT_NS = 250
"""One unit of cost: about what a probe of a hash index of 10,000 entries takes (a-greedy, table 1)."""


class FilterClock(Protocol):
    """A clock that a filter can spend time on."""

    def __call__(self) -> int:
        """Nanoseconds, from anywhere."""
        ...

    def spend(self, ns: int, since: int) -> None:
        """Let it be at least `since` plus `ns`."""
        ...


class VirtualClock:
    """Time passes only where it is spent."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        """What was spent so far."""
        return self._now

    def spend(self, ns: int, since: int) -> None:
        """At once."""
        self._now = since + ns


class ProcessorClock:
    """CPU time, once the warm-up is over; before that virtual time, since only the order reached matters then."""

    def __init__(self) -> None:
        self._ahead = 0
        self._started = False

    def __call__(self) -> int:
        """Nanoseconds; never goes back when that begins."""
        return self._ahead + (time.thread_time_ns() if self._started else 0)

    def start(self) -> None:
        """From now on time is the processor's."""
        self._ahead -= time.thread_time_ns()
        self._started = True

    def spend(self, ns: int, since: int) -> None:
        """Busy until then: what computing the outcome took is part of it."""
        if self._started:
            until = since + ns - self._ahead
            while time.thread_time_ns() < until:
                pass
        else:
            self._ahead = since + ns
