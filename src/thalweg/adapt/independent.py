"""Independent: order by drops per unit of time, as if filters did not depend on each other (a-greedy, section 6).

Answers: the order that is best for independent filters, at once after a change.
Guarantee: the independent invariant (definition 6.1) up to alpha for the window's statistics. Optimal when filters are
independent; up to O(n) times worse than A-Greedy when they are not (example 6).
Cost: profiling as A-Greedy's, at half its probability; only the first row of V is kept.
Differs from the paper: none but the batches (see A-Greedy); the same guards and permissions.

>>> policy = Independent(Pipeline(("even", "small")), ProfileSettings(p=1.0, window=10))
>>> nothing = np.zeros(2, np.int64)
>>> bits = np.array([[0, 1], [1, 1]], bool)
>>> policy.update(Seen(nothing, nothing, nothing, np.ones(2), bits)).reason
'at position 1 small (1 ns a row) drops 2.0 times as much per unit of time as even (1 ns a row)'

Reference: Babu et al., SIGMOD 2004, section 6, definition 6.1, figure 7(b).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import (
    ProfileSettings,
    Seen,
    Verdict,
    Wants,
    better_here,
    eligible_from,
    known_costs,
    restored_order,
    sorted_by,
)
from thalweg.adapt.scope import everything
from thalweg.plan.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow


class Independent:
    """Sorted by unconditional drops per unit of time."""

    name: ClassVar[str] = "independent"
    defaults: ClassVar[ProfileSettings | None] = ProfileSettings(p=0.005, window=1000, alpha=0.9)

    def __init__(
        self,
        pipeline: Pipeline,
        settings: ProfileSettings | None = None,
        rng: np.random.Generator | None = None,  # Independent draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or Independent.defaults or ProfileSettings()
        self.window = ProfileWindow(self.settings.window, len(pipeline))
        self.drops: NDArray[np.int64] = np.zeros(len(pipeline), dtype=np.int64)  # the first row of V, by filter
        self.order = pipeline.start
        self._place()

    def _place(self) -> None:
        n = len(self.pipeline)
        self._wants = Wants(self.settings.p, everything(self.order, self.pipeline), together=self.settings.together)
        # pair (i, j) is comparable when filter j could stand at position i
        ahead = np.triu(np.ones((n, n), dtype=bool), 1)
        self._comparable = ahead & (eligible_from(self.order, self.pipeline.guards)[None, :] <= np.arange(n)[:, None])

    def wants(self) -> Wants:
        """Every filter behind the one that dropped the row, as A-Greedy."""
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        """Slide the window; sort when a filter drops clearly less per unit of time than one behind it."""
        if len(seen.profile):
            gone = self.window.insert(seen.profile)
            self.drops += seen.profile.sum(axis=0) - gone.sum(axis=0)
        costs = known_costs(seen.cost_ns)
        rate = self.drops / costs
        by_place = rate[list(self.order)]
        wrong = (by_place[:, None] < self.settings.alpha * by_place[None, :]) & self._comparable
        if not wrong.any():
            return None
        i, j = (int(v) for v in np.argwhere(wrong)[0])
        stands, comes = self.order[i], self.order[j]
        order = sorted_by(rate.tolist(), self.pipeline)
        if order == self.order:
            return None  # only guards keep the better filter behind
        self.order = order
        self._place()
        drops = (float(self.drops[comes]), float(self.drops[stands]))
        return Verdict(order, better_here(i, self.pipeline, comes, stands, costs, drops))

    def snapshot(self) -> dict[str, Any]:
        """The order and the window."""
        return {"policy": self.name, "order": list(self.order), "window": self.window.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's window."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.window.restore(snapshot["window"])
        self.drops = self.window.unordered.sum(axis=0)
        self._place()
