"""DuckDB's policy, for comparison: swap a random adjacent pair, and keep the swap if the chain became faster.

Answers: an order, found by trying. Selectivities are not measured, so correlation shows only in the total time.
Guarantee: none is stated. Cost: no profiling at all.
How: after 5 slices of warm-up, the mean time of 20 slices is the reference. Then a pair drawn at random may be swapped.
It is swapped back if the mean of the next 10 slices is not below the reference. A pair that did not help is half as
likely to be tried again (never less than 1 in 100); a pair that helped is certain to be tried again.
Differs from the original: slices of about 1,000 rows, not 2,048; a pair whose second filter must come after its first,
or must not be profiled, is never swapped.

Reference: DuckDB, `src/execution/adaptive_filter.cpp` (the intervals and likelihoods are its constants).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt.policy import Observation, ProfileSettings, ProfilingRequest, Verdict, restored_order
from thalweg.adapt.static import Static
from thalweg.formatting import duration
from thalweg.plan.filters.pipeline import Pipeline

WARM_UP = 5
EXECUTE = 20
OBSERVE = 10
CERTAIN = 100


class DuckdbSwap:
    """Swaps adjacent filters at random, and judges by the measured time."""

    name: ClassVar[str] = "duckdb-swap"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = None

    def __init__(
        self, pipeline: Pipeline, settings: ProfileSettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self.pipeline = pipeline
        self.order = pipeline.start
        self.rng = rng if rng is not None else np.random.default_rng()
        self.likelihood = [CERTAIN] * max(len(pipeline) - 1, 0)
        self.phase = "warm-up"
        self.at = 0
        self.reference_ns = 0.0
        self._slices = 0
        self._sum_ns = 0
        self._wants = replace(Static(pipeline).wants(), rows=1)  # asked after every slice

    def wants(self) -> ProfilingRequest:
        """Profile nothing: only the time is measured."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Take the time of one more slice, and swap or swap back if it is time to."""
        if len(self.pipeline) < 2:
            return None
        self._slices += 1
        self._sum_ns += int(seen.busy_ns.sum())
        mean = self._sum_ns / self._slices
        if self.phase == "warm-up":
            if self._slices == WARM_UP:
                self._next("execute")
        elif self.phase == "execute" and self._slices == EXECUTE:
            self.reference_ns = mean
            draw = int(self.rng.integers(CERTAIN * len(self.likelihood)))
            self.at, luck = divmod(draw, CERTAIN)
            first, second = self.order[self.at : self.at + 2]
            may = self.pipeline.profiled[second] and first not in self.pipeline.guards[second]
            tries = may and self.likelihood[self.at] > luck
            self._next("observe" if tries else "execute")
            if tries:
                return self._swap("tried at random")
        elif self.phase == "observe" and self._slices == OBSERVE:
            self._next("execute")
            if mean < self.reference_ns:
                self.likelihood[self.at] = CERTAIN
                return None
            self.likelihood[self.at] = max(self.likelihood[self.at] // 2, 1)
            return self._swap(f"swapped back: {duration(mean)} per slice was not below {duration(self.reference_ns)}")
        return None

    def _next(self, phase: str) -> None:
        self.phase = phase
        self._slices = self._sum_ns = 0

    def _swap(self, why: str) -> Verdict:
        i, order = self.at, list(self.order)
        order[i], order[i + 1] = order[i + 1], order[i]
        self.order = tuple(order)
        names = self.pipeline.names
        return Verdict(self.order, f"{names[order[i]]} before {names[order[i + 1]]}, {why}")

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.order = order
        self._next("warm-up")

    def snapshot(self) -> dict[str, Any]:
        """Return the order; trials are not part of a snapshot."""
        return {"policy": self.name, "order": list(self.order)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take the order of another worker; a trial under way ends, because it was for another order."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        if self.phase == "observe":
            self._next("execute")
