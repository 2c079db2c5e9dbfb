"""Partial aggregates by pane and key, in a few tables merged as they grow: at most twice as many rows as groups.

A run is a table sorted by pane that contains each group once. A new run is merged with the previous one until that one
is at least twice as long. So a row is merged about log2 times, and expired panes are cut off without a copy.

>>> runs = PaneRuns(("pane", "k"), (("n", "sum"),))
>>> for pane in (0, 0, 10):
...     runs.add(pa.table({"pane": [pane], "k": ["x"], "n": [1]}))
>>> runs.before(10).to_pydict()
{'pane': [0], 'k': ['x'], 'n': [2]}
>>> runs.expire(10); len(runs)
1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PANE = "pane"


class PaneRuns:
    """Groups by the columns `by`, of which the pane is the first. The other columns are merged as `merges` says."""

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


def words(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a column of integers without nulls as a NumPy array."""
    numbers: NDArray[np.int64] = column.to_numpy()
    return numbers


def _place(run: pa.Table, pane: int) -> int:
    return int(np.searchsorted(words(run.column(PANE)), pane))
