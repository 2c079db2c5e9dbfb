"""What a call would have taken on an idle machine, from its time on the wall and its CPU time.

A predicate that asks a service spends its time waiting, and that is part of what it costs. A process that has to share
its core waits too, and that says nothing about the predicate. The two differ in that the first waits in every call.

Answers: the time a call counts with: its CPU time, and of its waiting no more than is usual for this predicate.
Guarantee: at most the time on the wall. A predicate that always waits counts with all of it, whether it waits per row
or per call; one that never does counts with its CPU time once `LEAST` calls were seen, also where up to half of the
calls are interrupted.
Cost: two additions per call; a sort of a few numbers for one that waited.

>>> wait = UsualWait()
>>> [wait.counted(100, 50_000, 50_000) for _ in range(5)]
[50000, 50000, 50000, 50000, 50000]
>>> wait.counted(100, 4_050_000, 50_000)  # interrupted
50000
"""

from __future__ import annotations

from statistics import median

LEAST, KEPT = 3, 9
"""Calls that say what is usual: at least and at most."""
HARDLY_NS, HARDLY = 20_000, 0.1
"""Waiting that is not worth a look: so long, or this share of the call."""


class UsualWait:
    """The waiting of a predicate's last calls."""

    __slots__ = ("_at", "_per_row", "_waits")

    def __init__(self) -> None:
        self._waits: list[float] = []
        self._per_row: list[float] = []
        self._at = 0

    def counted(self, rows: int, wall_ns: int, cpu_ns: int) -> int:
        """What a call on so many rows counts with."""
        waited = max(wall_ns - cpu_ns, 0)
        counted = wall_ns
        if waited > HARDLY_NS and waited > HARDLY * wall_ns and len(self._waits) >= LEAST:
            usual = max(median(self._waits), median(self._per_row) * rows)
            counted = wall_ns - waited + round(min(waited, usual))
        if len(self._waits) < KEPT:
            self._waits.append(waited)
            self._per_row.append(waited / rows)
        else:
            self._waits[self._at], self._per_row[self._at] = waited, waited / rows
            self._at = (self._at + 1) % KEPT
        return counted
