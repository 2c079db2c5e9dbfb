"""A-Greedy: keep the greedy invariant, correlations included (a-greedy, section 4).

Answers: in which order to run the filters, at any time, from a window of profile tuples.
Guarantee: after every update the order satisfies the greedy invariant for the window's statistics up to alpha
(equation 4). If stream and filters are stable, its cost is at most 4/alpha times that of the best order (theorem 4.1).
Cost: a profiled row is evaluated by every filter after the one that dropped it. An update costs O(n^2) per tuple, a
violation at position i one to n-i scans of the window.
Differs from the paper:
- The invariant is checked once per batch of profile tuples, not once per tuple. Sampled rows wait until a few dozen
  have been collected (`filter_loop`); then the invariant is checked at all positions. If the order changes while rows
  wait, these rows are discarded without being profiled, because they were dropped at positions of the previous order.
- The cost of a row comes from `CallCost`. A filter that has not been called yet counts as the mean of the others.
- A filter with guards is compared only at positions after them, so a filter that drops many rows waits for a guard that
  drops none (the bound is for chains without guards).
- A filter that must not be profiled counts as dropping only what it was observed to drop, so it moves forward only if
  the gain is certain.

>>> policy = AGreedy(Pipeline(("even", "small")), ProfileSettings(p=1.0, profile_window=10))
>>> seen = np.array([[0, 1], [0, 1], [1, 1]], bool)  # `small` drops all three, `even` one
>>> nothing = np.zeros(2, np.int64)
>>> verdict = policy.update(Observation(nothing, nothing, nothing, np.ones(2), seen))
>>> verdict.order
(1, 0)
>>> verdict.reason
'at position 1, small (1 ns per row) drops 3.0 times as many rows per unit of time as even (1 ns per row)'

Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004,
section 4, figures 3 to 5, equations 2 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.matrix_view import MatrixView
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


class AGreedy:
    """A-Greedy, the core algorithm of the paper."""

    name: ClassVar[str] = "a-greedy"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = ProfileSettings(p=0.01, profile_window=1000, alpha=0.9)

    def __init__(
        self,
        pipeline: Pipeline,
        settings: ProfileSettings | None = None,
        rng: np.random.Generator | None = None,  # A-Greedy draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or AGreedy.defaults or ProfileSettings()
        self.window = ProfileWindow(self.settings.profile_window, len(pipeline))
        self.view = MatrixView(pipeline.start)
        self._place()

    @property
    def order(self) -> tuple[int, ...]:
        """The order in force."""
        return tuple(self.view.order)

    def _place(self) -> None:
        """Set what depends on the order alone: what to profile, and which positions each filter may have."""
        n = len(self.pipeline)
        order = self.view.order
        self._wants = ProfilingRequest(
            self.settings.p, everything(order, self.pipeline), together=self.settings.together
        )
        self._eligible = eligible_from(order, self.pipeline.guards)[None, :] <= np.arange(n)[:, None]

    def wants(self) -> ProfilingRequest:
        """Profile every filter after the one that dropped the row (section 4.1.1)."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Slide the window, update V and correct every violation of equation 4."""
        if len(seen.profile):
            gone = self.window.insert(seen.profile)
            self.view.add(seen.profile)
            if len(gone):
                self.view.subtract(gone)
        costs = known_costs(seen.cost_ns)
        before = self.order
        reason = ""
        last = -1
        while (found := self._violation(costs)) is not None:
            i, j = found
            assert i > last, "a correction leaves no violation at or before the position it was made for"
            last = i
            drops = (float(self.view.V[i, j]), float(self.view.V[i, i]))
            current, better = self.view.order[i], self.view.order[j]
            reason = reason or better_here(i, self.pipeline, better, current, costs, drops)
            self._correct(i, costs)
            self._place()
        return Verdict(self.order, reason) if self.order != before else None

    def _violation(self, costs: NDArray[np.float64]) -> tuple[int, int] | None:
        """Return the first position that violates equation 4, and the filter that should be there (figure 4)."""
        rate = self.view.V / costs[self.view.order]
        better = (rate.diagonal()[:, None] < self.settings.alpha * rate) & self._eligible
        rows = np.flatnonzero(better.any(axis=1))
        if not len(rows):
            return None
        i = int(rows[0])
        return i, int(np.argmax(np.where(better[i], rate[i], -1.0)))

    def _correct(self, i: int, costs: NDArray[np.float64]) -> None:
        """From position i on, take the best eligible filter, as far as the changes reach (figure 5)."""
        order, V, guards = self.view.order, self.view.V, self.pipeline.guards
        tuples = self.window.unordered
        for k in order[:i]:
            tuples = tuples[~tuples[:, k]]
        r = last = i
        while r <= last:
            V[r, r:] = tuples[:, order[r:]].sum(axis=0)
            placed = set(order[:r])
            best = -1
            for c in range(r, len(order)):
                if all(g in placed for g in guards[order[c]]) and (
                    best < 0 or V[r, c] / costs[order[c]] > V[r, best] / costs[order[best]]
                ):
                    best = c
            last = max(last, best)
            if best != r:
                order[r], order[best] = order[best], order[r]
                V[: r + 1, [r, best]] = V[: r + 1, [best, r]]
            tuples = tuples[~tuples[:, order[r]]]
            r += 1

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.view = MatrixView(order)
        self._place()

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the window; V follows from them."""
        return {"policy": self.name, "order": list(self.order), "window": self.window.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's window."""
        order = restored_order(snapshot, self.name, self.pipeline)
        self.window.restore(snapshot["window"])
        self.view = MatrixView(order)
        self.view.recompute(self.window.unordered)
        self._place()
