"""A scenario whose rows belong to classes: one best order for all rows, and one best order for each class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bench.scenario import Order, Phase, Scenario
from thalweg.cost.pipeline import best_order


@dataclass(frozen=True, eq=False)
class Routing:
    """The best routes of one phase, and the route of each of its rows."""

    routes: tuple[Order, ...]
    route: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Classed:
    """A scenario, the columns that a classifier may read, and the class of each row, which only the clairvoyant knows.

    In a scenario with phases, both references know the phase: the best single order is that of each phase, and the
    clairvoyant has the best order of each class in each phase.
    """

    scenario: Scenario
    by: tuple[str, ...]
    """The columns for `classify_by`."""
    classes: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return self.scenario.name

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.scenario.table.num_rows)

    @cached_property
    def clairvoyant(self) -> tuple[Routing, ...]:
        """The best routes of each phase, exactly, from all of its rows."""
        return tuple(map(self._routing, self.scenario.phases))

    def _routing(self, phase: Phase) -> Routing:
        here = slice(phase.start, phase.start + phase.rows)
        dropped, classes = ~self.scenario.passed[here], self.classes[here]
        routes: dict[Order, int] = {}
        route = np.zeros(phase.rows, np.int16)
        for one in np.unique(classes):
            rows = classes == one
            order, _ = best_order(dropped[rows], self.scenario.units)
            route[rows] = routes.setdefault(order, len(routes))
        return Routing(tuple(routes), route)

    @cached_property
    def single_evaluations(self) -> dict[str, int]:
        """The rows that each check sees in the best single order."""
        return self.scenario.evaluations(self.scenario.best_orders)

    @cached_property
    def clairvoyant_evaluations(self) -> dict[str, int]:
        """The rows that each check sees if each row takes the best order of its class."""
        counts: Counter[str] = Counter()
        for phase, routing in zip(self.scenario.phases, self.clairvoyant, strict=True):
            passed = self.scenario.passed[phase.start : phase.start + phase.rows]
            for number, order in enumerate(routing.routes):
                alive = passed[routing.route == number]
                for k in order:
                    counts[self.scenario.checks[k].name] += len(alive)
                    alive = alive[alive[:, k]]
        return {check.name: counts[check.name] for check in self.scenario.checks}

    @cached_property
    def possible_units(self) -> float:
        """The possible saving: what the clairvoyant saves over the best single order, in units per row."""
        scenario = self.scenario
        saved = scenario.weighted(self.single_evaluations) - scenario.weighted(self.clairvoyant_evaluations)
        return saved / self.rows
