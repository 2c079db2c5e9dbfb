"""What Velox, Presto and Trino do: sort by time per dropped row, cumulated since the start. Here to compare with.

Answers: an order, from what ordinary work shows: each filter is judged by the rows that reach it.
Guarantee: none is stated. Cost: no profiling; counters since the start, so that it moves less and less.
Differs from the original: a filter with guards comes after them.

>>> policy = VeloxRank(Pipeline(("a", "b")))
>>> hundred, ten = np.array([100, 50]), np.array([50, 5])
>>> policy.update(Seen(hundred, ten, np.array([9000, 450]), np.full(2, np.nan), np.zeros((0, 2), bool))).order
(1, 0)

Reference: Velox, `velox/common/base/SelectivityInfo.h` (timeToDropValue).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.policy import ProfileSettings, Seen, Verdict, Wants, duration, restored_order, sorted_by
from thalweg.adapt.static import Static
from thalweg.plan.pipeline import Pipeline


class VeloxRank:
    """Sorted by cumulated time per dropped row."""

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

    def wants(self) -> Wants:
        """Nothing: counters of ordinary work suffice."""
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        """Cumulate; sort when the order by time per dropped row is another one."""
        self.dropped += seen.evaluated - seen.passed
        self.busy_ns += seen.busy_ns
        # a filter that never dropped counts with its whole time; one that never ran costs nothing and is tried first
        to_drop = self.busy_ns / np.maximum(self.dropped, 1)
        order = sorted_by((-to_drop).tolist(), self.pipeline)
        if order == self.order:
            return None
        place = next(i for i, (old, new) in enumerate(zip(self.order, order, strict=True)) if old != new)
        stood, comes = self.order[place], order[place]
        self.order = order
        names = self.pipeline.names
        return Verdict(
            order,
            f"{names[comes]} needs {duration(to_drop[comes])} to drop a row, {names[stood]} {duration(to_drop[stood])}",
        )

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order; nothing has been seen yet."""
        self.order = order

    def snapshot(self) -> dict[str, Any]:
        """The order and the counters."""
        counters = {"dropped": self.dropped.tolist(), "busy_ns": self.busy_ns.tolist()}
        return {"policy": self.name, "order": list(self.order), **counters}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's counters."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.dropped = np.array(snapshot["dropped"], dtype=np.int64)
        self.busy_ns = np.array(snapshot["busy_ns"], dtype=np.int64)
