"""What was seen of the rows: profiled ones, one's own and those of other workers, and what ordinary work showed.

Answers: a table that says of each profiled row which filters let it pass (`passes`), how much each row weighs, and
which share of all rows passes every filter.
How
- **Where nobody looked**, a filter is taken to let pass what it lets pass where it stands (or stood when that was last
  seen); a filter that was never seen drops half, or nothing if it may not be profiled: it is not moved forward on no
  evidence.
- **Weights**: ordinary work counts exactly how many rows each position drops; profiled rows of a position weigh so much
  that their shares agree with it. This makes a few profiled rows speak for many, and when the data moves, the old ones
  speak for the new data until new ones are there. Rows from before the data moved weigh `OLD` in all.
- **A hedge**: of what a filter drops, the share `LEAST_PASS` is taken to get past it, and of what it lets pass, the
  share `LEAST_DROP` to be dropped. Filters that hardly any row gets to are then put in a good order too, by what is
  known of them: when the data moves, every row may get there. And a cheap filter that drops nothing now stands before
  an expensive one, since that costs next to nothing.
Cost: O(rows n) per table; a few operations per update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import Seen
from thalweg.plan.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow

WINDOW = 512
"""Profiled rows that are kept, of one's own and of siblings each."""
OLD = 24.0
"""What all rows from before the data moved weigh together: as much as so many new ones."""
LEAST_PASS, LEAST_DROP = 0.01, 0.005
"""The hedge."""
ENOUGH = 20
"""Rows that show what a filter drops where it stands."""
TRUSTED = 200
"""Dropped rows after which the shares of ordinary work weigh the profiled ones."""
FACTOR = 5.0
"""By which a profiled row weighs at most more, or less, than another."""
MEMORY = 200_000
"""Rows after which what ordinary work showed counts half."""
KEPT_MEMORY = 20_000
"""Rows after which the share of rows that pass is a new one."""
UNLIKE, LEAST = 4.0, 24
"""Standard errors by which siblings' rows may differ from one's own, once there are so many of these."""
ALWAYS_CALLED, RUNS_MEMORY = 0.95, 50.0
"""A filter that is called in a larger share of the slices says nothing about runs; slices after which all is new."""

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Profiled rows, ready to be put through orders."""

    passes: Numbers
    weights: Numbers


class Evidence:
    """Of one worker, for one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        n = len(pipeline)
        self.pipeline = pipeline
        self.window = ProfileWindow(WINDOW, 2 * n)  # two bits a filter: drops the row, is known
        self.siblings = ProfileWindow(WINDOW, 2 * n)
        self.recent = self.recent_siblings = 0
        """Profiled rows since the data moved."""
        self.runs = 1.0
        """The share of a slice's rows that count as independent: less than 1 where rows that are alike come together,
        so that a slice has many rows alive or none."""
        self._evaluated, self._passed = np.zeros(n), np.zeros(n)  # by ordinary work, in the order in force
        self._kept = math.nan
        # what each drops where it stands, or stood when that was last seen...
        self._rates = np.where(pipeline.profiled, 0.5, 0.0)
        self._rated = np.zeros(n)  # ...on so many rows

    @property
    def since_move(self) -> int:
        """Profiled rows since the data moved, of all workers."""
        return self.recent + self.recent_siblings

    @property
    def kept(self) -> float:
        """The share of rows that pass every filter; below 1."""
        return 0.0 if math.isnan(self._kept) else min(self._kept, 0.999)

    def count(self, seen: Seen, order: Order) -> None:
        """Take what ordinary work showed, in this order."""
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
        """If rows were independent, 1 - exp(-reach * slice_rows) of the slices would call a filter; where fewer do,
        rows that are alike come together."""
        telling = (called < ALWAYS_CALLED) & (called > 0.0)
        if telling.any():
            alone = -np.log1p(-called[telling]) / reach[telling]
            share = float(np.exp(np.log(np.clip(alone / slice_rows, 1e-4, 1.0)).mean()))
            self.runs *= (share / self.runs) ** min(1.0, slices / RUNS_MEMORY)

    def add(self, profile: Bits, known: Bits | None) -> None:
        """Take profiled rows of one's own."""
        self.window.insert(np.concatenate([profile, np.ones_like(profile) if known is None else known], axis=1))
        self.recent += len(profile)

    def add_siblings(self, tuples: Bits) -> None:
        """Take profiled rows of other workers."""
        self.siblings.insert(tuples)
        self.recent_siblings += len(tuples)

    def moved(self, seen: Seen) -> None:
        """The data has moved: what was counted until now is of other data, all but what this update brings."""
        self._evaluated[:], self._passed[:] = seen.evaluated, seen.passed
        self.recent = self.recent_siblings = 0

    def switched(self) -> None:
        """Another order: what was counted is of other positions."""
        self._evaluated[:] = 0.0
        self._passed[:] = 0.0

    def forget_old(self) -> None:
        """Profiled rows from before the data moved are of no use any more."""
        newest = self.window.newest(self.recent), self.siblings.newest(self.recent_siblings)
        self.window.clear()
        self.siblings.clear()
        self.window.insert(newest[0])
        self.siblings.insert(newest[1])

    def restore(self, text: str) -> None:
        """Go on from another worker's profiled rows."""
        self.window.restore(text)
        self.siblings.clear()
        self.recent, self.recent_siblings = len(self.window), 0

    def table(self, order: Order, *, old: bool) -> Table:
        """What is known now. `old`: rows from before the data moved are still among the others."""
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
    """Whether two sets of profiled rows may come from the same data: no filter drops clearly more in one of them, of
    the rows on which it was evaluated.

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
