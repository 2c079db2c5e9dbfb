"""What is joined on Spark: endless streams, drawn micro-batch by micro-batch from a seed.

A batch is 10 seconds of event time, and no window is longer: the state has its steady size after two batches. Batches
are cut at the same times in every stream, so nothing is late, neither for us nor for Spark.

- `three-way`: one key for all, the square root of three rows per key and window: three results per input row. The
  window grows with the batch in rows, not in time. The same stream read in longer batches would be worse for Spark,
  which finds all rows of a key in its state and looks at their times afterwards.
- `star`: five streams with one key, in which every key comes once in 10 seconds, and windows of 9, 7, 4, 2 and 1
  seconds: that share of all rows finds a partner there.
- `chain`: a.k = b.k, b.m = c.m, c.n = d.n, each with as many keys as rows in a window: one result per input row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SEED = 20040613
BATCH_US = 10_000_000
BEGIN_US = 1_700_000_000_000_000
"""Some day in 2023: Spark's watermark of 1970 would be older than the first rows by no more than a window."""
SHARES = {"a": 0.9, "b": 0.7, "c": 0.4, "d": 0.2, "e": 0.1}

Draw = Callable[[np.random.Generator, int], NDArray[np.int64]]
Tree = str | tuple["Tree", "Tree"]


@dataclass(frozen=True)
class StreamScenario:
    """Rows have an id that counts, a time, and the keys in `draws`."""

    name: str
    rows: int
    """Of each stream in each batch."""
    draws: Mapping[str, Mapping[str, Draw]]
    """By stream and key column: the values of a batch, from a generator of that stream and batch and its number."""
    classes: tuple[tuple[str, ...], ...]
    """Columns that must be equal, as `a.k`."""
    windows_us: Mapping[str, int]
    tree: Tree
    """The best order for Spark's joins: that with the least state."""
    keeps: Mapping[frozenset[str], str]
    """By the streams of an inner node of the tree: whose time Spark follows from there on."""
    even: bool = False
    """Whether times are evenly spaced, or drawn."""
    seed: int = SEED
    about: str = ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The aliases of the streams."""
        return tuple(self.draws)

    @property
    def batch_rows(self) -> int:
        """The rows per batch, of all streams."""
        return self.rows * len(self.draws)

    @property
    def on(self) -> str:
        """The conditions as `tw.join` takes them."""
        return " AND ".join(f"{left} = {right}" for members in self.classes for left, right in pairwise(members))

    @property
    def window(self) -> dict[str, str]:
        """The windows as `tw.join` takes them."""
        return {alias: f"{length} microseconds" for alias, length in self.windows_us.items()}

    def columns(self) -> Iterator[str]:
        """Of a result: what Spark's joins must give too."""
        for alias, keys in self.draws.items():
            yield from (f"{alias}_{name}" for name in ("id", "ts", *keys))
        yield "event_time"

    def table(self, alias: str, batch: int) -> pa.Table:
        """The rows of one stream and batch."""
        rng = np.random.default_rng([self.seed, self.aliases.index(alias), batch])
        at = np.arange(self.rows)
        ticks = at * BATCH_US // self.rows if self.even else np.sort(rng.integers(0, BATCH_US, self.rows))
        times = pa.array(BEGIN_US + batch * BATCH_US + ticks).cast(pa.timestamp("us", "UTC"))
        keys = {name: draw(rng, self.rows) for name, draw in self.draws[alias].items()}
        return pa.table({"id": at + batch * self.rows, "ts": times, **keys})


def three_way(rows: int, name: str = "three-way", seed: int = SEED) -> StreamScenario:
    """Three results per input row: a row has that many pairs of partners not older than it."""
    keys = max(round(rows / sqrt(3)), 1)
    return StreamScenario(
        name,
        rows,
        {alias: {"k": uniform(keys)} for alias in "abc"},
        (("a.k", "b.k", "c.k"),),
        dict.fromkeys("abc", BATCH_US),
        (("a", "b"), "c"),
        {frozenset("ab"): "a"},
        seed=seed,
        about=f"{keys:,} keys, {rows:,} rows a window",
    )


def star(rows: int, name: str = "star", seed: int = SEED) -> StreamScenario:
    """The shortest windows first: fewest rows find a partner there. The times of the shortest go on: they end first."""
    order = sorted(SHARES, key=SHARES.__getitem__)
    tree: Tree = order[0]
    for alias in order[1:]:
        tree = (tree, alias)
    return StreamScenario(
        name,
        rows,
        {alias: {"k": cycle(n, seed)} for n, alias in enumerate(SHARES)},
        (tuple(f"{alias}.k" for alias in SHARES),),
        {alias: round(BATCH_US * share) for alias, share in SHARES.items()},
        tree,
        {frozenset(order[:n]): order[0] for n in range(2, len(order))},
        even=True,
        seed=seed,
        about=f"{rows:,} keys, each once in 10 seconds; windows of "
        + ", ".join(f"{10 * s:g} s" for s in SHARES.values()),
    )


def chain(rows: int, name: str = "chain", seed: int = SEED) -> StreamScenario:
    """Pairs with pairs: three in a row, joined with the fourth, would keep half as much again."""
    keys = uniform(max(rows, 1))
    return StreamScenario(
        name,
        rows,
        {"a": {"k": keys}, "b": {"k": keys, "m": keys}, "c": {"m": keys, "n": keys}, "d": {"n": keys}},
        (("a.k", "b.k"), ("b.m", "c.m"), ("c.n", "d.n")),
        dict.fromkeys("abcd", BATCH_US),
        (("a", "b"), ("c", "d")),
        {frozenset("ab"): "b", frozenset("cd"): "c"},
        seed=seed,
        about=f"{rows:,} keys and rows a window",
    )


def leaves(tree: Tree) -> list[str]:
    """The streams of a tree, from left to right.

    >>> leaves((("a", "b"), "c"))
    ['a', 'b', 'c']
    """
    return [tree] if isinstance(tree, str) else [leaf for side in tree for leaf in leaves(side)]


def uniform(keys: int) -> Draw:
    """Every key as likely as any other."""
    return lambda rng, rows: rng.integers(0, keys, rows)


def cycle(stream: int, seed: int) -> Draw:
    """Every key once per batch, in an order that is the stream's own and stays."""
    return lambda rng, rows: np.random.default_rng([seed, stream]).permutation(rows).astype(np.int64)
