"""What is known about the rows: profiled rows of this worker and of others, and the counts of ordinary work.

Answers: a table that says for each profiled row which filters let it pass (`passes`) and how much the row weighs; and
the share of all rows that passes every filter.
How
- **Not evaluated**: if a filter was not evaluated on a row, it is assumed to pass the share that it passes at its
  current position (or passed when that was last observed). A filter that was never observed drops half, or nothing if
  it must not be profiled: it is not moved forward without evidence.
- **Weights**: ordinary work counts exactly how many rows each position drops. Profiled rows are weighted so that the
  shares of the positions agree with these counts. A few profiled rows thus represent many, and when the data moves, old
  profiled rows represent the new data until new ones are available. Rows from before the data moved weigh `OLD`
  together.
- **A hedge**: the share `LEAST_PASS` of what a filter drops is assumed to pass, and the share `LEAST_DROP` of what it
  passes is assumed to be dropped. Filters that hardly any row reaches are then put in a good order too: when the data
  moves, every row may reach them. And a cheap filter that currently drops nothing comes before an expensive one,
  because that costs almost nothing.
Cost: O(rows n) per table; a few operations per update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import Observation
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow

WINDOW = 512
"""How many profiled rows are kept: this many of the worker's own, and this many of siblings."""
OLD = 24.0
"""The weight of all rows from before the data moved together, in new rows."""
LEAST_PASS, LEAST_DROP = 0.01, 0.005
"""The hedge (see above)."""
ENOUGH = 20
"""How many rows are enough to estimate what a filter drops at its current position."""
TRUSTED = 200
"""How many rows must have been dropped before profiled rows are weighted by the counts of ordinary work."""
FACTOR = 5.0
"""The most by which the weight of a profiled row is multiplied or divided."""
MEMORY = 200_000
"""After this many rows, the counts of ordinary work are halved."""
KEPT_MEMORY = 20_000
"""After this many rows, the share of rows that pass is replaced by the new one."""
UNLIKE, LEAST = 4.0, 24
"""By how many standard errors siblings' rows may differ from the worker's own, if it has at least this many rows."""
ALWAYS_CALLED, RUNS_MEMORY = 0.95, 50.0
"""A filter that is called in a larger share of the slices shows nothing about runs; and the number of slices after
which the estimate of runs is replaced."""

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Profiled rows and their weights, from which the costs of orders are computed."""

    passes: Numbers
    weights: Numbers


class Evidence:
    """The evidence of one worker about one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        n = len(pipeline)
        self.pipeline = pipeline
        self.window = ProfileWindow(WINDOW, 2 * n)  # two bits per filter: drops the row, is known
        self.siblings = ProfileWindow(WINDOW, 2 * n)
        self.recent = self.recent_siblings = 0
        """Profiled rows since the data moved."""
        self.runs = 1.0
        """The share of a slice's rows that count as independent: below 1 if similar rows arrive together, so that a
        slice has many rows alive or none."""
        self._evaluated, self._passed = np.zeros(n), np.zeros(n)  # by ordinary work, in the order in force
        self._kept = math.nan
        # the share that each filter drops at its current position, or dropped when that was last observed
        self._rates = np.where(pipeline.profiled, 0.5, 0.0)
        self._rated = np.zeros(n)  # the number of rows for each of these shares

    @property
    def since_move(self) -> int:
        """The number of profiled rows of all workers since the data moved."""
        return self.recent + self.recent_siblings

    @property
    def kept(self) -> float:
        """The share of rows that pass every filter; below 1."""
        return 0.0 if math.isnan(self._kept) else min(self._kept, 0.999)

    def count(self, seen: Observation, order: Order) -> None:
        """Add the counts of ordinary work in this order."""
        rows = int(seen.evaluated[order[0]])
        if not rows:
            return
        self._evaluated += seen.evaluated
        self._passed += seen.passed
        if self._evaluated[order[0]] > MEMORY:
            self._evaluated *= 0.5
            self._passed *= 0.5
        kept = float(seen.passed[order[-1]]) / rows
        self._kept = kept if math.isnan(self._kept) else self._kept + min(1.0, rows / KEPT_MEMORY) * (kept - self._kept)
        if seen.calls is not None and seen.slices:
            self._count_calls(seen.calls / seen.slices, seen.evaluated / rows, seen.slices, rows / seen.slices)

    def _count_calls(self, called: Numbers, reach: Numbers, slices: int, slice_rows: float) -> None:
        """Estimate `runs` from the share of slices that call a filter. If rows were independent, it would be
        1 - exp(-reach * slice_rows); if it is smaller, similar rows arrive together."""
        sometimes = (called < ALWAYS_CALLED) & (called > 0.0)
        if sometimes.any():
            alone = -np.log1p(-called[sometimes]) / reach[sometimes]
            share = float(np.exp(np.log(np.clip(alone / slice_rows, 1e-4, 1.0)).mean()))
            self.runs *= (share / self.runs) ** min(1.0, slices / RUNS_MEMORY)

    def add(self, profile: Bits, known: Bits | None) -> None:
        """Add profiled rows of this worker."""
        self.window.insert(np.concatenate([profile, np.ones_like(profile) if known is None else known], axis=1))
        self.recent += len(profile)

    def add_siblings(self, tuples: Bits) -> None:
        """Add profiled rows of other workers."""
        self.siblings.insert(tuples)
        self.recent_siblings += len(tuples)

    def moved(self, seen: Observation) -> None:
        """Discard all counts from before this update, because the data has moved."""
        self._evaluated[:], self._passed[:] = seen.evaluated, seen.passed
        self.recent = self.recent_siblings = 0

    def switched(self) -> None:
        """Discard all counts, because the order has changed and they belong to other positions."""
        self._evaluated[:] = 0.0
        self._passed[:] = 0.0

    def forget_old(self) -> None:
        """Discard the profiled rows from before the data moved."""
        newest = self.window.newest(self.recent), self.siblings.newest(self.recent_siblings)
        self.window.clear()
        self.siblings.clear()
        self.window.insert(newest[0])
        self.siblings.insert(newest[1])

    def restore(self, text: str) -> None:
        """Continue from another worker's profiled rows."""
        self.window.restore(text)
        self.siblings.clear()
        self.recent, self.recent_siblings = len(self.window), 0

    def table(self, order: Order, *, old: bool) -> Table:
        """Return what is known now. `old`: whether rows from before the data moved are still among the others."""
        tuples, weights = self._weighed(order, old)
        n = len(self.pipeline)
        drops, known = tuples[:, :n], tuples[:, n:]
        seen = known.sum(axis=0)
        share = ((drops & known).sum(axis=0) + 0.5) / (seen + 1.0)
        fresh = self._evaluated > self._rated
        self._rates[fresh] = (self._evaluated - self._passed + 0.5)[fresh] / (self._evaluated[fresh] + 1.0)
        self._rated[fresh] = np.minimum(self._evaluated[fresh], ENOUGH)
        ordinary = (self._evaluated >= ENOUGH) | ~np.array(self.pipeline.profiled)
        share[ordinary] = self._rates[ordinary]
        passes = np.where(known, 1.0 - drops, 1.0 - share)
        return Table(LEAST_PASS + (1.0 - LEAST_PASS - LEAST_DROP) * passes, weights)

    def _weighed(self, order: Order, old: bool) -> tuple[Bits, Numbers]:
        n = len(self.pipeline)
        tuples = self.window.tuples
        weights = _by_age(len(tuples), self.recent, old)
        theirs = self.siblings.tuples
        if len(theirs) and alike(tuples, theirs):
            tuples = np.concatenate([tuples, theirs])
            weights = np.concatenate([weights, _by_age(len(theirs), self.recent_siblings, old)])
        dropped = (self._evaluated - self._passed)[list(order)]
        if len(tuples) and dropped.sum() >= TRUSTED:
            places = (tuples[:, :n] & tuples[:, n:])[:, list(order)].argmax(axis=1)
            have = np.bincount(places, weights, minlength=n)
            want = dropped / dropped.sum() * have.sum()
            weights *= np.clip(want / np.maximum(have, 1e-9), 1.0 / FACTOR, FACTOR)[places]
        return tuples, weights


def _by_age(count: int, recent: int, old: bool) -> Numbers:
    weights = np.ones(count)
    if old and count > recent:
        weights[: count - recent] = min(1.0, OLD / (count - recent))
    return weights


def alike(own: Bits, others: Bits) -> bool:
    """Return whether two sets of profiled rows may come from the same data: no filter drops a clearly larger share in
    one of them, of the rows on which it was evaluated.

    >>> known = np.ones((100, 2), bool)
    >>> some = np.tile(np.array([[0, 1], [1, 1]], bool), (50, 1))
    >>> mine = np.concatenate([some, known], axis=1)
    >>> alike(mine, mine), alike(mine, np.concatenate([~some, known], axis=1))
    (True, False)
    >>> alike(mine, np.concatenate([~some & False, ~known], axis=1))  # nothing is known of these
    True
    """
    n = own.shape[1] // 2
    mine, theirs = own[:, n:].sum(axis=0), others[:, n:].sum(axis=0)
    both = (mine >= LEAST) & (theirs > 0)
    if not both.any():
        return True
    mine, theirs = mine[both], theirs[both]
    my_drops = (own[:, :n] & own[:, n:]).sum(axis=0)[both]
    their_drops = (others[:, :n] & others[:, n:]).sum(axis=0)[both]
    share = (my_drops + their_drops) / (mine + theirs)
    variance = share * (1.0 - share) * (1.0 / mine + 1.0 / theirs)
    return bool(((my_drops / mine - their_drops / theirs) ** 2 <= UNLIKE**2 * variance + 1e-12).all())
