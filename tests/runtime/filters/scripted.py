"""A policy that switches, profiles and runs trials according to a script: the worst any policy
may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt import Observation, ProfileSettings, ProfilingRequest, Verdict
from thalweg.adapt.policy import NEVER, Trial
from thalweg.plan import Pipeline


class Scripted:
    """At each update, with probability `restless`, another valid order and other wishes; with probability `trials`, a
    trial of any order. `lasting`: sampled rows outlive a switch."""

    name: ClassVar[str] = "scripted"
    defaults: ClassVar[ProfileSettings | None] = None
    standing = ""

    def __init__(
        self, pipeline: Pipeline, seed: int, p: float, restless: float, trials: float = 0.0, lasting: bool = False
    ) -> None:
        self.pipeline = pipeline
        self.rng = np.random.default_rng(seed)
        self.p = p
        self.restless = restless
        self.trials = trials
        self.lasting = lasting
        self.order = self._any_order()
        self._wish()

    def _any_order(self) -> tuple[int, ...]:
        order: list[int] = []
        while len(order) < len(self.pipeline):
            ready = [
                k
                for k in range(len(self.pipeline))
                if k not in order and all(g in order for g in self.pipeline.guards[k])
            ]
            order.append(int(self.rng.choice(ready)))
        return tuple(order)

    def _wish(self) -> None:
        n = len(self.pipeline)
        evaluate = self.rng.random((n, n)) < 0.6
        rows = NEVER if self.p and not self.trials else 1
        trial = None
        if self.trials and self.rng.random() < self.trials:
            trial = Trial(self._any_order(), int(self.rng.integers(1, 40)), int(self.rng.integers(n)), 10.0)
        together = 4 if self.trials else 1
        self._wants = ProfilingRequest(
            self.p, evaluate & np.array(self.pipeline.profiled)[None, :], together, rows,
            lasting=self.lasting, trial=trial,
        )  # fmt: skip

    def wants(self) -> ProfilingRequest:
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        if self.trials:
            self._wish()
        if self.rng.random() >= self.restless:
            return None
        before, self.order = self.order, self._any_order()
        self._wish()
        return Verdict(self.order, "the script says so") if self.order != before else None

    def begin(self, order: tuple[int, ...]) -> None:
        self.order = order

    def snapshot(self) -> dict[str, Any]:
        return {"order": list(self.order)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.order = tuple(snapshot["order"])
