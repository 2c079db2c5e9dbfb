"""What a user wants of the plan of a join: a certain plan, or what the chosen one should be best at."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, check_shape, of_text
from thalweg.plan.objective import LEAST_CPU, Objective

MULTIWAY = "multiway"
"""The plan that keeps no sub-join."""


@dataclass(frozen=True)
class WantedPlan:
    """The settings that the plan of a join depends on."""

    text: str | None = None
    """The plan, as `plan=` sets it; None: it is chosen."""
    objective: Objective = LEAST_CPU
    adapts: bool = True
    """Whether the policy may change what it begins with."""
    chart_parts: int | None = None
    """Into how many parts the chart that the join follows cuts the range of each rate; None: it follows no chart."""

    def shape(self, graph: JoinGraph) -> Shape | None:
        """Return the shape of the plan that the user has set, checked against the streams of a join; None: no sub-join
        is kept, or no plan is set."""
        if self.text is None or self.text == MULTIWAY:
            return None
        shape = of_text(self.text)
        try:
            check_shape(shape, graph)
        except PlanError as error:
            raise PlanError(f"plan={self.text!r}: {error}") from None
        return None if all(isinstance(part, str) for part in shape) else shape
