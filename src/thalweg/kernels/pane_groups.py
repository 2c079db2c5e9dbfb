"""Panes of time windows, and the groups of rows in them.

Panes are the pieces into which the bounds of all windows divide time. Windows [start, end) of one length begin at the
multiples of the slide. A pane is entirely inside or outside any window. So each row is aggregated once, into its pane,
and a window is the union of its panes. There are two panes per slide, or one if the length is a multiple of the slide,
however many windows overlap.

Partial aggregates by pane and key are in a few tables merged as they grow: at most twice as many rows as groups. A run
is a table sorted by pane that contains each group once. A new run is merged with the previous one until that one is at
least twice as long. So a row is merged about log2 times, and expired panes are cut off without a copy.

Arrow groups rows by a hash that is publicly known: whole numbers can be chosen that all have the same hash, and
grouping them takes quadratic time. `group_words` gives an additional column to group by, a salted hash that is equal
for equal groups. With it, Arrow's hashes cannot be chosen without the salt.

References: Li, Maier, Tufte, Papadimos, Tucker, "No Pane, No Gain", SIGMOD Record 34(1), 2005; two panes per slide:
Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", SIGMOD 2006, section 3.1 (paired windows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.key_words import KeyKind
from thalweg.kernels.salt import Salt

Words = NDArray[np.int64]
PANE = "pane"
LEAST, MOST = -(2**63), 2**63 - 1
WINDOWS_AT_ONCE = 1 << 20
"""The most windows whose starts are computed at once: one row may be in a million windows."""


@dataclass(frozen=True, slots=True)
class Panes:
    """Windows of one length and slide, both in ticks.

    >>> panes = Panes(length=25, slide=10)
    >>> panes.of(np.array([0, 4, 5, 12, -1]))
    array([ 0,  0,  5, 10, -5])
    >>> [starts.tolist() for starts in panes.windows(np.array([0, 5, 10]), after=None, until=30)]  # the last ends at 25
    [[-20, -10, 0]]
    >>> [starts.tolist() for starts in panes.windows(np.array([0, 5, 10]), after=-1, until=100)]
    [[0, 10]]
    """

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


class PaneRuns:
    """Groups by the columns `by`, of which the pane is the first. The other columns are merged as `merges` says.

    >>> runs = PaneRuns(("pane", "k"), (("n", "sum"),))
    >>> for pane in (0, 0, 10):
    ...     runs.add(pa.table({"pane": [pane], "k": ["x"], "n": [1]}))
    >>> runs.before(10).to_pydict()
    {'pane': [0], 'k': ['x'], 'n': [2]}
    >>> runs.expire(10); len(runs)
    1
    """

    def __init__(self, by: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        self._by, self._merges = list(by), list(merges)
        self._runs: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        """Add rows of any panes, each with its own partial aggregates."""
        self._push(self._merged([rows]))

    def before(self, pane: int) -> pa.Table | None:
        """Return the groups of earlier panes, sorted by pane; None if there are none."""
        parts = [part for run in self._runs if (part := run.slice(0, _place(run, pane))).num_rows]
        if len(parts) > 1:
            return self._merged(parts)
        return parts[0] if parts else None

    def expire(self, pane: int) -> None:
        """Forget the groups of earlier panes."""
        left, self._runs = self._runs, []
        for run in left:
            self._push(run.slice(_place(run, pane)))

    @property
    def earliest(self) -> int | None:
        """The earliest pane that is held; None if there is none."""
        return min((run.column(PANE)[0].as_py() for run in self._runs), default=None)

    def __len__(self) -> int:
        """Return the number of groups held; one group may be held more than once."""
        return sum(run.num_rows for run in self._runs)

    @property
    def nbytes(self) -> int:
        """The memory that the groups take, in bytes."""
        return sum(run.nbytes for run in self._runs)

    def _push(self, run: pa.Table) -> None:
        if not run.num_rows:
            return
        while self._runs and self._runs[-1].num_rows < 2 * run.num_rows:
            run = self._merged([self._runs.pop(), run])
        self._runs.append(run)

    def _merged(self, tables: list[pa.Table]) -> pa.Table:
        return merged(pa.concat_tables(tables), self._by, self._merges).combine_chunks()


def merged(table: pa.Table, by: Sequence[str], merges: Sequence[tuple[str, str]]) -> pa.Table:
    """Return one row per group. Null is a group.

    Groups are sorted by the first column, an integer. Within that, they are in Arrow's order, which is the same for the
    same rows."""
    groups = table.group_by(list(by), use_threads=False).aggregate(list(merges))
    groups = groups.select([*by, *(f"{name}_{how}" for name, how in merges)])
    groups = groups.rename_columns([*by, *(name for name, _ in merges)])
    first = words(groups.column(by[0]))
    return groups if (first[1:] >= first[:-1]).all() else groups.take(pa.array(first.argsort(kind="stable")))


def words(column: pa.ChunkedArray) -> Words:
    """Return a column of integers without nulls as a NumPy array."""
    numbers: Words = column.to_numpy()
    return numbers


def _place(run: pa.Table, pane: int) -> int:
    return int(np.searchsorted(words(run.column(PANE)), pane))


def group_words(columns: Sequence[pa.Array], salt: Salt) -> Words:
    """Return one word per row for rows grouped by these columns. NaN and zero must each be one value in them.

    >>> from thalweg.kernels.salt import NO_SALT
    >>> one, other, again, null, null_again = group_words([pa.array([1, 2, 1, None, None])], NO_SALT).tolist()
    >>> one == again, one == other, null == null_again
    (True, False, True)
    """
    from thalweg.kernels.keyed_hash import combine  # numba takes long to import

    hashes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        words = _hash_words(column, salt)
        if words is not None:
            combine(hashes, words, salt.one, salt.other)
    return hashes


def _hash_words(column: pa.Array, salt: Salt) -> Words | None:
    """Return the words of a column; None if its type has none. Other columns of the row may have some."""
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64()).view(pa.int64())
    elif pa.types.is_time32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_time64(column.type) or pa.types.is_duration(column.type) or pa.types.is_date64(column.type):
        column = column.view(pa.int64())
    try:
        kind = KeyKind.of([("", column.type)])
    except PlanError:
        return None
    words, _ = kind.words(column, salt)
    if column.null_count:
        words = np.where(column.is_valid().to_numpy(zero_copy_only=False), words, 0)
    return words
