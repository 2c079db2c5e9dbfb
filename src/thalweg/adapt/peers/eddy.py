"""Eddy: a lottery decides for each batch of rows which filter it visits next. It is here for comparison.

Answers: no order. At each filter, the filters that a batch of rows has not visited yet, and whose guards it has passed,
take part in a lottery.
How: a filter gets tickets for the rows that it drops, one per row divided by its cost per row. In a lottery, its chance
is its share of the tickets. A filter with more tickets gets more rows and so more tickets: most rows soon visit the
filter first that drops most rows per ns. Not all do, because the others earn tickets with the rows that it passes.
Tickets lose half of their weight in `HALF_LIFE` rows.
Guarantee: the answer never depends on it. No filter is ruled out (`kernels.lottery.LEAST`), so a change of the data is
noticed. There is no bound on the cost of what it converges to: filters are taken as independent.
Cost: each decision is a random number, and each ruster a call of a filter on at most `batch` rows; with 1, each
row. A call takes 10 to 35 µs, whatever the filter does. Nothing is profiled.
Differs from the paper: operators have no queues, so there is no back-pressure by which a slow operator gets fewer
tuples; tickets are divided by the cost instead. In the paper an operator returns a ticket for each tuple that it
returns, which leaves one per dropped tuple, as here. Tickets of a window are banked there; here they fade. They change
every `ROWS` rows.

>>> policy = Eddy(Pipeline(("even", "small")))
>>> evaluated, passed = np.array([500, 500]), np.array([250, 50])
>>> work = Observation(evaluated, passed, evaluated, np.array([10.0, 10.0]), np.zeros((0, 2), bool))
>>> policy.update(work)
>>> policy.tickets.tolist()
[25.0, 45.0]

Reference: Avnur and Hellerstein: Eddies: continuously adaptive query processing. SIGMOD 2000, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt.open_route import EddySettings, OpenRoute
from thalweg.adapt.policy import Observation, ProfilingRequest, Verdict, known_costs, restored_order
from thalweg.formatting import duration, plural
from thalweg.plan.filters.pipeline import Pipeline

HALF_LIFE = 10_000
"""In rows: tickets of this age count half."""
ROWS = 1_000
"""Tickets are counted after so many rows, or after each decision if it is for more rows."""


class Eddy:
    """Draws the next filter of each batch of rows."""

    name: ClassVar[str] = "eddy"
    defaults: ClassVar[EddySettings | None] = EddySettings()

    def __init__(
        self, pipeline: Pipeline, settings: EddySettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or EddySettings()
        self.order = pipeline.start
        self.standing = ""
        self.mesh = OpenRoute.equal(pipeline, self.settings.batch)
        self.decisions = 0
        self.routing_ns = 0
        """The time of deciding, and of moving and counting rows; without the calls of filters."""
        batch, n = self.settings.batch, len(pipeline)
        self._wants = ProfilingRequest(0.0, np.zeros((n, n), bool), rows=max(ROWS, batch), slice_rows=batch)

    @property
    def tickets(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The tickets of each filter."""
        return self.mesh.slices

    def wants(self) -> ProfilingRequest:
        """Profile nothing, and call the policy after some decisions."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Count tickets. The order never changes, because there is none."""
        rows = int(seen.evaluated.max(initial=0)) if seen.routes is None else int(seen.routes.rows.sum())
        cost_ns = np.maximum(known_costs(seen.cost_ns), 1e-3)  # a clock that stands still
        earned = (seen.evaluated - seen.passed) / cost_ns
        self.mesh.slices = self.mesh.slices * 0.5 ** (rows / HALF_LIFE) + earned
        if seen.routes is not None:
            self.decisions += seen.routes.decisions
            self.routing_ns += seen.routes.routing_ns
        self.standing = decided(self.decisions, self.routing_ns, self.settings.batch)
        return None

    def begin(self, order: tuple[int, ...]) -> None:
        """Keep the order as written, whatever an earlier run did."""

    def snapshot(self) -> dict[str, Any]:
        """Return the tickets, for another worker to continue with."""
        return {"policy": self.name, "order": list(self.order), "tickets": self.mesh.slices.tolist()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue with the tickets of another worker."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.mesh.order = self.order
        self.mesh.slices = np.array(snapshot["tickets"], np.float64)


def decided(decisions: int, routing_ns: int, batch: int) -> str:
    """Return how many decisions there were and what routing cost, as a sentence; empty if there was no decision.

    >>> decided(1_000, 5_000_000, 100)
    'there is no order: a lottery has decided 1,000 times for up to 100 rows; routing took 5.0 µs per decision'
    """
    if not decisions:
        return ""
    return (
        f"there is no order: a lottery has decided {decisions:,} times for up to {plural(batch, 'row')}; "
        f"routing took {duration(routing_ns / decisions)} per decision"
    )
