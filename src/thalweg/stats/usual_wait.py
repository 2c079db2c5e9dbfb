"""Estimates how long a call would have taken on an idle machine, from its wall-clock time and its CPU time.

A predicate that calls a service waits for it, and that wait is part of its cost. A process that shares its core with
others waits too, but that says nothing about the predicate. The difference: the first waits in every call.

Answers: the time to charge for a call: its CPU time plus its wait, limited to the usual wait of this predicate.
Guarantee: at most the wall-clock time. A predicate that waits in every call is charged for its usual wait, whether it
waits per row or per call. A predicate that never waits is charged for its CPU time once `LEAST` calls have been seen,
even if up to half of its calls are interrupted.
Cost: two additions per call; for a call that waited, sorting a few numbers.

>>> wait = UsualWait()
>>> [wait.counted(100, 50_000, 50_000) for _ in range(5)]
[50000, 50000, 50000, 50000, 50000]
>>> wait.counted(100, 4_050_000, 50_000)  # interrupted
50000
"""

from __future__ import annotations

from statistics import median

LEAST, KEPT = 3, 9
"""The minimum and the maximum number of calls from which the usual wait is taken."""
HARDLY_NS, HARDLY = 20_000, 0.1
"""A wait of at most this long, or at most this share of the call, is charged in full."""


class UsualWait:
    """The waits of the latest calls of one predicate."""

    __slots__ = ("_at", "_per_row", "_waits")

    def __init__(self) -> None:
        self._waits: list[float] = []
        self._per_row: list[float] = []
        self._at = 0

    def counted(self, rows: int, wall_ns: int, cpu_ns: int) -> int:
        """The time to charge for a call on this many rows."""
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
