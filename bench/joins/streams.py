"""What is joined: streams with a key, a time and an id, fixed before anything is timed.

`three-way`: 300,000 rows per stream, keys uniform in 20,000, windows of 10 seconds with 30,000 rows. With all three
rows within 10 seconds of each other, as our windows require, it has 1.89 million results; the 2.47 million that a first
kernel was measured with would fit a condition that lets b and c be 20 seconds apart. `three-way-dense` has windows of
34,500 rows, and so as many results as that. `uneven` has two streams with many pairs between them and a third that
matches few, so that the order of a tree matters. `star` is section 9 of a-greedy,
made of joins. `window` and `streams` have one result per row on average, for any window and any number of streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.scenarios import DRIFT_SELECTIVITIES, groups

BATCH_ROWS = 10_000
STAR_BATCH_ROWS = 1_000
"""The rows of a batch of `star`, a tenth of its windows: a batch as long as a window would find it half empty."""
SEED = 20040613
ALIASES = "abcdefghij"
KEYS = 20_000
EVEN = 0.5
"""The selectivity of the ninth filter of the star, which has no other in its group."""


@dataclass(frozen=True)
class JoinScenario:
    """A scenario. Every table has columns `id` and `ts` and those of `on`. Times are whole numbers, or microseconds."""

    name: str
    tables: Mapping[str, pa.Table]
    on: str
    """Equalities, the first stream on the left of each."""
    window: int
    batch_rows: int = BATCH_ROWS
    filling: int = 0
    """Rows of each stream that come before the clock starts: until windows are full."""
    about: str = ""

    @property
    def rows(self) -> int:
        """The number of timed rows of all streams."""
        return sum(table.num_rows - self.filling for table in self.tables.values())

    @property
    def length(self) -> int | str:
        """The window as `tw.join` takes it."""
        whole = pa.types.is_integer(self.tables["a"].schema.field("ts").type)
        return self.window if whole else f"{self.window} microseconds"

    @cached_property
    def batches(self) -> dict[str, list[pa.RecordBatch]]:
        """Return the batches as they are read."""
        return {a: t.combine_chunks().to_batches(max_chunksize=self.batch_rows) for a, t in self.tables.items()}


def three_way(rows: int, *, text: bool = False, dense: bool = False) -> JoinScenario:
    """`rows` of each of three streams, a tenth of them a window."""
    window = rows * 345 // 3_000 if dense else rows // 10
    keys = max(KEYS * rows // 300_000, 1)
    tables = {a: _timed(_rng(n), rows, keys, window, text=text) for n, a in enumerate("abc")}
    name = "three-way" + ("-dense" if dense else "") + ("-text" if text else "")
    about = f"{keys:,} keys{' of text' if text else ''}, {window:,} rows in each window"
    return JoinScenario(name, tables, "a.k = b.k AND a.k = c.k", 10_000_000, about=about)


def uneven(rows: int) -> JoinScenario:
    """a and b have many pairs, c has few with either."""
    window, keys = rows // 10, max(KEYS * rows // 300_000, 10)
    few = keys // 5
    tables = {a: _timed(_rng(n), rows, few, window, text=False) for n, a in enumerate("ab")}
    tables["c"] = _timed(_rng(2), rows, 10 * keys, window, text=False)
    about = f"a and b of {few:,} keys, c of {10 * keys:,}; {window:,} rows in each window"
    return JoinScenario("uneven", tables, "a.k = b.k AND a.k = c.k", 10_000_000, about=about)


def of_window(window: int, rows: int) -> JoinScenario:
    """Three streams, as many keys as rows in a window: one partner in each on average. `rows` of each are timed."""
    return replace(of_streams(3, rows, window), name=f"window-{window}")


def of_streams(count: int, rows: int, window: int = 10_000) -> JoinScenario:
    """The same with a given number of streams. Windows are full after whole batches."""
    filling = -(-window // BATCH_ROWS) * BATCH_ROWS
    tables = {a: _ticking(_rng(n), filling + rows, window) for n, a in enumerate(ALIASES[:count])}
    on = " AND ".join(f"a.k = {a}.k" for a in ALIASES[1:count])
    about = f"{window:,} keys and rows in each window"
    return JoinScenario(f"streams-{count}", tables, on, window - 1, filling=filling, about=about)


def star(rows: int, window: int = 10_000) -> JoinScenario:
    """Ten streams: a row of a has a key for each of the others, in whose window every key occurs once. Which of them
    match is drawn as the filters of a-greedy, section 9: groups of two that agree on 80 % of the rows."""
    rng = _rng(0)
    matches = np.concatenate(
        [groups(rng, rows, sorted(DRIFT_SELECTIVITIES, reverse=True)), rng.random((rows, 1)) < EVEN], axis=1
    )
    others = ALIASES[1:]
    at = np.arange(rows)
    keys = rng.integers(0, window, matches.shape)
    hub = {f"k{a}": pa.array(np.where(matches[:, n], keys[:, n], -1)) for n, a in enumerate(others)}
    tables = {"a": pa.table({"id": at, "ts": at, **hub})}
    for n, a in enumerate(others):
        cycle = _rng(n + 1).permutation(window)
        tables[a] = pa.table({"id": at, "ts": at, f"k{a}": cycle[at % window]})
    on = " AND ".join(f"a.k{a} = {a}.k{a}" for a in others)
    return JoinScenario("star", tables, on, window - 1, STAR_BATCH_ROWS, about=f"{window:,} rows in each window")


def _rng(stream: int) -> np.random.Generator:
    return np.random.default_rng([SEED, stream])


def _timed(rng: np.random.Generator, rows: int, keys: int, window: int, *, text: bool) -> pa.Table:
    """Times drawn evenly, so that 10 seconds have `window` rows on average."""
    times = np.sort(rng.integers(0, 10_000_000 * rows // window, rows))
    words = rng.integers(0, keys, rows)
    column = pa.array([f"key-{word:08d}" for word in words]) if text else pa.array(words)
    return pa.table({"id": np.arange(rows), "ts": pa.array(times).cast(pa.timestamp("us")), "k": column})


def _ticking(rng: np.random.Generator, rows: int, keys: int) -> pa.Table:
    """Return the times of one row per tick."""
    at: NDArray[np.int64] = np.arange(rows)
    return pa.table({"id": at, "ts": at, "k": rng.integers(0, keys, rows)})
