"""The policy of Velox, Presto and Trino, for comparison: sort by the time per dropped row, summed since the start.

Answers: an order, from the counts of ordinary work: each filter is judged by the rows that reach it.
Guarantee: none is stated. Cost: no profiling. The counters start at the beginning, so the order changes less and less.
Differs from the original: a filter with guards comes after them, and one that must not be profiled comes last until a
row has reached it.

>>> policy = VeloxRank(Pipeline(("a", "b")))
>>> hundred, ten = np.array([100, 50]), np.array([50, 5])
>>> policy.update(Observation(hundred, ten, np.array([9000, 450]), np.full(2, np.nan), np.zeros((0, 2), bool))).order
(1, 0)

Reference: Velox, `velox/common/base/SelectivityInfo.h` (timeToDropValue).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import Observation, ProfileSettings, ProfilingRequest, Verdict, restored_order, sorted_by
from thalweg.adapt.static import Static
from thalweg.formatting import duration
from thalweg.plan.filters.pipeline import Pipeline


class VeloxRank:
    """Sorts filters by their time per dropped row since the start."""

    name: ClassVar[str] = "velox-rank"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = None

    def __init__(
        self, pipeline: Pipeline, settings: ProfileSettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self.pipeline = pipeline
        self.order = pipeline.start
        self.dropped: NDArray[np.int64] = np.zeros(len(pipeline), dtype=np.int64)
        self.busy_ns: NDArray[np.int64] = np.zeros(len(pipeline), dtype=np.int64)
        self._wants = replace(Static(pipeline).wants(), rows=1)  # asked after every slice

    def wants(self) -> ProfilingRequest:
        """Profile nothing: the counters of ordinary work suffice."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Add to the counters, and return a verdict if the order by time per dropped row has changed."""
        self.dropped += seen.evaluated - seen.passed
        self.busy_ns += seen.busy_ns
        # a filter that never dropped a row counts with its whole time; one that never ran costs nothing and comes first
        to_drop = self.busy_ns / np.maximum(self.dropped, 1)
        to_drop[~np.array(self.pipeline.profiled) & (self.busy_ns == 0) & (self.dropped == 0)] = np.inf
        order = sorted_by((-to_drop).tolist(), self.pipeline)
        if order == self.order:
            return None
        place = next(i for i, (old, new) in enumerate(zip(self.order, order, strict=True)) if old != new)
        second, first = self.order[place], order[place]
        self.order = order
        name, other = self.pipeline.names[first], self.pipeline.names[second]
        takes = "has not been called" if np.isinf(to_drop[second]) else f"takes {duration(to_drop[second])}"
        return Verdict(order, f"{name} takes {duration(to_drop[first])} per dropped row, {other} {takes}")

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, before anything is observed."""
        self.order = order

    def snapshot(self) -> dict[str, Any]:
        """Return the order and the counters."""
        counters = {"dropped": self.dropped.tolist(), "busy_ns": self.busy_ns.tolist()}
        return {"policy": self.name, "order": list(self.order), **counters}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's counters."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.dropped = np.array(snapshot["dropped"], dtype=np.int64)
        self.busy_ns = np.array(snapshot["busy_ns"], dtype=np.int64)
