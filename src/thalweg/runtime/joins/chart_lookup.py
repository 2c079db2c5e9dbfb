"""The chart that a running join follows, and where in it the join is.

Answers: `at(rates)`, the plan for the estimated rates of the next round.
How: a chart that was made before the start is used as it is; a point outside has the plan of the nearest region. If
nothing was known before the start, the chart is made from what the first rounds have counted, for rates from 0 to four
times of theirs, and is made anew when the rates leave it, or when the shares of pairs that join change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from thalweg.cost.plan_chart import Dimension, Place, PlanChart
from thalweg.plan.joins.shape import Shape
from thalweg.stats.decayed_mean import differs

RANGE = 4.0
"""A chart that is made while the join runs reaches from 0 to this many times the present rates."""


@dataclass
class ChartLookup:
    """The chart of one join, or of one bucket of it."""

    chart: PlanChart | None
    """None: it is made when enough is known."""
    parts: int = 10
    region: tuple[int, ...] | None = field(default=None, init=False)
    """Where the join is now; None before the first look-up."""
    made_here: bool = field(default=False, init=False)
    _shares: dict[tuple[str, str], float] = field(default_factory=dict, init=False)
    """The shares of pairs that join that the chart was made from."""

    def at(
        self, rates: Mapping[str, float], choose: Callable[[Mapping[str, float]], Shape] | None, *,
        can_choose: bool = True,
    ) -> Place | None:  # fmt: skip
        """Return the place of rates in rows per second; None if there is no chart, or if the plan of the region is not
        known and there is no time to choose it. `choose`: returns the best plan for such rates, if enough is known to
        make a chart."""
        if choose is not None and (self.chart is None or (self.made_here and not self._covers(rates))):
            dimensions = tuple(
                Dimension(alias, 0.0, rate * RANGE or 1.0, self.parts) for alias, rate in rates.items()
            )  # fmt: skip
            self.chart, self.made_here, self.region = PlanChart(dimensions, choose), True, None
        if self.chart is None or not (can_choose or self.chart.knows(rates)):
            return None
        return self.chart.at(rates)

    def _covers(self, rates: Mapping[str, float]) -> bool:
        assert self.chart is not None
        return all(each.covers(rates[each.name]) for each in self.chart.dimensions)

    def renew(self, shares: Mapping[tuple[str, str], float], threshold: float) -> None:
        """Forget a chart that was made here if a share of pairs that join differs from what it was made from."""
        if any(pair in shares and differs(share, shares[pair], threshold) for pair, share in self._shares.items()):
            self.forget()
        if self.chart is None:
            self._shares = dict(shares)

    def forget(self) -> None:
        """Forget a chart that was made here, because what it was made from has changed."""
        if self.made_here:
            self.chart, self.made_here = None, False

    def moved(self, place: Place) -> bool:
        """Whether a place is in another region than the last one. It is the last one from now on."""
        before, self.region = self.region, place.region
        return before is not None and before != place.region
