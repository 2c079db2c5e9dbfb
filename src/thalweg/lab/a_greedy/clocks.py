"""Two clocks for synthetic filters: a virtual one that only filters advance, and one that measures CPU time.

With the virtual clock results are the same on every machine, and everything except filter evaluations is free. With the
other one a filter keeps the processor busy for as long as it costs, and everything else takes as long as it takes on
this machine. It measures the CPU time of this thread: by wall-clock time, a filter would finish earlier whenever
another process runs.
"""

from __future__ import annotations

import time
from typing import Protocol

UNIT_NS = 250
"""One unit of cost: about the time of a probe of a hash index with 10,000 entries (a-greedy, table 1)."""


class FilterClock(Protocol):
    """A clock that a filter can spend time on."""

    def __call__(self) -> int:
        """Return the time in nanoseconds since an arbitrary moment."""
        ...

    def spend(self, ns: int, since: int) -> None:
        """Make the time at least `since` plus `ns`."""
        ...


class VirtualFilterClock:
    """A clock on which time passes only if it is spent."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        """Return the time spent so far."""
        return self._now

    def spend(self, ns: int, since: int) -> None:
        """Advance the clock to `since` plus `ns`."""
        self._now = since + ns


class ProcessorClock:
    """A clock that measures CPU time after the warm-up. Before that, time is virtual, because only the resulting order
    matters then."""

    def __init__(self) -> None:
        self._ahead = 0
        self._started = False

    def __call__(self) -> int:
        """Return the time in nanoseconds; it does not go back when CPU time begins."""
        return self._ahead + (time.thread_time_ns() if self._started else 0)

    def start(self) -> None:
        """Measure CPU time from now on."""
        self._ahead -= time.thread_time_ns()
        self._started = True

    def spend(self, ns: int, since: int) -> None:
        """Keep the processor busy until then; the time to compute the outcome is included."""
        if self._started:
            until = since + ns - self._ahead
            while time.thread_time_ns() < until:
                pass
        else:
            self._ahead = since + ns
