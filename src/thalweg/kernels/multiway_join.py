"""A join of many windowed streams without intermediate results (MJoin; a-greedy, section 8).

Answers: the results that new rows of one stream have with what the windows of the others hold, as row numbers, in
batches of bounded size however many there are.
Guarantee: when every row is probed for before it is inserted, each result comes exactly once, with the last of its rows
to come, in whatever order the streams are read; nothing but the windows is stored.
Cost: per new row the probes of drop-probing (`probe_chain`) and, if no stream drops it, one step a result and level: a
multiway nested loop over hash chains (a pipelined processing tree). It begins where drop-probing found the first
partners, so nothing is looked for twice.
Differs from the paper: windows are checked for the whole result (`probing`), so streams may come in any order; classes
of equal columns that the spanning tree of a cyclic graph leaves out are checked as soon as both rows are chosen.

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
from thalweg.plan.join_graph import JoinTree

Words = NDArray[np.int64]
RESULTS = 32_768
"""Results put together at a time."""
PARTNERS = 64
"""Of a row that there is room for at first."""


@dataclass(frozen=True, slots=True)
class Results:
    """Row numbers, one array a stream: of the root in its batch, of the others in their stores; and the largest time
    of each result."""

    rows: Mapping[str, Words]
    latest: Words


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How many results there may be."""

    most: int
    """Of one row."""
    results: int = RESULTS
    """Put together at a time."""


@dataclass(slots=True)
class Told:
    """By a call: the row with the most results and how many, and the entries of indexes looked at."""

    results: int = 0
    row: int = -1
    looked: int = 0


class TooManyResults(Exception):  # noqa: N818 - not an error of ours yet: whoever knows the row's values tells it
    """One row has more results than the limit allows."""

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
    told: Told,
) -> Iterator[Results]:
    """The results of the rows `kept`. Stores must not be inserted into before the last is taken."""
    from thalweg.kernels import probing

    most, results = limits.most, limits.results
    root_keys = list(rows.keys)
    levels = levels_of(tree, stores, order, root_keys)
    checks, check_of = _checks(tree, stores, order, rows)
    matrix = np.stack([rows.keys[key] for key in root_keys])
    starts = rows.starts[[tree.others.index(alias) for alias in order]]
    state = np.empty((probing.STATE_WIDTH, len(order) + 1), np.int64)
    resume = np.array([0, -1, 0, 0, -1])
    # the loop for stars collects partners, where drop-probing has found the first; a single level needs no collecting
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
        told.looked += int(looked)
        if resume[2] > most:
            raise TooManyResults(int(kept[resume[0]]))
        if count:
            streams = (tree.root, *order)
            yield Results({alias: out[n, :count] for n, alias in enumerate(streams)}, latest[:count])
    told.results, told.row = int(resume[3]), int(resume[4])


def _checks(
    tree: JoinTree, stores: Mapping[str, WindowStore], order: Sequence[str], rows: ProbeRows
) -> tuple[Words, Words]:
    """By level: the classes a stream shares with one chosen before it, other than those it was probed by."""
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
