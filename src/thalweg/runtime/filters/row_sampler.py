"""The sample of dropped rows for a policy: drawn from slices, copied out of their batch, kept until there are enough.

A row is sampled with the probability the policy requests. While its batch is being processed, only the row number is
kept. The sampled rows are copied before the batch is released or the order changes, together with the order and the
position at which they were dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import ProfilingRequest
from thalweg.kernels import ChainRows, SliceResult

Bits = NDArray[np.bool_]
Places = NDArray[np.integer[Any]]
SPARSE = 0.02
"""The probability below which drawing one number per row costs more than drawing the gaps."""


class RowPicker:
    """Picks rows, each with the same probability. For small probabilities the cost is that of the rows picked, not of
    those skipped: the picker stores how many rows to skip until the next pick.

    >>> picker = RowPicker(np.random.default_rng(1))
    >>> 9_500 < sum(len(picker.pick(1000, 0.01)) for _ in range(1000)) < 10_500  # of a million; 5 standard deviations
    True
    """

    __slots__ = ("_gap", "_p", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._p, self._gap = 0.0, 0

    def pick(self, rows: int, p: float) -> NDArray[np.int64]:
        """Pick each of `rows` rows with probability p. If p is small, the gap to the next row picked is drawn from a
        geometric distribution."""
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
class SampledRows:
    """Sampled rows, the positions and the order in which they were dropped, and the predicates to evaluate on them."""

    rows: ChainRows
    dropped_at: NDArray[np.int16]
    order: tuple[int, ...]
    evaluate: Bits
    place: Places | None = None
    """By row and predicate its position on the way of the row; None if all rows took `order`."""


class RowSampler:
    """The sample of one loop. `guarding`: the predicates that guard others."""

    def __init__(self, rng: np.random.Generator, guarding: Sequence[int]) -> None:
        self._rng = rng
        self._picker = RowPicker(rng)
        self._guarding = guarding
        self._numbers: list[NDArray[np.int64]] = []  # in the current batch
        self._places: list[NDArray[np.int16]] = []
        self._ways: list[Places] = []
        self._held: list[SampledRows] = []
        self.count = 0
        """The number of waiting rows, copied or not."""

    def begin_batch(self) -> None:
        """Start a new batch. Rows that were not copied because an error ended the previous batch are discarded."""
        self.count -= sum(map(len, self._numbers))
        self._clear()

    def _clear(self) -> None:
        for each in (self._numbers, self._places, self._ways):
            each.clear()

    def sample(self, done: SliceResult, start: int, rows: int, wants: ProfilingRequest) -> None:
        """Sample rows from a slice that begins at row `start` of its batch."""
        chosen = self._chosen(done, rows, wants)
        if len(chosen):
            self._numbers.append(start + chosen)
            self._places.append(done.dropped_at[chosen])
            if done.routed is not None:
                self._ways.append(done.routed.places(chosen))
            self.count += len(chosen)

    def _chosen(self, done: SliceResult, rows: int, wants: ProfilingRequest) -> NDArray[np.int64]:
        dropped = self._dropped(done) if done.unknown is not None else None
        count = rows - len(done.kept) if dropped is None else len(dropped)
        picked = self._picker.pick(count, wants.p)
        most = max(wants.most - self.count, 0)
        if len(picked) > most:
            picked = np.sort(self._rng.choice(picked, most, replace=False))
        if not len(picked):
            return picked
        return (self._dropped(done) if dropped is None else dropped)[picked]

    def _dropped(self, done: SliceResult) -> NDArray[np.int64]:
        """Return the dropped rows that may be profiled."""
        dropped: NDArray[np.int64] = (done.dropped_at < len(done.evaluated)).nonzero()[0]
        if done.unknown is not None and self._guarding:
            # profiling assumes that guards are true on a row; rows with an unknown guard are left out
            dropped = dropped[~done.unknown.any_of(dropped, self._guarding)]
        return dropped

    def copied(self, columns: ChainRows) -> tuple[ChainRows, NDArray[np.int16], Places | None] | None:
        """Return copies of the sampled rows of the current batch, the positions that dropped them, and the positions of
        all predicates if rows took several routes, for `hold`; None if there are none."""
        if not self._numbers:
            return None
        ways = np.concatenate(self._ways) if self._ways else None
        made = columns.take(np.concatenate(self._numbers)), np.concatenate(self._places), ways
        self._clear()
        return made

    def fits(self, rows: ChainRows) -> bool:
        """Whether these rows can be evaluated with the waiting ones. Column types may differ between batches."""
        return not self._held or self._held[0].rows.types == rows.types

    def hold(self, held: SampledRows) -> None:
        """Keep copied rows until they are profiled."""
        self._held.append(held)

    @property
    def holds(self) -> bool:
        """Whether copied rows are waiting."""
        return bool(self._held)

    def take(self) -> list[list[SampledRows]]:
        """Return the copied rows, grouped by order, and remove them from the sample."""
        held = self._held.copy()
        self.forget()
        return [list(alike) for _, alike in groupby(held, key=lambda part: (part.order, part.place is None))]

    def forget(self) -> None:
        """Discard all sampled rows."""
        self._held.clear()
        self._clear()
        self.count = 0
