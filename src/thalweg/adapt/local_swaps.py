"""LocalSwaps: compare neighbors only (a-greedy, section 7).

Answers: whether swapping two adjacent filters would help.
Guarantee: the local-swaps invariant (definition 7.1) up to alpha. It can get stuck up to O(n) times above the greedy
order (example 7), because a better filter further back is never considered.
Cost: the least profiling of all policies. A row dropped at position i is evaluated by the filter at i+1 only; two
diagonals of V are kept.
Differs from the paper, where the paper says nothing: after a swap the window is emptied, because its tuples do not hold
the bits that the new neighbors need; until the window is full, a pair is judged only if it has `ENOUGH` drops; pairs
that do not touch may swap in one update.

>>> policy = LocalSwaps(Pipeline(("even", "small")), ProfileSettings(p=1.0, profile_window=50))
>>> bits = np.tile(np.array([[0, 1]], bool), (40, 1))
>>> nothing = np.zeros(2, np.int64)
>>> policy.update(Observation(nothing, nothing, nothing, np.ones(2), bits)).order
(1, 0)

Reference: Babu et al., SIGMOD 2004, section 7, definition 7.1, figure 7(c).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import (
    Observation,
    ProfileSettings,
    ProfilingRequest,
    Verdict,
    better_here,
    known_costs,
    neighbors,
    restored_order,
)
from thalweg.adapt.sweep import ENOUGH
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow

Bits = NDArray[np.bool_]


class LocalSwaps:
    """Swaps adjacent filters that are in the wrong order."""

    name: ClassVar[str] = "local-swaps"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = ProfileSettings(p=0.01, profile_window=1000, alpha=0.9)

    def __init__(
        self,
        pipeline: Pipeline,
        settings: ProfileSettings | None = None,
        rng: np.random.Generator | None = None,  # LocalSwaps draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or LocalSwaps.defaults or ProfileSettings()
        self.window = ProfileWindow(self.settings.profile_window, len(pipeline))
        self.order = pipeline.start
        self._place()

    def _place(self) -> None:
        n = len(self.pipeline)
        self.window.clear()
        # figure 7(c): diagonal[i] = V[i, i], beside[i] = V[i, i+1]
        self.diagonal: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.beside: NDArray[np.int64] = np.zeros(max(n - 1, 0), dtype=np.int64)
        self._wants = ProfilingRequest(
            self.settings.p, neighbors(self.order, self.pipeline), together=self.settings.together
        )

    def wants(self) -> ProfilingRequest:
        """Profile the filter right after the one that dropped the row."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Slide the window and swap neighbors that violate the invariant, from the front."""
        if len(self.pipeline) < 2 or not len(seen.profile):
            return None
        gone = self.window.insert(seen.profile)
        self._count(seen.profile, 1)
        if len(gone):
            self._count(gone, -1)
        costs = known_costs(seen.cost_ns)
        order = list(self.order)
        reasons: list[str] = []
        i = 0
        while i < len(order) - 1:
            current, following = order[i], order[i + 1]
            here, there = self.diagonal[i] / costs[current], self.beside[i] / costs[following]
            # deep positions never see many drops, so a full window is enough
            enough = self.diagonal[i] + self.beside[i] >= ENOUGH or len(self.window) == self.window.capacity
            if enough and here < self.settings.alpha * there and current not in self.pipeline.guards[following]:
                order[i], order[i + 1] = following, current
                drops = (float(self.beside[i]), float(self.diagonal[i]))
                reasons.append(better_here(i, self.pipeline, following, current, costs, drops))
                i += 1
            i += 1
        if not reasons:
            return None
        self.order = tuple(order)
        self._place()
        return Verdict(self.order, "; ".join(reasons))

    def _count(self, tuples: Bits, sign: int) -> None:
        bits = tuples[:, self.order]
        n = bits.shape[1]
        first = bits.argmax(axis=1)
        dropped = np.bincount(first, minlength=n)
        next_bit = bits[np.arange(len(bits)), np.minimum(first + 1, n - 1)] & (first < n - 1)
        both = np.bincount(first[next_bit], minlength=n)[: n - 1]
        self.diagonal += sign * dropped
        # V[i, i+1]: dropped by the filter at i+1 among what reaches i: after passing i, or together with i
        self.beside += sign * (dropped[1:] + both)

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.order = order
        self._place()

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the window, whose bits belong to this order."""
        return {"policy": self.name, "order": list(self.order), "window": self.window.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's window."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self._place()
        self.window.restore(snapshot["window"])
        if len(self.pipeline) > 1 and len(self.window):
            self._count(self.window.unordered, 1)
