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
PROBES = 2_048
"""How many rows look for partners at most."""
SEARCHED = 16_384
"""Among how many rows they look at most."""
MOST_PAIRS = 200_000
"""The most pairs with equal keys whose times are compared, in about 10 ms; if there are more, samples are smaller."""


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
    rows = [_some(len(loop.windows[alias]), most, rng) for alias, most in ((one, PROBES), (other, SEARCHED))]
    return count_pairs(loop.words(one, key, rows[0]), loop.words(other, key, rows[1]))


def count_pairs(one: Rows, other: Rows) -> PairCount:
    """Count the pairs of rows that join: their keys are equal, and each is in the window of the other."""
    order = np.argsort(one[0], kind="stable")
    keys, times, ends = (words[order] for words in one)
    first = np.searchsorted(keys, other[0])
    theirs = (keys[np.minimum(first, len(keys) - 1)] == other[0]).nonzero()[0]
    first = first[theirs]
    matches = np.searchsorted(keys, other[0][theirs], "right") - first
    total = int(matches.sum())
    if total > MOST_PAIRS:
        steps = [1, 1]
        while total > MOST_PAIRS * steps[0] * steps[1]:
            steps[len(one[0]) * steps[1] < len(other[0]) * steps[0]] *= 2
        return count_pairs(*((k[::n], t[::n], e[::n]) for (k, t, e), n in zip((one, other), steps, strict=True)))
    mine = np.arange(total) - np.repeat(np.cumsum(matches) - matches, matches) + np.repeat(first, matches)
    theirs = np.repeat(theirs, matches)
    joined = np.maximum(times[mine], other[1][theirs]) <= np.minimum(ends[mine], other[2][theirs])
    found = np.zeros(len(keys), np.bool_)
    found[mine[joined]] = True
    return PairCount(len(keys) * len(other[0]), int(np.count_nonzero(joined)), len(keys), int(np.count_nonzero(found)))


def _some(rows: int, most: int, rng: np.random.Generator) -> Words:
    """Return the places of rows in a window: all, or as many as there may be, at random. Their order is random too, so
    that every second one is also a random sample."""
    return rng.permutation(rows) if rows <= most else rng.integers(0, rows, most)
