"""Watermarks of the streams of a query: how far event time has advanced, and so which rows are late.

A stream's watermark is the largest time of its finished rounds, minus its lateness; the query's watermark is the
smallest of them. A row is late if its time is strictly below the query's watermark at the start of its round. A stream
that has ended, or that was released because it is idle, does not hold back the query's watermark. The query's watermark
never goes back. Times beyond `bound` are not trusted: watermarks do not follow them at all, because the rows that
follow are older. The watermark of a stream can be set explicitly; then its rows do not move it.

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
"""The watermark if every stream has ended; later than any row."""
BEGINNING = -(2**63)
"""The earliest possible watermark; not later than any row."""


class Watermarks:
    """The watermarks of the streams and of the query, in ticks."""

    def __init__(self, lateness: Mapping[str, int]) -> None:
        self._lateness = lateness
        self._seen: dict[str, int | None] = dict.fromkeys(lateness)
        self.streams: dict[str, int | None] = dict.fromkeys(lateness)
        """The watermark of each stream; None if nothing has been seen yet."""
        self.query: int | None = None
        self.bound: int | None = None
        """The latest time that is trusted; None if every time is."""
        self.idle: frozenset[str] = frozenset()
        """Streams that do not hold back the query's watermark."""
        self._given: set[str] = set()

    def seen(self, stream: str, latest: int) -> None:
        """Record that a row with this time was read in this round."""
        if stream in self._given or (self.bound is not None and latest > self.bound):
            return
        before = self._seen[stream]
        self._seen[stream] = latest if before is None else max(before, latest)

    def give(self, stream: str, mark: int | None) -> None:
        """Set the watermark that a stream has from the end of this round on; None if it is not known yet."""
        self._given.add(stream)
        self._seen[stream] = None if mark is None else mark + self._lateness[stream]

    def latest(self, stream: str) -> int | None:
        """Return the largest time read; None if nothing has been read yet."""
        return self._seen[stream]

    def ended(self, stream: str) -> None:
        """Record that a stream has no more rows."""
        self._seen[stream] = END + self._lateness[stream]

    def end_round(self) -> None:
        """Update the watermarks with the times seen in this round."""
        for stream, seen in self._seen.items():
            if seen is not None:
                self.streams[stream] = max(seen - self._lateness[stream], BEGINNING)
        waited_for = [mark for stream, mark in self.streams.items() if stream not in self.idle]
        known = [mark for mark in waited_for if mark is not None]
        if known and len(known) == len(waited_for):
            self.query = max(min(known), BEGINNING if self.query is None else self.query)

    def advance(self) -> int | None:
        """End a round. Return the query's watermark if it has moved, otherwise None."""
        before = self.query
        self.end_round()
        return None if self.query == before else self.query

    def snapshot(self) -> dict[str, Any]:
        """Return the state that a restart needs, as JSON."""
        return {"seen": self._seen, "query": self.query}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from a snapshot. Streams that it does not contain start new."""
        self._seen |= {stream: seen for stream, seen in snapshot["seen"].items() if stream in self._seen}
        self.end_round()
        self.query = snapshot["query"]
