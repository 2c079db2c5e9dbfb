"""Sweep: look at one filter at a time (a-greedy, section 5).

Answers: the same question as A-Greedy, for less profiling and more slowly. Stages rotate over the positions 2..n; in
the stage of position j only its filter is profiled, and compared with every filter before it.
Guarantee: the sweep invariant (definition 5.1) for the profiled filter; when stream and filters are stable the order
converges to one that satisfies the greedy invariant.
Cost: at most one evaluation a profiled row, O(n) an update; a violation can stay unseen for n-2 stages.
Differs from the paper, where it is silent: on a violation at position i the profiled filter is moved there and those
between shift back by one (nothing is known of them that could justify another order); before a stage's end a pair is
judged only on `ENOUGH` drops, since every stage begins with an empty window and one tuple would otherwise decide.

>>> policy = Sweep(Pipeline(("even", "small")), ProfileSettings(p=1.0, profile_window=50))
>>> bits = np.tile(np.array([[0, 1]], bool), (40, 1))  # `small` drops what `even` lets through
>>> nothing = np.zeros(2, np.int64)
>>> policy.update(Seen(nothing, nothing, nothing, np.ones(2), bits)).order
(1, 0)

Reference: Babu et al., SIGMOD 2004, section 5, definition 5.1, figure 7(a).
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
    one_filter,
    restored_order,
)
from thalweg.plan.pipeline import Pipeline

ENOUGH = 30
"""Drops in the two cells compared below which their ratio is noise (its relative error is then some 35 %)."""


class Sweep:
    """One profiled filter a stage."""

    name: ClassVar[str] = "sweep"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = ProfileSettings(p=0.01, profile_window=500, alpha=0.9)

    def __init__(
        self,
        pipeline: Pipeline,
        settings: ProfileSettings | None = None,
        rng: np.random.Generator | None = None,  # Sweep draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or Sweep.defaults or ProfileSettings()
        self.order = pipeline.start
        self.j = 1 if len(pipeline) > 1 else 0
        self._begin_stage()

    def _begin_stage(self) -> None:
        n = len(self.pipeline)
        self.tuples = 0
        # figure 7(a): the diagonal up to j, and column j
        self.diagonal: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        self.column: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        evaluate = one_filter(self.order, self.pipeline, self.j)
        self._wants = Wants(self.settings.p, evaluate, together=self.settings.together)

    def wants(self) -> Wants:
        """Only the filter at position j, on rows that some filter before it dropped."""
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        """Count the stage's tuples; end the stage on a violation, or when it has seen its share."""
        if len(self.pipeline) < 2 or not len(seen.profile):
            return None
        bits = seen.profile[:, self.order]
        first = bits[:, : self.j + 1].argmax(axis=1)
        first = np.where(bits[:, : self.j + 1].any(axis=1), first, self.j + 1)
        size = len(self.pipeline) + 1
        self.diagonal += np.bincount(first, minlength=size)[:-1]
        # a tuple first dropped at dc that filter j drops too counts in V[1..dc, j]
        both = np.bincount(first[bits[:, self.j]], minlength=size)[:-1]
        self.column += both[::-1].cumsum()[::-1]
        self.tuples += len(bits)
        verdict = self._violation(known_costs(seen.cost_ns))
        if verdict is not None or self.tuples >= self.settings.profile_window:
            if verdict is not None:
                self.order = verdict.order
            self.j = self.j % (len(self.pipeline) - 1) + 1
            self._begin_stage()
        return verdict

    def _violation(self, costs: NDArray[np.float64]) -> Verdict | None:
        """The first position where filter j drops more per unit of time than the filter that stands there."""
        j, order = self.j, self.order
        stands = self.diagonal[:j] / costs[list(order[:j])]
        comes = self.column[:j] / costs[order[j]]
        # few drops may not end a stage early, but at its end what there is counts: deep positions never see many
        enough = (self.diagonal[:j] + self.column[:j] >= ENOUGH) | (self.tuples >= self.settings.profile_window)
        better = (stands < self.settings.alpha * comes) & enough
        better[: eligible_from(order, self.pipeline.guards)[j]] = False
        if not better.any():
            return None
        i = int(better.argmax())
        moved = (*order[:i], order[j], *order[i:j], *order[j + 1 :])
        # what stood between may not be separated from guards it needs: it only shifts back, so they still precede it
        drops = (float(self.column[i]), float(self.diagonal[i]))
        return Verdict(moved, better_here(i, self.pipeline, order[j], order[i], costs, drops))

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order; nothing has been seen yet."""
        self.order = order
        self._begin_stage()

    def snapshot(self) -> dict[str, Any]:
        """The order and the position profiled; a stage's counts are cheap to gather again."""
        return {"policy": self.name, "order": list(self.order), "j": self.j}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's stage."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.j = min(max(int(snapshot["j"]), 1), len(self.pipeline) - 1) if len(self.pipeline) > 1 else 0
        self._begin_stage()
