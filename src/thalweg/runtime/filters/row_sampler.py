"""Dropped rows on their way to a policy: sampled from slices, copied out of their batch, kept until there are enough.

A row is sampled with the probability the policy wants. While its batch is at hand, only its number is kept; before the
batch goes, or the order changes, the sampled rows are copied. They remember at which position of which order they were
dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import Wants
from thalweg.kernels import ChainRows, Pass

Bits = NDArray[np.bool_]
SPARSE = 0.02
"""A probability below which drawing a number a row costs more than drawing the gaps."""


class RowPicker:
    """Picks rows, each with the same probability, at the price of the rows picked and not of those passed over: it
    remembers how many to skip until the next is picked.

    >>> picker = RowPicker(np.random.default_rng(1))
    >>> 9_500 < sum(len(picker.pick(1000, 0.01)) for _ in range(1000)) < 10_500  # of a million; 5 standard deviations
    True
    """

    __slots__ = ("_gap", "_p", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._p, self._gap = 0.0, 0

    def pick(self, rows: int, p: float) -> NDArray[np.int64]:
        """Each of so many rows with probability p. A small p skips: the gap to the next row picked is geometric."""
        if p >= SPARSE:
            return (self.rng.random(rows) < p).nonzero()[0]
        if p != self._p:
            self._p, self._gap = p, int(self.rng.geometric(p)) - 1
        picked = []
        while self._gap < rows:
            picked.append(self._gap)
            self._gap += int(self.rng.geometric(p))
        self._gap -= rows
        return np.array(picked, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """Sampled rows, the positions that dropped them, of which order, and what is to be evaluated on them."""

    rows: ChainRows
    dropped_at: NDArray[np.int16]
    order: tuple[int, ...]
    evaluate: Bits


class RowSampler:
    """The sample of one loop. `guarding`: predicates that others come after."""

    def __init__(self, rng: np.random.Generator, guarding: Sequence[int]) -> None:
        self._rng = rng
        self._picker = RowPicker(rng)
        self._guarding = guarding
        self._numbers: list[NDArray[np.int64]] = []  # in the batch at hand
        self._places: list[NDArray[np.int16]] = []
        self._held: list[Held] = []
        self.count = 0
        """Rows that wait, copied or not."""

    def begin_batch(self) -> None:
        """Another batch is at hand. Rows that were not copied, since an error ended the one before, are gone."""
        self.count -= sum(map(len, self._numbers))
        self._numbers.clear()
        self._places.clear()

    def sample(self, done: Pass, start: int, rows: int, wants: Wants) -> None:
        """From a slice that begins at this row of its batch."""
        chosen = self._chosen(done, rows, wants)
        if len(chosen):
            self._numbers.append(start + chosen)
            self._places.append(done.dropped_at[chosen])
            self.count += len(chosen)

    def _chosen(self, done: Pass, rows: int, wants: Wants) -> NDArray[np.int64]:
        dropped = self._dropped(done) if done.unknown is not None else None
        count = rows - len(done.kept) if dropped is None else len(dropped)
        picked = self._picker.pick(count, wants.p)
        most = max(wants.most - self.count, 0)
        if len(picked) > most:
            picked = np.sort(self._rng.choice(picked, most, replace=False))
        if not len(picked):
            return picked
        return (self._dropped(done) if dropped is None else dropped)[picked]

    def _dropped(self, done: Pass) -> NDArray[np.int64]:
        """The rows that may be profiled."""
        dropped: NDArray[np.int64] = (done.dropped_at < len(done.evaluated)).nonzero()[0]
        if done.unknown is not None and self._guarding:
            # a guard that is not known to be true there would be taken for true when the row is profiled
            dropped = dropped[~done.unknown.any_of(dropped, self._guarding)]
        return dropped

    def copied(self, columns: ChainRows) -> tuple[ChainRows, NDArray[np.int16]] | None:
        """The sampled rows of the batch at hand and the positions that dropped them, for `hold`; None: there are
        none."""
        if not self._numbers:
            return None
        made = columns.take(np.concatenate(self._numbers)), np.concatenate(self._places)
        self._numbers.clear()
        self._places.clear()
        return made

    def fits(self, rows: ChainRows) -> bool:
        """Whether these can be evaluated together with those that wait: batches may hold a column differently."""
        return not self._held or self._held[0].rows.types == rows.types

    def hold(self, held: Held) -> None:
        """Keep copied rows."""
        self._held.append(held)

    @property
    def holds(self) -> bool:
        """Whether copied rows wait."""
        return bool(self._held)

    def take(self) -> list[list[Held]]:
        """The copied rows, those of one order together; they wait no longer."""
        held = self._held.copy()
        self.forget()
        return [list(alike) for _, alike in groupby(held, key=lambda part: part.order)]

    def forget(self) -> None:
        """Sampled rows are of no use any more."""
        self._held.clear()
        self._numbers.clear()
        self._places.clear()
        self.count = 0
