"""A join of many windowed streams without intermediate results (MJoin; a-greedy, section 8).

Answers: the results that new rows of one stream form with the windows of the others, as row numbers, in batches of
bounded size however many there are.
Guarantee: if every row is probed before it is inserted, each result is produced exactly once, when the last of its rows
arrives, in whatever order the streams are read; nothing but the windows is stored.
Cost: per new row, the probes of drop-probing (`probe_chain`) and, if no stream drops it, one step per result and level:
a multiway nested loop over hash chains (a pipelined processing tree). It begins where drop-probing found the first
partners, so nothing is searched for twice.
Differs from the paper: windows are checked for the whole result (`probing`), so streams may arrive in any order;
classes of equal columns that the spanning tree of a cyclic graph omits are checked as soon as both rows are chosen.

Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004,
section 8; Viglas, Naughton, Burger: Maximizing the Output Rate of Multi-Way Join Queries over Streaming Information
Sources. VLDB 2003.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.probe_chain import ProbeRows, levels_of
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinTree

Words = NDArray[np.int64]
RESULTS = 32_768
"""The number of results produced at a time."""
PARTNERS = 64
"""The number of partners of a row that initially fit."""


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Joined rows, by number: one array per stream, and the largest time of each result.

    The root's rows are numbered in its batch, those of other streams in their stores."""

    rows: Mapping[str, Words]
    latest: Words


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """Limits on the number of results."""

    most: int
    """The largest number of results of one row."""
    results: int = RESULTS
    """The number of results produced at a time."""


@dataclass(slots=True)
class ResultCounts:
    """Counts of one call: the row with the most results, how many it has, and the index entries visited."""

    results: int = 0
    row: int = -1
    looked: int = 0


class TooManyResults(Exception):  # noqa: N818 - the caller knows the row's values and raises the error
    """Raised if one row has more results than the limit allows."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def put_together(
    tree: JoinTree,
    stores: Mapping[str, WindowStore],
    rows: ProbeRows,
    kept: Words,
    order: Sequence[str],
    limits: ResultLimits,
    counts: ResultCounts,
) -> Iterator[JoinedRows]:
    """Yield the results of the rows `kept`. Do not insert into stores before the last one is taken."""
    from thalweg.kernels import probing

    most, results = limits.most, limits.results
    root_keys = list(rows.keys)
    levels = levels_of(tree, stores, order, root_keys)
    checks, check_of = _checks(tree, stores, order, rows)
    matrix = np.stack([rows.keys[key] for key in root_keys])
    starts = rows.starts[[tree.others.index(alias) for alias in order]]
    state = np.empty((probing.STATE_WIDTH, len(order) + 1), np.int64)
    resume = np.array([0, -1, 0, 0, -1])
    # the loop for stars collects partners, from the first that drop-probing found; a single level needs no collecting
    star = len(order) > 1 and not len(checks) and all(tree.parents[alias] == tree.root for alias in order)
    bounds, partners = np.zeros(len(order) + 1, np.int64), np.empty((3, PARTNERS), np.int64)
    while resume[0] < len(kept):
        out, latest = np.empty((len(order) + 1, results), np.int64), np.empty(results, np.int64)
        if star:
            count, looked, partners = probing.put_star_together(
                levels, matrix, rows.times, rows.ends, kept, starts, bounds, partners, state, resume, out, latest, most
            )
        else:
            count, looked = probing.put_together(
                levels, checks, check_of, matrix, rows.times, rows.ends, kept, starts, state, resume, out, latest, most
            )
        counts.looked += int(looked)
        if resume[2] > most:
            raise TooManyResults(int(kept[resume[0]]))
        if count:
            streams = (tree.root, *order)
            yield JoinedRows({alias: out[n, :count] for n, alias in enumerate(streams)}, latest[:count])
    counts.results, counts.row = int(resume[3]), int(resume[4])


def _checks(
    tree: JoinTree, stores: Mapping[str, WindowStore], order: Sequence[str], rows: ProbeRows
) -> tuple[Words, Words]:
    """Return, by level, the classes that a stream shares with an earlier one, except those it was probed by."""
    from thalweg.kernels import probing as p

    root_keys = list(rows.keys)
    found: list[list[int]] = []
    check_of = [0]
    for level, alias in enumerate(order):
        for c in tree.unused_classes[alias]:
            earlier = [a for a in (tree.root, *order[:level]) if a in tree.graph.column_of[c]]
            if not earlier:
                continue
            own = stores[alias].indexes[(c,)]
            check = [0] * p.CHECK_WIDTH
            check[p.CHECK_RING], check[p.CHECK_MASK] = own.ring_address, own.mask
            if earlier[0] == tree.root:
                check[p.OTHER], check[p.OTHER_KEY] = -1, root_keys.index((c,))
            else:
                other = stores[earlier[0]].indexes[(c,)]
                check[p.OTHER] = order.index(earlier[0])
                check[p.OTHER_RING], check[p.OTHER_MASK] = other.ring_address, other.mask
            found.append(check)
        check_of.append(len(found))
    return np.array(found, np.int64).reshape(-1, p.CHECK_WIDTH), np.array(check_of, np.int64)
