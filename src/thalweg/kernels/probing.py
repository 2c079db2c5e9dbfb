"""Compiled loops over hash indexes on windows: insert rows, find a partner, enumerate results, gather values.

An index is a ring of rows and a table of heads. A row is four words: its key, the number of the next older row in its
bucket, its time, and until when it may have partners. Rows are numbered from 0 on and never renumbered; row n is stored
at n modulo the ring's size. A row older than `low` is expired, and a chain ends at the first such row: expiring costs
nothing, and a new row overwrites it later.

Two rows, or two sets of joined rows, belong together if the later time is not after the earlier end:
max(times) <= min(ends). With end = time + window of the stream, this is the window condition for any number of streams,
in any order of arrival.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

KEY, OLDER, TIME, END = 0, 1, 2, 3
WIDTH = 4
NOTHING = -1
ROW_BYTES = 8 * WIDTH
AHEAD = 8
"""How many rows ahead memory is prefetched: about as long as a read takes."""

# a level is a stream to be probed: where its index is in memory, and where its key comes from
RING, MASK, HEADS, SHIFT, MULTIPLIER, LOW, PARENT, ROOT_KEY, PARENT_RING, PARENT_MASK = range(10)
LEVEL_WIDTH = 10
# a check is a key that must be equal in addition to the one that a stream was probed by
CHECK_RING, CHECK_MASK, OTHER, OTHER_KEY, OTHER_RING, OTHER_MASK = range(6)
CHECK_WIDTH = 6
# the state of each level between two results
CHOSEN, NEXT, WANTED, LATEST, EARLIEST_END = range(5)
STATE_WIDTH = 5


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(context: Any, address: Any) -> Any:
    """Prefetch the memory at an address that is read soon: it is loaded while other work is done."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        takes = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], takes)
        where = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(ask, [where, number(0), number(3), number(1)])  # for reading, into all caches, data
        return context.get_dummy_value()

    return types.void(address), generate


@compiled(inline="always")
def _ring(address, mask):  # type: ignore[no-untyped-def]
    return numba.carray(_pointer(address), (mask + 1, WIDTH), np.int64)


@compiled(inline="always")
def _bucket(key, multiplier, shift):  # type: ignore[no-untyped-def]
    """Return the bucket of a key: multiplicative hashing with a secret multiplier (see `salt`)."""
    return np.int64((np.uint64(key) * multiplier) >> np.uint64(shift))


@compiled()
def insert(ring, heads, multiplier, shift, first, keys, times, ends):  # type: ignore[no-untyped-def]
    """Insert rows, numbered from `first` on. The ring must have room for them."""
    mask = len(ring) - 1
    for i in range(len(keys)):
        row = first + i
        place = row & mask
        bucket = _bucket(keys[i], multiplier, shift)
        ring[place, KEY] = keys[i]
        ring[place, OLDER] = heads[bucket]
        ring[place, TIME] = times[i]
        ring[place, END] = ends[i]
        heads[bucket] = row


@compiled()
def move(ring, rows, new_ring, heads, multiplier, shift, first):  # type: ignore[no-untyped-def]
    """Copy rows of a ring into another one, numbered from `first` on."""
    mask, new_mask = len(ring) - 1, len(new_ring) - 1
    for i in range(len(rows)):
        place, row = rows[i] & mask, first + i
        new_place = row & new_mask
        bucket = _bucket(ring[place, KEY], multiplier, shift)
        new_ring[new_place, KEY] = ring[place, KEY]
        new_ring[new_place, OLDER] = heads[bucket]
        new_ring[new_place, TIME] = ring[place, TIME]
        new_ring[new_place, END] = ring[place, END]
        heads[bucket] = row


@compiled()
def first_live(ring, low, high, before):  # type: ignore[no-untyped-def]
    """Return the first row whose end is not before this time."""
    mask = len(ring) - 1
    while low < high and ring[low & mask, END] < before:
        low += 1
    return low


@compiled()
def live_rows(ring, low, high, before):  # type: ignore[no-untyped-def]
    """Return all rows whose end is not before this time."""
    mask = len(ring) - 1
    found = np.empty(high - low, np.int64)
    count = 0
    for row in range(low, high):
        if ring[row & mask, END] >= before:
            found[count] = row
            count += 1
    return found[:count]


@compiled()
def find_partners(  # type: ignore[no-untyped-def]
    keys, times, ends, alive, ring, heads, multiplier, shift, low, starts, found
):
    """Find which of the rows `alive` have a partner in one index. Return the number of entries visited.

    `starts` gets the place of the partner, so that it need not be searched for again."""
    mask = len(ring) - 1
    looked = 0
    where = ring.ctypes.data
    first = np.empty(len(alive), np.int64)
    for a in range(len(alive)):
        first[a] = heads[_bucket(keys[alive[a]], multiplier, shift)]
    for a in range(len(alive)):
        if a + AHEAD < len(alive):
            _fetch(where + (first[a + AHEAD] & mask) * ROW_BYTES)
        i = alive[a]
        key, time, end = keys[i], times[i], ends[i]
        row = first[a]
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


@compiled(inline="always")
def _head(levels, level, key):  # type: ignore[no-untyped-def]
    """Return the newest row in a key's bucket."""
    buckets = np.int64(1) << np.int64(64 - levels[level, SHIFT])
    heads = numba.carray(_pointer(levels[level, HEADS]), (buckets,), np.int64)
    return heads[_bucket(key, np.uint64(levels[level, MULTIPLIER]), levels[level, SHIFT])]


@compiled(inline="always")
def _fetch_ahead(levels, rows, at, starts):  # type: ignore[no-untyped-def]
    """Prefetch the first partners of an upcoming row, and the rows after those prefetched some rows ago.

    If drop-probing did not look for a partner, some other row is prefetched, which costs little."""
    soon, sooner = min(at + AHEAD, len(rows) - 1), min(at + AHEAD // 2, len(rows) - 1)
    for level in range(len(levels)):
        mask = levels[level, MASK]
        _fetch(levels[level, RING] + (starts[level, rows[soon]] & mask) * ROW_BYTES)
        ring = _ring(levels[level, RING], mask)
        older = ring[starts[level, rows[sooner]] & mask, OLDER]
        _fetch(levels[level, RING] + (older & mask) * ROW_BYTES)


@compiled(inline="always")
def _enter(levels, depth, root_keys, starts, i, state):  # type: ignore[no-untyped-def]
    """Start the search on a level: set the wanted key and the first row to visit.

    This is the newest row of the key's bucket, or the first partner if drop-probing has found it."""
    parent = levels[depth, PARENT]
    if parent < 0:
        key = root_keys[levels[depth, ROOT_KEY], i]
    else:
        above = _ring(levels[depth, PARENT_RING], levels[depth, PARENT_MASK])
        key = above[state[CHOSEN, parent] & levels[depth, PARENT_MASK], KEY]
    state[WANTED, depth] = key
    if depth < len(starts) and starts[depth, i] >= 0:
        state[NEXT, depth] = starts[depth, i]
    else:
        state[NEXT, depth] = _head(levels, depth, key)


@compiled(inline="always")
def _agrees(checks, first, last, row, root_keys, i, state):  # type: ignore[no-untyped-def]
    """Return whether a row has the other keys that it must have."""
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


@compiled()
def _search(levels, checks, check_of, root_keys, starts, i, state, depth, last, looked):  # type: ignore[no-untyped-def]
    """Continue from `depth` to the next choice of one row on every level up to `last`.

    Return `last`, or -1 if there is no further choice."""
    while depth >= 0:
        mask, low = levels[depth, MASK], levels[depth, LOW]
        ring = _ring(levels[depth, RING], mask)
        key, time, end = state[WANTED, depth], state[LATEST, depth], state[EARLIEST_END, depth]
        row = state[NEXT, depth]
        found = False
        seen = 0
        while row >= low:
            place = row & mask
            seen += 1
            if ring[place, KEY] == key:
                later, sooner = max(time, ring[place, TIME]), min(end, ring[place, END])
                if later <= sooner and _agrees(checks, check_of[depth], check_of[depth + 1], row, root_keys, i, state):
                    found = True
                    break
            row = ring[place, OLDER]
        looked[0] += seen
        if not found:
            depth -= 1
            continue
        state[CHOSEN, depth] = row
        state[NEXT, depth] = ring[row & mask, OLDER]
        state[LATEST, depth + 1] = later
        state[EARLIEST_END, depth + 1] = sooner
        if depth == last:
            return depth
        depth += 1
        _enter(levels, depth, root_keys, starts, i, state)
    return -1


@compiled()
def find_paths(levels, checks, check_of, root_keys, times, ends, alive, found):  # type: ignore[no-untyped-def]
    """Find which of the rows `alive` have a partner on every level of a path. Return the number of entries visited."""
    last = len(levels) - 1
    state = np.empty((STATE_WIDTH, len(levels) + 1), np.int64)
    looked = np.zeros(1, np.int64)
    starts = np.empty((0, 0), np.int64)
    for a in range(len(alive)):
        i = alive[a]
        state[LATEST, 0], state[EARLIEST_END, 0] = times[i], ends[i]
        _enter(levels, 0, root_keys, starts, i, state)
        found[a] = _search(levels, checks, check_of, root_keys, starts, i, state, 0, last, looked) >= 0
    return looked[0]


@compiled(inline="always")
def _fill(out, begun, count, i, state, last):  # type: ignore[no-untyped-def]
    """Fill in the rows of the root and all but the last level, which the results from `begun` on have in common."""
    for result in range(begun, count):
        out[0, result] = i
    for level in range(last):
        chosen = state[CHOSEN, level]
        for result in range(begun, count):
            out[level + 1, result] = chosen


@compiled()
def put_together(  # type: ignore[no-untyped-def]
    levels, checks, check_of, root_keys, times, ends, rows, starts, state, resume, out, latest, most
):
    """Write results for `rows`, starting at `resume`, until `out` is full: the root's row and one row per level.

    `resume` contains the position in `rows`, the depth (-1: begin with that row), and the results of that row so far.
    `starts` contains, by level and row, where drop-probing found the first partner; -1 if it did not look. Returns
    (results, entries visited); stops with `resume[2] > most` if one row has more results than `most`.

    Most of the time is spent on the last level, in whose rows results differ. There everything is in local variables,
    and the rows chosen on the other levels are written for all results of a choice at once."""
    count, last, room = 0, len(levels) - 1, out.shape[1]
    looked = np.zeros(1, np.int64)
    mask, low = levels[last, MASK], levels[last, LOW]
    ring = _ring(levels[last, RING], mask)
    first_check, end_check = check_of[last], check_of[last + 1]
    at, depth, made = resume[0], resume[1], resume[2]
    stopped = False
    while at < len(rows) and not stopped:
        i = rows[at]
        if depth < 0:
            _fetch_ahead(levels, rows, at, starts)
            state[LATEST, 0], state[EARLIEST_END, 0] = times[i], ends[i]
            _enter(levels, 0, root_keys, starts, i, state)
            depth, made = 0, 0
        while depth >= 0:
            if depth < last:
                depth = _search(levels, checks, check_of, root_keys, starts, i, state, depth, last - 1, looked)
                if depth < 0:
                    break
                depth = last
                _enter(levels, last, root_keys, starts, i, state)
            key, time, end = state[WANTED, last], state[LATEST, last], state[EARLIEST_END, last]
            row, begun, seen = state[NEXT, last], count, 0
            while row >= low:
                place = row & mask
                seen += 1
                if ring[place, KEY] == key:
                    later = max(time, ring[place, TIME])
                    if later <= min(end, ring[place, END]) and (
                        first_check == end_check or _agrees(checks, first_check, end_check, row, root_keys, i, state)
                    ):
                        if count == room or made == most:  # this row is visited again when there is room for it
                            stopped = True
                            seen -= 1
                            made += count < room
                            break
                        made += 1
                        out[last + 1, count] = row
                        latest[count] = later
                        count += 1
                row = ring[place, OLDER]
            looked[0] += seen
            _fill(out, begun, count, i, state, last)
            if stopped:
                state[NEXT, last] = row
                break
            depth = last - 1
        if not stopped:
            if made > resume[3]:
                resume[3], resume[4] = made, i
            at += 1
            depth = -1
    resume[0], resume[1], resume[2] = at, depth, made
    return count, looked[0]


@compiled()
def put_star_together(  # type: ignore[no-untyped-def]
    levels, root_keys, times, ends, rows, starts, bounds, partners, state, resume, out, latest, most
):
    """Like `put_together`, if every level is probed by a key of the root and no further keys are compared.

    Then the partners of a row do not depend on the choices on other levels, and are collected once, level by level.

    `partners` contains the row, time and end of each partner of the current row, level by level from `bounds` on. It is
    returned because it may have grown; pass it again for further results."""
    count, last, room = 0, len(levels) - 1, out.shape[1]
    looked = 0
    at, depth, made = resume[0], resume[1], resume[2]
    stopped = False
    while at < len(rows):
        i = rows[at]
        if depth < 0:
            _fetch_ahead(levels, rows, at, starts)
            time, end = times[i], ends[i]
            found = 0
            for level in range(last + 1):
                mask, low = levels[level, MASK], levels[level, LOW]
                ring = _ring(levels[level, RING], mask)
                key = root_keys[levels[level, ROOT_KEY], i]
                row = starts[level, i] if starts[level, i] >= 0 else _head(levels, level, key)
                bounds[level] = found
                while row >= low:
                    place = row & mask
                    looked += 1
                    if ring[place, KEY] == key and max(time, ring[place, TIME]) <= min(end, ring[place, END]):
                        if found == partners.shape[1]:
                            more = np.empty((3, 2 * found), np.int64)
                            more[:, :found] = partners
                            partners = more
                        partners[0, found] = row
                        partners[1, found] = ring[place, TIME]
                        partners[2, found] = ring[place, END]
                        found += 1
                    row = ring[place, OLDER]
            bounds[last + 1] = found
            state[LATEST, 0], state[EARLIEST_END, 0] = time, end
            state[NEXT, 0] = bounds[0]
            depth, made = 0, 0
        while depth >= 0:
            if depth < last:
                place = state[NEXT, depth]
                if place == bounds[depth + 1]:
                    depth -= 1
                    continue
                state[NEXT, depth] = place + 1
                later = max(state[LATEST, depth], partners[1, place])
                sooner = min(state[EARLIEST_END, depth], partners[2, place])
                if later <= sooner:
                    state[CHOSEN, depth] = partners[0, place]
                    depth += 1
                    state[LATEST, depth], state[EARLIEST_END, depth] = later, sooner
                    state[NEXT, depth] = bounds[depth]
                continue
            time, end, begun = state[LATEST, last], state[EARLIEST_END, last], count
            for place in range(state[NEXT, last], bounds[last + 1]):
                later = max(time, partners[1, place])
                if later <= min(end, partners[2, place]):
                    if count == room or made == most:  # visited again when there is room for it
                        stopped = True
                        made += count < room
                        state[NEXT, last] = place
                        break
                    made += 1
                    out[last + 1, count] = partners[0, place]
                    latest[count] = later
                    count += 1
            _fill(out, begun, count, i, state, last)
            if stopped:
                resume[0], resume[1], resume[2] = at, depth, made
                return count, looked, partners
            depth -= 1
        if made > resume[3]:
            resume[3], resume[4] = made, i
        at += 1
    resume[0], resume[1], resume[2] = at, -1, made
    return count, looked, partners


@compiled()
def compare_all(keys, times, ends, ring, low, high, resume, out, latest):  # type: ignore[no-untyped-def]
    """Compare every row with every row of a window, starting at `resume` (row, number), until `out` is full."""
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


_WORD_OF_SIZE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@compiled()
def _gather(ring, rows, out):  # type: ignore[no-untyped-def]
    mask = len(ring) - 1
    for i in range(len(rows)):
        out[i] = ring[rows[i] & mask]


def gather(ring: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of rows, each at its number modulo the ring's length, which must be a power of two.

    The same as `ring.take(rows & mask)`, in one pass over the row numbers and without a bounds check: a masked number
    is always in bounds. About half the time of NumPy.

    >>> gather(np.array([10, 11, 12, 13], np.int32), np.array([4, 7, 1]))
    array([10, 13, 11], dtype=int32)
    """
    word = _WORD_OF_SIZE.get(ring.itemsize)
    if word is None:  # decimals
        return ring.take(rows & (len(ring) - 1))
    out = np.empty(len(rows), ring.dtype)
    _gather(ring.view(word), rows, out.view(word))
    return out
