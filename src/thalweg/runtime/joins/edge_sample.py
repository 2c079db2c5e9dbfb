"""Counts the partners that rows of one window have in another, for a sample of rows.

Answers: for two windows of a join, how many pairs of sampled rows join, of how many.
Guarantee: the share of pairs is unbiased. Both samples are drawn at random from the rows that the windows hold, so the
counts do not depend on the plan of the join or on which rows were probed before.
Cost: O((rows + partners) log rows) of the samples, whose sizes are bounded. No Python code runs per row.

>>> keys = np.arange(6)
>>> zero, ten = np.zeros(6, np.int64), np.full(6, 10)
>>> count_pairs((keys % 2, zero, ten), (keys % 3, zero, ten))
PairCount(pairs=36, joined=12, probes=6, partnered=6)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.runtime.joins.join_protocol import WindowedJoin

Words = NDArray[np.int64]
Rows = tuple[Words, Words, Words]
"""The keys, times and ends of rows."""
PROBES = 1024
"""How many rows look for partners."""
SEARCHED = 32_768
"""Among how many rows they look."""
MOST_PAIRS = 2_000_000
"""The most pairs with equal keys whose times are compared; if there are more, fewer rows look for partners."""


@dataclass(frozen=True, slots=True)
class PairCount:
    """The result of one count."""

    pairs: int
    """The number of pairs of a sampled row of one window and one of the other."""
    joined: int
    """How many of these join."""
    probes: int
    """How many rows looked for partners."""
    partnered: int
    """How many of these found one."""


def sample_pair(loop: WindowedJoin, one: str, other: str, rng: np.random.Generator) -> PairCount:
    """Count partners of sampled rows of one window in the other. Both windows must have rows."""
    key = loop.binding.plan.graph.shared(one, other)
    sizes = len(loop.windows[one]), len(loop.windows[other])
    few, many = (rng.integers(0, size, most) for size, most in zip(sizes, (PROBES, SEARCHED), strict=True))
    if sizes[0] <= PROBES:
        few = np.arange(sizes[0])
    if sizes[1] <= SEARCHED:
        many = np.arange(sizes[1])
    return count_pairs(loop.words(one, key, few), loop.words(other, key, many))


def count_pairs(one: Rows, other: Rows) -> PairCount:
    """Count the pairs of rows that join: their keys are equal, and each is in the window of the other."""
    keys, times, ends = one
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first, last = np.searchsorted(keys, other[0], "left"), np.searchsorted(keys, other[0], "right")
    matches = last - first
    total = int(matches.sum())
    if total > MOST_PAIRS:
        half = len(keys) // 2
        return count_pairs((one[0][:half], times[:half], ends[:half]), other)
    theirs = np.repeat(np.arange(len(other[0])), matches)
    places = np.arange(total) - np.repeat(np.cumsum(matches) - matches, matches) + np.repeat(first, matches)
    mine = order[places]
    joined = np.maximum(times[mine], other[1][theirs]) <= np.minimum(ends[mine], other[2][theirs])
    found = np.unique(mine[joined])
    return PairCount(len(keys) * len(other[0]), int(np.count_nonzero(joined)), len(keys), len(found))
