"""Static: the order as written. Every other policy is compared with it.

>>> Static(Pipeline(("a", "b"))).order
(0, 1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt.policy import Observation, ProfileSettings, ProfilingRequest, Verdict, restored_order
from thalweg.plan.filters.pipeline import Pipeline


class Static:
    """Never changes anything and profiles nothing."""

    name: ClassVar[str] = "static"
    standing: str = ""
    defaults: ClassVar[ProfileSettings | None] = None

    def __init__(
        self, pipeline: Pipeline, settings: ProfileSettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self.pipeline = pipeline
        self.order = pipeline.start
        self._wants = ProfilingRequest(0.0, np.zeros((len(pipeline), len(pipeline)), dtype=bool))

    def wants(self) -> ProfilingRequest:
        """Profile no rows at all."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Return None: the order never changes."""
        return None

    def begin(self, order: tuple[int, ...]) -> None:
        """Keep the order as written, whatever an earlier run did."""

    def snapshot(self) -> dict[str, Any]:
        """Return the order, which is all there is."""
        return {"policy": self.name, "order": list(self.order)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take the order of another worker."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
