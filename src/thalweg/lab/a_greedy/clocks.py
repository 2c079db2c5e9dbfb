"""Two clocks for synthetic filters: one that only filters move, and the real one.

On the virtual clock results are the same on every machine, and all that is not a filter evaluation is free. On the real
one a filter keeps the processor busy for the time it costs, and everything around it takes the time it takes here.
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


class RealClock:
    """Wall time, once the warm-up is over; before that virtual time, since only the order reached matters then."""

    def __init__(self) -> None:
        self._ahead = 0
        self.real = False

    def __call__(self) -> int:
        """Nanoseconds; never goes back when time becomes real."""
        return self._ahead + (time.perf_counter_ns() if self.real else 0)

    def start(self) -> None:
        """From now on time is real."""
        self._ahead -= time.perf_counter_ns()
        self.real = True

    def spend(self, ns: int, since: int) -> None:
        """Busy until then: what computing the outcome took is part of it."""
        if self.real:
            until = since + ns - self._ahead
            while time.perf_counter_ns() < until:
                pass
        else:
            self._ahead = since + ns
