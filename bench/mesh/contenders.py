"""The policies that are compared, and what their reports say about routes.

A policy or a setting that this version of Thalweg does not have is left out, with a sentence that says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import thalweg as tw
from bench.check import Check
from bench.mesh.classed import Classed
from thalweg.adapt import chosen

EDDY_ROWS = 100
"""The rows per decision of an eddy; a decision for each row costs a call of 10 to 35 us."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy and its settings."""

    name: str
    policy: str
    """With its settings."""
    given: dict[str, Any] = field(default_factory=dict)
    classifies: bool = False
    """Whether it gets the columns to classify by."""

    def settings(self, classed: Classed) -> dict[str, Any]:
        """Return the policy and what else is set, as arguments of `tw.filters`."""
        by = {"classify_by": list(classed.by)} if self.classifies else {}
        return {"policy": self.policy, **by, **self.given}

    def filters(self, classed: Classed, checks: tuple[Check, ...], seed: int) -> tw.Filters:
        """Return new filters of these checks."""
        given: dict[str, Any] = self.settings(classed)
        return tw.filters(*(check.predicate() for check in checks), seed=seed, **given)

    @property
    def missing(self) -> str:
        """Why it cannot run, in one sentence; empty if it can."""
        return self.missing_in(tw.filters)

    def missing_in(self, function: Callable[..., Any]) -> str:
        """Return why a function such as `tw.join` cannot run it, in one sentence; empty if it can."""
        try:
            chosen(self.policy)
        except tw.PlanError as error:
            return str(error)
        wanted = [*self.given, *(["classify_by"] if self.classifies else [])]
        unknown = [name for name in wanted if name not in inspect.signature(function).parameters]
        return f"tw.{function.__name__} does not take {', '.join(unknown)}" if unknown else ""


AUTO = Contender("auto", "auto")
AGAIN = Contender("auto again", "auto")
"""The A/A control."""
MESH = Contender("mesh", "mesh", classifies=True)
SP = Contender("sp", "mesh(routes=1)", classifies=True)
"""A single plan: the mesh policy with the same sample, and one route."""
EDDY = Contender("eddy", f"eddy(batch={EDDY_ROWS})")
EDDY_CBR = Contender("eddy-cbr", "eddy-cbr", classifies=True)
AUTO_MESH = Contender("auto, meshes allowed", "auto", classifies=True)
ALL = (AUTO, AGAIN, MESH, SP, EDDY, EDDY_CBR, AUTO_MESH)


def routes_of(report: tw.Report) -> int:
    """Return the number of routes at the end of the latest run; 1 if its section has no mesh."""
    mesh = getattr(report.sections[-1], "mesh", None)
    return 1 if mesh is None else len(mesh.routes)


def routing_share_of(report: tw.Report) -> float | None:
    """Return the share of the time of the latest run that routing took; None if its section does not have it."""
    return getattr(getattr(report.sections[-1], "mesh", None), "routing_share", None)
