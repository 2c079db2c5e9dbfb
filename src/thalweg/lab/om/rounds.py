"""Rounds of one query under a chart (OM, algorithm 2): look up, observe, estimate; and how good the plans were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.formatting import few_digits
from thalweg.plan.joins.shape import Shape
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

    def costs(self, values: Values) -> dict[Shape, float]:
        """Return the cost of each plan."""
        return {plan: self.cost(plan, values) for plan in self.plans}

    def best(self, values: Values) -> Shape:
        """Return the plan with the least cost, the first if there are several."""
        costs = self.costs(values)
        least = min(costs.values())
        return next(plan for plan, cost in costs.items() if cost <= least * EQUAL)


@dataclass
class Judged:
    """How good the plans of some rounds were."""

    hits: list[bool] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)
    cost: float = 0.0
    least: float = 0.0
    """The sums of the costs of these plans, and of the best ones."""

    def add(self, plan: Shape, costs: Mapping[Shape, float]) -> None:
        """Compare the plan of a round with the best one, by their costs at the values that were observed."""
        mine, least = costs[plan], min(costs.values())
        self.hits.append(mine <= least * EQUAL)
        self.regrets.append(max(mine / least, 1.0) if least else 1.0)
        self.cost += mine
        self.least += least

    @property
    def fidelity(self) -> float:
        """The share of rounds with the best plan."""
        return float(np.mean(self.hits))

    @property
    def regret(self) -> float:
        """The mean of the costs over those of the best plan."""
        return float(np.mean(self.regrets))

    @property
    def total(self) -> float:
        """The cost of all rounds over that of the best plans."""
        return self.cost / self.least

    def __str__(self) -> str:
        return f"{self.fidelity:.1%}, regret {few_digits(self.regret)}, total {few_digits(self.total)}"


@dataclass
class Followed:
    """What happened to a query that followed its chart."""

    chart: Judged = field(default_factory=Judged)
    """The plans in force: looked up at the estimates."""
    anew: Judged = field(default_factory=Judged)
    """The plans that are the best at the estimates, without the chart's regions."""
    foreseen: Judged = field(default_factory=Judged)
    """The plans of the regions of the observed rates, as if their estimates were right."""
    selected: Judged = field(default_factory=Judged)
    """The plans that are the best at the estimated rates, as if those of held values were right."""
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
        return sum(one != other for one, other in pairwise(self.regions))

    def moves_of(self, dimension: int) -> int:
        """Return how often they entered another part of one dimension."""
        return sum(one[dimension] != other[dimension] for one, other in pairwise(self.regions))

    @property
    def switches(self) -> int:
        """How often a round had another plan than the one before."""
        return sum(one != other for one, other in pairwise(self.plans))


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
        costs = query.costs(observed)
        followed.chart.add(place.plan, costs)
        followed.anew.add(self.made.choose(estimates), costs)
        followed.foreseen.add(self.made.at(now).plan, costs)
        followed.selected.add(query.best({**observed, **estimates}), costs)
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


def at_random(query: Query, rounds: Sequence[Values], draws: int = 10, seed: int = 0) -> Judged:
    """Judge plans that are drawn in each round (RAND), several times for all rounds."""
    rng = np.random.default_rng(seed)
    judged = Judged()
    for costs in [query.costs(observed) for observed in rounds] * draws:
        judged.add(query.plans[int(rng.integers(len(query.plans)))], costs)
    return judged


def static(query: Query, before: Sequence[Values], rounds: Sequence[Values]) -> Judged:
    """Judge the plan that is the best at the means of earlier rounds, and stays (RATE)."""
    return stays(
        query, query.best({name: float(np.mean([seen[name] for seen in before])) for name in before[0]}), rounds
    )


def stays(query: Query, plan: Shape, rounds: Sequence[Values]) -> Judged:
    """Judge one plan for all rounds."""
    judged = Judged()
    for observed in rounds:
        judged.add(plan, query.costs(observed))
    return judged
