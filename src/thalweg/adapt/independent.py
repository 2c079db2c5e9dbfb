"""Independent: order by drops per unit of time, as if filters did not depend on each other (a-greedy, section 6).

Answers: the order that is best for independent filters, immediately after a change.
Guarantee: the independent invariant (definition 6.1) up to alpha for the window's statistics. Optimal if filters are
independent; up to O(n) times worse than A-Greedy if they are not (example 6).
Cost: profiles like A-Greedy, at half its probability; only the first row of V is kept.
Differs from the paper: section 6 names the invariant and calls the algorithm a variation of A-Greedy, so violations are
detected as in figure 4 (with alpha, equation 4) and corrected as in figure 5, both with the first row of V at every
position. Only positions from the violated one to the last one that a correction reaches change; as in figure 5 the best
filter is taken there without alpha, and of equal filters the first in the current order. Otherwise it works like
A-Greedy: the invariant is checked once per batch of profile tuples, costs come from `CallCost`, and guards and
permissions to profile are respected.

>>> policy = Independent(Pipeline(("even", "small")), ProfileSettings(p=1.0, profile_window=10))
>>> nothing = np.zeros(2, np.int64)
>>> bits = np.array([[0, 1], [1, 1]], bool)
>>> policy.update(Observation(nothing, nothing, nothing, np.ones(2), bits)).reason
'at position 1, small (1 ns per row) drops 2.0 times as many rows per unit of time as even (1 ns per row)'

Reference: Babu et al., SIGMOD 2004, section 6, definition 6.1, figure 7(b).
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
    everything,
    known_costs,
    restored_order,
)
from thalweg.plan.filters.pipeline import Pipeline, eligible_from
from thalweg.stats.profile_window import ProfileWindow


class Independent:
    """Sorts filters by their unconditional drops per unit of time."""

    name: ClassVar[str] = "independent"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = ProfileSettings(p=0.005, profile_window=1000, alpha=0.9)

    def __init__(
        self,
        pipeline: Pipeline,
        settings: ProfileSettings | None = None,
        rng: np.random.Generator | None = None,  # Independent draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or Independent.defaults or ProfileSettings()
        self.window = ProfileWindow(self.settings.profile_window, len(pipeline))
        self.drops: NDArray[np.int64] = np.zeros(len(pipeline), dtype=np.int64)  # the first row of V, by filter
        self.order = pipeline.start
        self._place()

    def _place(self) -> None:
        n = len(self.pipeline)
        self._wants = ProfilingRequest(
            self.settings.p, everything(self.order, self.pipeline), together=self.settings.together
        )
        # pair (i, j) is comparable when the filter at position j could be at position i
        ahead = np.triu(np.ones((n, n), dtype=bool), 1)
        self._comparable = ahead & (eligible_from(self.order, self.pipeline.guards)[None, :] <= np.arange(n)[:, None])

    def wants(self) -> ProfilingRequest:
        """Profile every filter after the one that dropped the row, as A-Greedy does."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Slide the window and correct every violation of definition 6.1 with alpha."""
        if len(seen.profile):
            gone = self.window.insert(seen.profile)
            self.drops += seen.profile.sum(axis=0) - gone.sum(axis=0)
        costs = known_costs(seen.cost_ns)
        rate = self.drops / costs
        before = self.order
        reason = ""
        last = -1
        while (found := self._violation(rate)) is not None:
            i, j = found
            assert i > last, "a correction leaves no violation at or before the position it was made for"
            last = i
            current, better = self.order[i], self.order[j]
            drops = (float(self.drops[better]), float(self.drops[current]))
            reason = reason or better_here(i, self.pipeline, better, current, costs, drops)
            self._correct(i, rate)
            self._place()
        return Verdict(self.order, reason) if self.order != before else None

    def _violation(self, rate: NDArray[np.float64]) -> tuple[int, int] | None:
        """Return the first position that violates the invariant, and the current position of the best filter for it
        (figure 4 with the first row of V)."""
        by_place = rate[list(self.order)]
        better = (by_place[:, None] < self.settings.alpha * by_place[None, :]) & self._comparable
        rows = np.flatnonzero(better.any(axis=1))
        if not len(rows):
            return None
        i = int(rows[0])
        return i, int(np.argmax(np.where(better[i], by_place, -1.0)))

    def _correct(self, i: int, rate: NDArray[np.float64]) -> None:
        """From position i on, take the best eligible filter, as far as the changes reach (figure 5 with the first row
        of V)."""
        order, guards = list(self.order), self.pipeline.guards
        r = last = i
        while r <= last:
            placed = set(order[:r])
            eligible = [c for c in range(r, len(order)) if all(g in placed for g in guards[order[c]])]
            best = max(eligible, key=lambda c: rate[order[c]])  # the first of equal ones, so that the order stays
            last = max(last, best)
            order[r], order[best] = order[best], order[r]
            r += 1
        self.order = tuple(order)

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.order = order
        self._place()

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the window."""
        return {"policy": self.name, "order": list(self.order), "window": self.window.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's window."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.window.restore(snapshot["window"])
        self.drops = self.window.unordered.sum(axis=0)
        self._place()
