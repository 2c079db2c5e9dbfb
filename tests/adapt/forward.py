"""A small policy as a user might write one, importable so that workers can find it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt import Observation, ProfilingRequest, Verdict
from thalweg.plan import Pipeline


@dataclass(frozen=True)
class ForwardSettings:
    p: float = 0.5
    patience: int = 2


class Forward:
    """Every few updates it moves the last filter forward by one position, as far as its guards allow."""

    name: ClassVar[str] = "forward"
    defaults: ClassVar[ForwardSettings | None] = ForwardSettings()
    standing = "it waits"

    def __init__(self, pipeline: Pipeline, settings: ForwardSettings, rng: np.random.Generator) -> None:
        self.pipeline, self.settings, self.order, self.looks = pipeline, settings, pipeline.start, 0
        self._wants = self._wanted()

    def _wanted(self) -> ProfilingRequest:
        n = len(self.pipeline)
        evaluate = np.zeros((n, n), dtype=bool)
        for i in range(n):
            evaluate[i, [k for k in self.order[i + 1 :] if self.pipeline.profiled[k]]] = True
        return ProfilingRequest(self.settings.p, evaluate, rows=200)

    def wants(self) -> ProfilingRequest:
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        self.looks = (self.looks + 1) % self.settings.patience
        for i in range(len(self.order) - 2, -1, -1):
            a, b = self.order[i : i + 2]
            if self.looks == 0 and a not in self.pipeline.guards[b]:
                self._turn((*self.order[:i], b, a, *self.order[i + 2 :]))
                return Verdict(self.order, f"it is the turn of {self.pipeline.names[b]}")
        return None

    def _turn(self, order: tuple[int, ...]) -> None:
        self.order = order
        self._wants = self._wanted()

    def begin(self, order: tuple[int, ...]) -> None:
        self._turn(order)

    def snapshot(self) -> dict[str, Any]:
        return {"order": list(self.order), "looks": self.looks}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._turn(tuple(snapshot["order"]))
        self.looks = snapshot["looks"]
