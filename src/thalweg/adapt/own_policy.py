"""Checks a user's own policy, so that the rows of the result are the same whatever the policy returns.

Answers: what the policy returns, if a loop can use it; otherwise a PlanError that says what is wrong with it.
Guarantee: an order that reaches the loop is a permutation of the filters with guards first, and a filter that must not
be profiled is not. A snapshot of another policy, or of other filters, never reaches the policy.
Cost: a few microseconds per verdict, and per new object that `wants` returns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from thalweg.adapt.policy import Observation, Policy, ProfilingRequest, Verdict, restored_order
from thalweg.errors import PlanError
from thalweg.kernels.user_error import cause_of, error_text
from thalweg.plan.filters.pipeline import Pipeline


class OwnPolicy:
    """Wraps a user's own policy and checks what it returns."""

    def __init__(self, policy: Policy, name: str, pipeline: Pipeline) -> None:
        self.policy, self.pipeline = policy, pipeline
        self.name = name  # an attribute of the class in all other policies
        missing = [attribute for attribute in ("order", "standing") if not hasattr(policy, attribute)]
        if missing:
            self._refuse(f"has no {' and no '.join(missing)}: set it in __init__ or in the class")
        self.order = self._order("is made with", policy.order)
        if getattr(policy, "classifies", False):
            self._refuse("classifies rows, but a policy of your own has one order for all of them: leave it out")
        self._profiled = np.array(pipeline.profiled)
        self._checked: ProfilingRequest | None = None
        try:
            json.dumps(policy.snapshot())
        except TypeError as error:
            self._refuse(f"has a snapshot() that cannot be written as JSON: {error}")

    @property
    def standing(self) -> str:
        """Why the order is kept, as the policy says."""
        return str(self.policy.standing)

    @standing.setter
    def standing(self, sentence: str) -> None:
        self.policy.standing = sentence

    def wants(self) -> ProfilingRequest:
        """Return what the policy wants to profile, if a loop can do that."""
        wants = self.policy.wants()
        if wants is not self._checked or wants is None:
            self._check(wants)
            self._checked = wants
        return wants

    def update(self, seen: Observation) -> Verdict | None:
        """Return the policy's verdict, if it has one."""
        verdict = self.policy.update(seen)
        if verdict is None:
            if tuple(self.policy.order) != self.order:
                self._refuse(f"changed its order to {self.policy.order!r} in update() without returning a verdict")
            return None
        order = self._order("returned a verdict for", verdict.order)
        if tuple(self.policy.order) != order:
            self._refuse(f"returned a verdict for the order {order!r}, but its own order is {self.policy.order!r}")
        self.order = order
        return Verdict(order, str(verdict.reason))

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in this order, or in the one the policy prefers."""
        self.policy.begin(order)
        self.order = self._order("started with", self.policy.order)

    def snapshot(self) -> dict[str, Any]:
        """Return the policy's own snapshot, with its name and its order."""
        return {"policy": self.name, "order": list(self.order), "own": self.policy.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from a snapshot of the same policy. Whatever the policy raises becomes a PlanError."""
        restored_order(snapshot, self.name, self.pipeline)
        try:
            self.policy.restore(snapshot["own"])
        except Exception as error:
            raise PlanError(
                f"policy {self.name!r} cannot restore this snapshot: {error_text(error)}. Its restore() must accept "
                f"what its snapshot() returned; thalweg.testing.assert_policy({type(self.policy).__name__}) checks it"
            ) from cause_of(error)
        self.order = self._order("restored", self.policy.order)

    def _order(self, did: str, order: Any) -> tuple[int, ...]:
        try:
            found = tuple(int(k) for k in order)
        except (TypeError, ValueError):
            found = ()
        if not self.pipeline.respects(found):
            guards = " with every filter after its guards" if any(self.pipeline.guards) else ""
            self._refuse(f"{did} the order {order!r}: it must be a permutation of 0..{len(self.pipeline) - 1}{guards}")
        return found

    def _check(self, wants: ProfilingRequest) -> None:
        n = len(self.pipeline)
        if not isinstance(wants, ProfilingRequest):
            self._refuse(f"returned {wants!r} from wants(): it must be a thalweg.adapt.ProfilingRequest")
        evaluate = wants.evaluate
        if not isinstance(evaluate, np.ndarray) or evaluate.shape != (n, n) or evaluate.dtype != np.bool_:
            self._refuse(f"wants evaluate={evaluate!r}: it must be an array of {n} times {n} bools")
        if not 0.0 <= wants.p <= 1.0:
            self._refuse(f"wants p={wants.p!r}: it must be at least 0 and at most 1")
        if evaluate[:, ~self._profiled].any():
            names = [
                name for k, name in enumerate(self.pipeline.names) if evaluate[:, k].any() and not self._profiled[k]
            ]
            self._refuse(f"wants to profile {', '.join(names)}, which must not be profiled")
        if wants.trial is not None:
            self._order("wants to try", wants.trial.order)
            if wants.trial.rows < 1 or wants.trial.candidate not in range(n):
                self._refuse(
                    f"wants the trial {wants.trial!r}: rows must be at least 1, and candidate must be in 0..{n - 1}"
                )

    def _refuse(self, what: str) -> NoReturn:
        raise PlanError(
            f"policy {self.name!r} {what}. Use thalweg.testing.assert_policy({type(self.policy).__name__}) to find "
            "such mistakes"
        )
