"""Rounds of one query under a chart (OM, algorithm 2): look up, observe, estimate; and how good the plans were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.optimizer.plan_chart import Dimension, PlanChart
from thalweg.plan.join_shape import Shape
from thalweg.stats.decayed_mean import DecayedMean, differs

Values = Mapping[str, float]
"""What is observed in a round: rates and selectivities by name."""
EQUAL = 1 + 1e-12
"""Plans whose costs differ by less are equally good."""


@dataclass(frozen=True)
class Query:
    """A query with its candidate plans."""

    plans: tuple[Shape, ...]
    cost: Callable[[Shape, Values], float]
    """Returns the cost of a plan at observed or estimated values."""
    charted: tuple[str, ...]
    """The values that are dimensions of its chart."""
    held: tuple[str, ...] = ()
    """The values that a chart takes as constant: join selectivities."""

    def best(self, values: Values) -> Shape:
        """Return the plan with the least cost, the first if there are several."""
        return min(self.plans, key=lambda plan: self.cost(plan, values))


@dataclass
class Judged:
    """How good the plans of some rounds were."""

    hits: list[bool] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)

    def add(self, query: Query, plan: Shape, observed: Values) -> None:
        """Compare the plan of a round with the best one at the values that were observed."""
        least = query.cost(query.best(observed), observed)
        mine = query.cost(plan, observed)
        self.hits.append(mine <= least * EQUAL)
        self.regrets.append(max(mine / least, 1.0) if least else 1.0)

    @property
    def fidelity(self) -> float:
        """The share of rounds with the best plan."""
        return float(np.mean(self.hits))

    @property
    def regret(self) -> float:
        """The mean of the costs over those of the best plan."""
        return float(np.mean(self.regrets))

    def __str__(self) -> str:
        return f"{self.fidelity:.1%}, regret {self.regret:.3f}"


@dataclass
class Followed:
    """What happened to a query that followed its chart."""

    chart: Judged = field(default_factory=Judged)
    """The plans in force: looked up at the estimates."""
    anew: Judged = field(default_factory=Judged)
    """The plans that are the best at the estimates, without the chart's regions."""
    foreseen: Judged = field(default_factory=Judged)
    """The plans of the regions of the observed rates, as if the estimates were right."""
    constant: list[bool] = field(default_factory=list)
    """Whether the plan in force was the best one at the observed rates if the held values do not change."""
    plans: list[Shape] = field(default_factory=list)
    regions: list[tuple[int, ...]] = field(default_factory=list)
    estimates: list[dict[str, float]] = field(default_factory=list)
    outside: int = 0
    """Rounds whose estimates were outside the chart."""
    charts: int = 1
    """How many charts were made."""

    @property
    def moves(self) -> int:
        """How often the estimates entered another region."""
        return sum(one != other for one, other in zip(self.regions, self.regions[1:], strict=False))

    @property
    def switches(self) -> int:
        """How often a round had another plan than the one before."""
        return sum(one != other for one, other in zip(self.plans, self.plans[1:], strict=False))


class Rounds:
    """A query that follows its chart, one round at a time."""

    def __init__(self, query: Query, before: Sequence[Values], k: int) -> None:
        """`before`: what was observed earlier. It gives the ranges of the chart and the first estimates."""
        self.query = query
        self._dimensions = tuple(
            Dimension(name, min(seen[name] for seen in before), max(seen[name] for seen in before), k)
            for name in query.charted
        )
        self._means = {name: DecayedMean() for name in (*query.charted, *query.held)}
        for seen in before:
            self._observe(seen)
        self._held = {name: self._means[name].mean for name in query.held}
        self.made = self._chart()
        self.followed = Followed()

    def _observe(self, seen: Values) -> None:
        for name, mean in self._means.items():
            mean.add(seen[name])

    def _chart(self) -> PlanChart:
        held = dict(self._held)
        return PlanChart(self._dimensions, lambda point: self.query.best({**held, **point}))

    def run(self, observed: Values) -> None:
        """Run one round, in which these values are observed."""
        query, followed = self.query, self.followed
        estimates = {name: self._means[name].mean for name in query.charted}
        place = self.made.at(estimates)
        now = {name: observed[name] for name in query.charted}
        followed.chart.add(query, place.plan, observed)
        followed.anew.add(query, self.made.choose(estimates), observed)
        followed.foreseen.add(query, self.made.at(now).plan, observed)
        followed.constant.append(place.plan == self.made.choose(now))
        followed.plans.append(place.plan)
        followed.regions.append(place.region)
        followed.estimates.append(estimates)
        followed.outside += place.is_outside
        self._observe(observed)
        if any(differs(self._held[name], observed[name]) for name in query.held):
            self._held = {name: self._means[name].mean for name in query.held}
            self.made = self._chart()
            followed.charts += 1


def follow(query: Query, before: Sequence[Values], rounds: Sequence[Values], k: int) -> Followed:
    """Run a query for some rounds, with a chart of k parts per dimension."""
    running = Rounds(query, before, k)
    for observed in rounds:
        running.run(observed)
    return running.followed


def at_random(query: Query, rounds: Sequence[Values], seed: int = 0) -> Judged:
    """Judge plans that are drawn in each round (RAND)."""
    rng = np.random.default_rng(seed)
    judged = Judged()
    for observed in rounds:
        judged.add(query, query.plans[int(rng.integers(len(query.plans)))], observed)
    return judged


def static(query: Query, before: Sequence[Values], rounds: Sequence[Values]) -> Judged:
    """Judge the plan that is the best at the means of earlier rounds, and stays (RATE)."""
    plan = query.best({name: float(np.mean([seen[name] for seen in before])) for name in before[0]})
    judged = Judged()
    for observed in rounds:
        judged.add(query, plan, observed)
    return judged
