"""Assign rows to windows through panes, the pieces into which the bounds of all windows divide time.

Windows [start, end) of one length begin at the multiples of the slide. A pane is entirely inside or outside any window.
So each row is aggregated once, into its pane, and a window is the union of its panes. There are two panes per slide, or
one if the length is a multiple of the slide, however many windows overlap.

>>> panes = Panes(length=25, slide=10)
>>> panes.of(np.array([0, 4, 5, 12, -1]))
array([ 0,  0,  5, 10, -5])
>>> [starts.tolist() for starts in panes.windows(np.array([0, 5, 10]), after=None, until=30)]  # the last ends at 25
[[-20, -10, 0]]
>>> [starts.tolist() for starts in panes.windows(np.array([0, 5, 10]), after=-1, until=100)]
[[0, 10]]

References: Li, Maier, Tufte, Papadimos, Tucker, "No Pane, No Gain", SIGMOD Record 34(1), 2005; two panes per slide:
Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", SIGMOD 2006, section 3.1 (paired windows).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
LEAST, MOST = -(2**63), 2**63 - 1
WINDOWS_AT_ONCE = 1 << 20
"""The most windows whose starts are computed at once: one row may be in a million windows."""


@dataclass(frozen=True, slots=True)
class Panes:
    """Windows of one length and slide, both in ticks."""

    length: int
    slide: int

    @property
    def tumbling(self) -> bool:
        """Whether windows do not overlap, so that each pane is a window."""
        return self.length == self.slide

    def can_hold(self, earliest: int, latest: int) -> bool:
        """Whether every window of these times, and the next one, has bounds that fit in 64-bit ticks."""
        return earliest - self.length - self.slide >= LEAST and latest + self.length + self.slide <= MOST

    def of(self, times: Words) -> Words:
        """Return the start of each time's pane."""
        begins: Words = times - times % self.slide  # the remainder is never negative, even before 1970
        if second := self.length % self.slide:
            begins += np.where(times - begins >= second, second, 0)
        return begins

    def last_closed(self, until: int) -> int:
        """Return the start of the last window that has ended at `until`."""
        return (until - self.length) // self.slide * self.slide

    def windows(self, panes: Words, after: int | None, until: int) -> Iterator[Words]:
        """Yield the sorted starts of the windows of these panes that begin after `after` and have ended at `until`, at
        most `WINDOWS_AT_ONCE` at a time.

        The panes must be ascending."""
        # each pane adds only the windows that begin after those of the previous pane, so no window is visited twice
        last = panes // self.slide
        first = (panes - self.length) // self.slide + 1
        first[1:] = np.maximum(first[1:], last[:-1] + 1)
        if after is not None:
            first = np.maximum(first, max(after, LEAST) // self.slide + 1)
        last = np.minimum(last, self.last_closed(until) // self.slide)
        counts = np.maximum(last - first + 1, 0)
        ends = np.cumsum(counts)
        begins = ends - counts
        for begin in range(0, int(ends[-1]) if len(ends) else 0, WINDOWS_AT_ONCE):
            end = min(begin + WINDOWS_AT_ONCE, int(ends[-1]))
            some = slice(int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, end)) + 1)
            before = np.maximum(begin - begins[some], 0)  # of the first pane, yielded already
            yield ranges(first[some] + before, np.diff(np.minimum(ends[some], end), prepend=begin)) * self.slide


def ranges(first: Words, counts: Words) -> Words:
    """Return the concatenated ranges of `counts` integers from each `first` on.

    >>> ranges(np.array([5, 0, 9]), np.array([2, 0, 3]))
    array([ 5,  6,  9, 10, 11])
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Words = np.repeat(first - (ends - counts), counts) + np.arange(total)
    return numbers
