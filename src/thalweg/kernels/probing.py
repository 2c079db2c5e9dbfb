"""Compiled loops over hash indexes on windows: insert, look for a partner, put partners together.

An index is a ring of rows and a table of heads. A row is four words: its key, the number of the next older row of its
bucket, its time, and until when it may have partners. Rows are numbered from 0 on and never renumbered; row n lies at
n modulo the ring's size. A row older than `low` is gone, and a chain ends at the first such row: forgetting costs
nothing, and its place is written over later.

Two rows, or two sets of rows put together before, belong together when the later time is not after the earlier end:
max(times) <= min(ends). With end = time + window of the stream this is the window condition for any number of streams,
in whatever order they come.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from thalweg.kernels.stable_hash import GOLDEN

KEY, OLDER, TIME, END = 0, 1, 2, 3
WIDTH = 4
NOTHING = -1

# a level, that is a stream to be probed: where its index lies in memory, and where its key comes from
RING, MASK, HEADS, SHIFT, LOW, PARENT, ROOT_KEY, PARENT_RING, PARENT_MASK = range(9)
LEVEL_WIDTH = 9
# a check, that is a key that must be equal besides the one a stream was probed by
CHECK_RING, CHECK_MASK, OTHER, OTHER_KEY, OTHER_RING, OTHER_MASK = range(6)
CHECK_WIDTH = 6
# what is remembered of each level between two results
CHOSEN, NEXT, WANTED, LATEST, EARLIEST_END = range(5)
STATE_WIDTH = 5


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@numba.njit(cache=True, inline="always")
def _ring(address, mask):  # type: ignore[no-untyped-def]
    return numba.carray(_pointer(address), (mask + 1, WIDTH), np.int64)


@numba.njit(cache=True, inline="always")
def _bucket(key, shift):  # type: ignore[no-untyped-def]
    return np.int64((np.uint64(key) * GOLDEN) >> np.uint64(shift))


@numba.njit(cache=True)
def insert(ring, heads, shift, first, keys, times, ends):  # type: ignore[no-untyped-def]
    """Rows `first` and following; the ring has room for them."""
    mask = len(ring) - 1
    for i in range(len(keys)):
        row = first + i
        place = row & mask
        bucket = _bucket(keys[i], shift)
        ring[place, KEY] = keys[i]
        ring[place, OLDER] = heads[bucket]
        ring[place, TIME] = times[i]
        ring[place, END] = ends[i]
        heads[bucket] = row


@numba.njit(cache=True)
def move(ring, rows, new_ring, heads, shift, first):  # type: ignore[no-untyped-def]
    """These rows of a ring into another one, as `first` and following."""
    mask, new_mask = len(ring) - 1, len(new_ring) - 1
    for i in range(len(rows)):
        place, row = rows[i] & mask, first + i
        new_place = row & new_mask
        bucket = _bucket(ring[place, KEY], shift)
        new_ring[new_place, KEY] = ring[place, KEY]
        new_ring[new_place, OLDER] = heads[bucket]
        new_ring[new_place, TIME] = ring[place, TIME]
        new_ring[new_place, END] = ring[place, END]
        heads[bucket] = row


@numba.njit(cache=True)
def first_live(ring, low, high, before):  # type: ignore[no-untyped-def]
    """The first row whose end is not before that time."""
    mask = len(ring) - 1
    while low < high and ring[low & mask, END] < before:
        low += 1
    return low


@numba.njit(cache=True)
def live_rows(ring, low, high, before):  # type: ignore[no-untyped-def]
    """All rows whose end is not before that time."""
    mask = len(ring) - 1
    found = np.empty(high - low, np.int64)
    count = 0
    for row in range(low, high):
        if ring[row & mask, END] >= before:
            found[count] = row
            count += 1
    return found[:count]


@numba.njit(cache=True)
def find_partners(keys, times, ends, alive, ring, heads, shift, low, starts, found):  # type: ignore[no-untyped-def]
    """Which of the rows `alive` have a partner in one index; `starts` remembers where, so that it need not be looked
    for again. Returns how many entries were looked at."""
    mask = len(ring) - 1
    looked = 0
    for a in range(len(alive)):
        i = alive[a]
        key, time, end = keys[i], times[i], ends[i]
        row = heads[_bucket(key, shift)]
        found[a] = False
        while row >= low:
            place = row & mask
            looked += 1
            if ring[place, KEY] == key and max(time, ring[place, TIME]) <= min(end, ring[place, END]):
                starts[i] = row
                found[a] = True
                break
            row = ring[place, OLDER]
    return looked


@numba.njit(cache=True, inline="always")
def _enter(levels, depth, root_keys, starts, i, state):  # type: ignore[no-untyped-def]
    """Begin to look at a level: which key is wanted there, and where its bucket begins; or, where drop-probing has
    looked before, where it found the first partner."""
    parent = levels[depth, PARENT]
    if parent < 0:
        key = root_keys[levels[depth, ROOT_KEY], i]
    else:
        above = _ring(levels[depth, PARENT_RING], levels[depth, PARENT_MASK])
        key = above[state[CHOSEN, parent] & levels[depth, PARENT_MASK], KEY]
    state[WANTED, depth] = key
    if depth < len(starts) and starts[depth, i] >= 0:
        state[NEXT, depth] = starts[depth, i]
        return
    buckets = np.int64(1) << np.int64(64 - levels[depth, SHIFT])
    heads = numba.carray(_pointer(levels[depth, HEADS]), (buckets,), np.int64)
    state[NEXT, depth] = heads[_bucket(key, levels[depth, SHIFT])]


@numba.njit(cache=True, inline="always")
def _agrees(checks, first, last, row, root_keys, i, state):  # type: ignore[no-untyped-def]
    """Whether a row has the other keys it must have."""
    for c in range(first, last):
        own = _ring(checks[c, CHECK_RING], checks[c, CHECK_MASK])[row & checks[c, CHECK_MASK], KEY]
        other = checks[c, OTHER]
        if other < 0:
            wanted = root_keys[checks[c, OTHER_KEY], i]
        else:
            ring = _ring(checks[c, OTHER_RING], checks[c, OTHER_MASK])
            wanted = ring[state[CHOSEN, other] & checks[c, OTHER_MASK], KEY]
        if own != wanted:
            return False
    return True


@numba.njit(cache=True)
def _search(levels, checks, check_of, root_keys, starts, i, state, depth, looked):  # type: ignore[no-untyped-def]
    """Go on from `depth` to the next choice of one row on every level; the last depth then, or -1: there is none."""
    last = len(levels) - 1
    while depth >= 0:
        mask, low = levels[depth, MASK], levels[depth, LOW]
        ring = _ring(levels[depth, RING], mask)
        key, time, end = state[WANTED, depth], state[LATEST, depth], state[EARLIEST_END, depth]
        row = state[NEXT, depth]
        found = False
        while row >= low:
            place = row & mask
            looked[0] += 1
            if ring[place, KEY] == key:
                later, sooner = max(time, ring[place, TIME]), min(end, ring[place, END])
                if later <= sooner and _agrees(checks, check_of[depth], check_of[depth + 1], row, root_keys, i, state):
                    found = True
                    break
            row = ring[place, OLDER]
        if not found:
            depth -= 1
            continue
        state[CHOSEN, depth] = row
        state[NEXT, depth] = ring[row & mask, OLDER]
        if depth == last:
            state[LATEST, depth + 1] = later
            return depth
        depth += 1
        state[LATEST, depth] = later
        state[EARLIEST_END, depth] = sooner
        _enter(levels, depth, root_keys, starts, i, state)
    return -1


@numba.njit(cache=True)
def find_paths(levels, checks, check_of, root_keys, times, ends, alive, found):  # type: ignore[no-untyped-def]
    """Which of the rows `alive` have a partner on every level of a path. Returns how many entries were looked at."""
    state = np.empty((STATE_WIDTH, len(levels) + 1), np.int64)
    looked = np.zeros(1, np.int64)
    starts = np.empty((0, 0), np.int64)
    for a in range(len(alive)):
        i = alive[a]
        state[LATEST, 0], state[EARLIEST_END, 0] = times[i], ends[i]
        _enter(levels, 0, root_keys, starts, i, state)
        found[a] = _search(levels, checks, check_of, root_keys, starts, i, state, 0, looked) >= 0
    return looked[0]


@numba.njit(cache=True)
def put_together(  # type: ignore[no-untyped-def]
    levels, checks, check_of, root_keys, times, ends, rows, starts, state, resume, out, latest, most
):
    """Results for `rows`, from where `resume` says, until `out` is full: the root's row and one of each level.

    `resume` holds the place in `rows`, the depth (-1: begin with that row), and the results of that row so far.
    `starts` holds, by level and row, where drop-probing found the first partner; -1 where it did not look. Returns
    (results, entries looked at); stops with `resume[2] > most` when one row has more results than that."""
    count, last = 0, len(levels) - 1
    looked = np.zeros(1, np.int64)
    at, depth = resume[0], resume[1]
    while at < len(rows):
        i = rows[at]
        if depth < 0:
            state[LATEST, 0], state[EARLIEST_END, 0] = times[i], ends[i]
            _enter(levels, 0, root_keys, starts, i, state)
            depth, resume[2] = 0, 0
        while depth >= 0:
            depth = _search(levels, checks, check_of, root_keys, starts, i, state, depth, looked)
            if depth < 0:
                break
            resume[2] += 1
            if resume[2] > most:
                resume[0], resume[1] = at, depth
                return count, looked[0]
            out[0, count] = i
            for level in range(last + 1):
                out[level + 1, count] = state[CHOSEN, level]
            latest[count] = state[LATEST, last + 1]
            count += 1
            if count == out.shape[1]:
                resume[0], resume[1] = at, depth
                return count, looked[0]
        if resume[2] > resume[3]:
            resume[3], resume[4] = resume[2], i
        at += 1
        depth = -1
    resume[0], resume[1] = at, depth
    return count, looked[0]


@numba.njit(cache=True)
def compare_all(keys, times, ends, ring, low, high, resume, out, latest):  # type: ignore[no-untyped-def]
    """Every row with every row of a window, from where `resume` says (row, number), until `out` is full."""
    mask = len(ring) - 1
    count = 0
    i, row = resume[0], max(resume[1], low)
    while i < len(keys):
        key, time, end = keys[i], times[i], ends[i]
        while row < high:
            place = row & mask
            if ring[place, KEY] == key:
                later = max(time, ring[place, TIME])
                if later <= min(end, ring[place, END]):
                    out[0, count], out[1, count], latest[count] = i, row, later
                    count += 1
            row += 1
            if count == out.shape[1]:
                resume[0], resume[1] = i, row
                return count
        i += 1
        row = low
    resume[0], resume[1] = i, row
    return count
