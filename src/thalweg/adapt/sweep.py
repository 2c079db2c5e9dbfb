"""Sweep: profile one filter at a time (a-greedy, section 5).

Answers: the same question as A-Greedy, with less profiling and more slowly. Stages rotate over the positions 2..n; in
the stage of position j only its filter is profiled, and compared with every filter before it.
Guarantee: the sweep invariant (definition 5.1) for the profiled filter; if stream and filters are stable, the order
converges to one that satisfies the greedy invariant.
Cost: at most one evaluation per profiled row, O(n) per update; a violation can stay undetected for n-2 stages.
Differs from the paper, where the paper says nothing: on a violation at position i the profiled filter is moved there
and those in between shift back by one (nothing is known about them that could justify another order); before the end of
a stage a pair is judged only if it has `ENOUGH` drops, because every stage begins with an empty window and one tuple
would otherwise decide.

>>> policy = Sweep(Pipeline(("even", "small")), ProfileSettings(p=1.0, profile_window=50))
>>> bits = np.tile(np.array([[0, 1]], bool), (40, 1))  # `small` drops what `even` lets through
>>> nothing = np.zeros(2, np.int64)
>>> policy.update(Observation(nothing, nothing, nothing, np.ones(2), bits)).order
(1, 0)

Reference: Babu et al., SIGMOD 2004, section 5, definition 5.1, figure 7(a).
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
    one_filter,
    restored_order,
)
from thalweg.plan.filters.pipeline import Pipeline, eligible_from

ENOUGH = 30
"""With fewer drops in the two cells that are compared, their ratio is noise (its relative error is about 35 %)."""


class Sweep:
    """Profiles one filter per stage, and moves it forward if that pays."""

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
        self._wants = ProfilingRequest(self.settings.p, evaluate, together=self.settings.together)

    def wants(self) -> ProfilingRequest:
        """Profile only the filter at position j, on rows that a filter before it dropped."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Count the stage's tuples, and end the stage on a violation or after `profile_window` tuples."""
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
        """Return a verdict for the first position at which filter j drops more per unit of time than the filter
        there."""
        j, order = self.j, self.order
        current = self.diagonal[:j] / costs[list(order[:j])]
        profiled = self.column[:j] / costs[order[j]]
        # few drops cannot end a stage early, but they count at its end: deep positions never see many
        enough = (self.diagonal[:j] + self.column[:j] >= ENOUGH) | (self.tuples >= self.settings.profile_window)
        better = (current < self.settings.alpha * profiled) & enough
        better[: eligible_from(order, self.pipeline.guards)[j]] = False
        if not better.any():
            return None
        i = int(better.argmax())
        moved = (*order[:i], order[j], *order[i:j], *order[j + 1 :])
        # the filters in between only shift back, so their guards still precede them
        drops = (float(self.column[i]), float(self.diagonal[i]))
        return Verdict(moved, better_here(i, self.pipeline, order[j], order[i], costs, drops))

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.order = order
        self._begin_stage()

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the profiled position; the counts of a stage are cheap to collect again."""
        return {"policy": self.name, "order": list(self.order), "j": self.j}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's stage."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.j = min(max(int(snapshot["j"]), 1), len(self.pipeline) - 1) if len(self.pipeline) > 1 else 0
        self._begin_stage()
