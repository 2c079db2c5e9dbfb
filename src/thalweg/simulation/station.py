"""An operator with its queue and its server, and their counters.

Mean queue lengths are exact integrals over time, not means of samples: they are compared with queueing theory.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from thalweg.runtime.clock import Clock
from thalweg.runtime.local.operator import Operator


@dataclass(slots=True)
class Entry:
    """An entry of a queue: rows, their time of arrival, and the marks that arrived after them and before other rows."""

    port: str
    rows: Any
    count: int
    came: int
    number: int
    """The number of the entry, in the order in which entries arrived at any queue."""
    marks: list[tuple[str, int]] = field(default_factory=list)


class Station:
    """An operator with its queue and its server. Times are in ticks, counts in rows."""

    def __init__(self, operator: Operator, clock: Clock) -> None:
        self.operator, self.clock = operator, clock
        self.readers: list[tuple[Station, str]] = []
        self.queue: deque[Entry] = deque()
        self.serving: Entry | None = None
        self.waiting = self.most_waiting = 0
        """Rows in the queue, without those being served."""
        self.arrived = self.served = self.emitted = 0
        self.busy = 0
        self.waited = 0
        """The total time of all rows from arrival to the start of service."""
        self.began = 0
        """The start of the current or last service."""
        self._area = self._changed = 0
        self.queue_times, self.queue_lengths = array("q"), array("q")
        """The times at which the length of the queue changed, and its length after all events of that instant."""
        self.orders = dict(operator.orders())

    def put(self, entry: Entry, now: int) -> None:
        """Add an entry to the end of the queue."""
        self._change(now, entry.count)
        self.arrived += entry.count
        self.most_waiting = max(self.most_waiting, self.waiting)
        self.queue.append(entry)

    def take(self, now: int) -> Entry:
        """Take the head of the queue, and start its service."""
        self.serving = entry = self.queue.popleft()
        self._change(now, -entry.count)
        self.waited += (now - entry.came) * entry.count
        self.began = now
        return entry

    def finish(self, now: int) -> Entry:
        """End the current service, and return its entry."""
        entry, self.serving = self.serving, None
        assert entry is not None
        self.served += entry.count
        self.busy += now - self.began
        return entry

    def last(self) -> Entry | None:
        """Return the last entry in the queue, or the one being served; None if there is none."""
        return self.queue[-1] if self.queue else self.serving

    def mean_waiting(self, now: int) -> float:
        """Return the mean length of the queue up to now."""
        self._change(now, 0)
        return self._area / now if now else 0.0

    def busy_until(self, now: int) -> int:
        """Return the time spent serving, including the current service."""
        return self.busy + (now - self.began if self.serving is not None else 0)

    def _change(self, now: int, by: int) -> None:
        self._area += self.waiting * (now - self._changed)
        self._changed = now
        self.waiting += by
        if by and self.queue_times and self.queue_times[-1] == now:
            self.queue_lengths[-1] = self.waiting
        elif by:
            self.queue_times.append(now)
            self.queue_lengths.append(self.waiting)
