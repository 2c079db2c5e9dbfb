"""Watermarks of the streams of a query: how far event time has come, and so which rows are late.

A stream's watermark is the largest time of its finished rounds, minus its lateness; the query's is the least of them.
A row is late when its time is strictly below the query's watermark at the start of its round. A stream that has ended
holds nobody back, nor does one that was let go because it is idle; the query's watermark never goes back. Times beyond
`bound` are not believed: watermarks do not follow them at all, since the rows that come after are older. The watermark
of a stream may be given from outside: then its rows do not move it.

>>> marks = Watermarks({"a": 0, "b": 10})
>>> marks.seen("a", 100); marks.seen("b", 105)
>>> marks.query, marks.query  # known only when the round ends
(None, None)
>>> marks.end_round(); marks.query
95
>>> marks.ended("b"); marks.end_round(); marks.query
100
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

END = 2**63 - 1
"""Later than any row: every stream has ended."""
BEGINNING = -(2**63)
"""Not later than any row."""


class Watermarks:
    """In ticks."""

    def __init__(self, lateness: Mapping[str, int]) -> None:
        self._lateness = lateness
        self._seen: dict[str, int | None] = dict.fromkeys(lateness)
        self.streams: dict[str, int | None] = dict.fromkeys(lateness)
        """The watermark of each stream; None: nothing seen yet."""
        self.query: int | None = None
        self.bound: int | None = None
        """The latest time that is believed; None: any."""
        self.idle: frozenset[str] = frozenset()
        """Streams that nobody waits for."""
        self._given: set[str] = set()

    def seen(self, stream: str, latest: int) -> None:
        """A row of that time was read in this round."""
        if stream in self._given or (self.bound is not None and latest > self.bound):
            return
        before = self._seen[stream]
        self._seen[stream] = latest if before is None else max(before, latest)

    def give(self, stream: str, mark: int | None) -> None:
        """What its watermark is from the end of this round on; None: not known yet."""
        self._given.add(stream)
        self._seen[stream] = None if mark is None else mark + self._lateness[stream]

    def latest(self, stream: str) -> int | None:
        """The largest time read; None: nothing yet."""
        return self._seen[stream]

    def ended(self, stream: str) -> None:
        """No more rows will come."""
        self._seen[stream] = END + self._lateness[stream]

    def end_round(self) -> None:
        """What was seen counts from now on."""
        for stream, seen in self._seen.items():
            if seen is not None:
                self.streams[stream] = max(seen - self._lateness[stream], BEGINNING)
        waited_for = [mark for stream, mark in self.streams.items() if stream not in self.idle]
        known = [mark for mark in waited_for if mark is not None]
        if known and len(known) == len(waited_for):
            self.query = max(min(known), BEGINNING if self.query is None else self.query)

    def advance(self) -> int | None:
        """End a round; the query's watermark if it has moved, else None."""
        before = self.query
        self.end_round()
        return None if self.query == before else self.query

    def snapshot(self) -> dict[str, Any]:
        """What a restart needs, as JSON."""
        return {"seen": self._seen, "query": self.query}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from there; streams it does not know of are as new."""
        self._seen |= {stream: seen for stream, seen in snapshot["seen"].items() if stream in self._seen}
        self.end_round()
        self.query = snapshot["query"]
