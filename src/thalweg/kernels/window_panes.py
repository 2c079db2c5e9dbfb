"""Which windows rows belong to, by way of panes: the pieces into which the bounds of all windows cut time.

Windows [start, end) of a length, one every slide, begin at the multiples of the slide. A pane lies wholly inside or
outside of any window, so rows are aggregated by pane, once each, and a window is made of its panes. There are two panes
a slide, or one where the length is a multiple of it, however many windows overlap.

>>> panes = Panes(length=25, slide=10)
>>> panes.of(np.array([0, 4, 5, 12, -1]))
array([ 0,  0,  5, 10, -5])
>>> panes.windows(np.array([0, 5, 10]), after=None, until=30).tolist()  # where they begin; the last ends at 25
[-20, -10, 0]
>>> panes.windows(np.array([0, 5, 10]), after=-1, until=100).tolist()
[0, 10]

References: Li, Maier, Tufte, Papadimos, Tucker, "No Pane, No Gain", SIGMOD Record 34(1), 2005; two panes a slide:
Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", SIGMOD 2006, section 3.1 (paired windows).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Panes:
    """In ticks."""

    length: int
    slide: int

    @property
    def tumbling(self) -> bool:
        """A pane is a window."""
        return self.length == self.slide

    def can_hold(self, earliest: int, latest: int) -> bool:
        """Whether every window of these times, and the next, can be told in ticks."""
        return earliest - self.length - self.slide >= LEAST and latest + self.length + self.slide <= MOST

    def of(self, times: Words) -> Words:
        """Where the pane of each time begins."""
        begins: Words = times - times % self.slide  # the remainder is never negative: before 1970 too
        if second := self.length % self.slide:
            begins += np.where(times - begins >= second, second, 0)
        return begins

    def last_closed(self, until: int) -> int:
        """Where the last window begins that has ended at a time."""
        return (until - self.length) // self.slide * self.slide

    def windows(self, panes: Words, after: int | None, until: int) -> Words:
        """Where the windows of these panes begin, ascending: those that begin after a time and have ended at another.
        Panes ascend."""
        if not len(panes):
            return panes
        # a pane adds the windows that begin after those of the pane before it, and none is looked at twice
        last = panes // self.slide
        first = (panes - self.length) // self.slide + 1
        first[1:] = np.maximum(first[1:], last[:-1] + 1)
        if after is not None:
            first = np.maximum(first, max(after, LEAST) // self.slide + 1)
        last = np.minimum(last, self.last_closed(until) // self.slide)
        return ranges(first, np.maximum(last - first + 1, 0)) * self.slide


def ranges(first: Words, counts: Words) -> Words:
    """Whole numbers from each first one on, so many of them.

    >>> ranges(np.array([5, 0, 9]), np.array([2, 0, 3]))
    array([ 5,  6,  9, 10, 11])
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Words = np.repeat(first - (ends - counts), counts) + np.arange(total)
    return numbers
