"""The policy `chart`: the order of filters, and the plan of a join, are looked up in a chart.

Answers: the order of the region that contains the estimated pass shares and rows per call (OM, algorithm 2). The probes
of a join are ordered as by `auto`. The plan of a join is looked up in `runtime/joins/chart_lookup.py`; here are its
settings.
How: rows are profiled as by `auto`, within its budget. Each decision is a round: the share of all rows that a filter
passes is estimated from them, and the mean over the last rounds counts. The chart is made while filters run, because
their costs are measured, and made anew if costs change by a factor of `auto.OTHER_COST`. Its regions are filled when
they are first asked for.
Guarantee: the order of a region is the best one at its centroid, if filters are independent (`cost/order_load.py`).
If they depend on each other, it may be up to n times worse than the best one, as that of `independent`.
Cost: a look-up costs a few microseconds. The budget is that of `auto`. Judging whether the order in force was the best
one for what was observed costs about `JUDGE_NS`, and is done only as long as that takes at most the share `JUDGING` of
the budget.
Differs from the paper: the rate counts as the rows of a call, which is what depends on it. Only the least CPU time is
an objective, because no rows wait between the filters of a chain.

>>> from thalweg.adapt.policy import Observation
>>> policy = Chart(Pipeline(("even", "small")))
>>> bits = np.tile(np.array([[0, 1], [1, 1], [0, 1]], bool), (20, 1))  # `small` drops all, `even` a third
>>> nothing = np.zeros(2, np.int64)
>>> policy.update(Observation(nothing, nothing, nothing, np.full(2, 100.0), bits)).reason
'the chart has small → even: small passes 1 %, even passes 66.7 %, with 16,384 rows per call'

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, sections
4.3 to 4.5. It gives no values for d, a and the threshold; the defaults are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thalweg.adapt.auto import OTHER_COST, Auto, BudgetSettings
from thalweg.adapt.policy import Costs, is_number
from thalweg.adapt.switch_reason import KnownFilters
from thalweg.cost.filter_order import CostModel, OrderCosts
from thalweg.cost.order_load import EQUAL, FilterTimes, best_order, order_costs
from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.errors import PlanError
from thalweg.events.parts import ChartCounts
from thalweg.formatting import few_digits, percent, plural
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.joins.shape import Shape
from thalweg.stats.decayed_mean import DECAY, ROUNDS, THRESHOLD, DecayedMean, differs

MOST = 1e15
"""The largest decay and threshold."""
ROWS = "rows"
"""The dimension of the rows of a call; the others are the numbers of filters."""
RANGE = 4.0
"""A chart reaches from 0 to this many times the rows of the present calls."""
MOST_COMPARED = 5
"""All orders of so many filters are compared for a region. More would take longer than a decision of `auto`."""

JUDGE_NS = 120_000
"""The expected time of comparing an order with the best one, for `MOST_COMPARED` filters."""
JUDGING = 0.25
"""The share of the budget that such comparisons may take."""


@dataclass(frozen=True, slots=True)
class ChartSettings(BudgetSettings):
    """The settings of the policy `chart`."""

    parts: int = 10
    """The number of parts into which a chart cuts the range of each rate or share, k. Too few: several plans are the
    best in different places of one region. Too many: regions take long to fill."""
    rounds: int = ROUNDS
    """The number of past rounds that rates and shares are estimated from, d."""
    decay: float = DECAY
    """How much less a round counts than the one after it, a: by a factor of e^-a."""
    threshold: float = THRESHOLD
    """The share by which a join selectivity, or the pass share of a filter, must differ from its estimate to be
    estimated anew."""

    def __post_init__(self) -> None:
        BudgetSettings.__post_init__(self)  # super() without arguments fails in dataclasses with slots
        for name, least in (("parts", 2), ("rounds", 1)):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 1000:
                raise PlanError(f"{name}={value!r}: must be a whole number from {least} to 1000")
        for name in ("decay", "threshold"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= MOST:
                raise PlanError(f"{name}={value!r}: must be a number of at least 0 and at most {MOST:g}")


class Chart(Auto):
    """Orders from a chart; join plans too."""

    name: ClassVar[str] = "chart"
    defaults: ClassVar[Any] = ChartSettings()

    def __init__(
        self, pipeline: Pipeline, settings: ChartSettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self._made = settings or ChartSettings()
        self._shares = [DecayedMean(self._made.rounds, self._made.decay) for _ in pipeline.names]
        self._chart: PlanChart | None = None
        self._times: FilterTimes | None = None  # that the chart was made from
        self._region: tuple[int, ...] | None = None  # of the last look-up in this chart
        self._judged_ns = 0  # the expected time of all comparisons so far
        self.looked_up = ChartCounts()
        """How the chart was followed since the last report."""
        super().__init__(pipeline, self._made, rng)

    def _choose(self, cost_model: CostModel, walk: OrderCosts) -> OrderCosts:
        """Return the order of the region that the estimates are in. The probes of a join are ordered as by `auto`."""
        if self._joined:
            return super()._choose(cost_model, walk)
        if not self._known():
            return walk
        shares = cost_model.kept + (1.0 - cost_model.kept) * (1.0 - cost_model.drops)
        self._judge(walk.order, shares.tolist(), cost_model)
        point = self._estimate(shares.tolist(), cost_model.slice_rows)
        place = self._chart_for(point, cost_model).at(point)
        moved = self._region is not None and self._region != place.region
        estimates = tuple(round(point[str(k)], 6) for k in range(len(self.pipeline)))
        self.looked_up.look_up(moved=moved, is_outside=place.is_outside, shares=estimates)
        self._region = place.region
        order = tuple(int(str(k)) for k in place.plan)
        return walk if order == walk.order else cost_model.walk(order)

    def _judge(self, order: tuple[int, ...], shares: list[float], cost_model: CostModel) -> None:
        """Compare the order in force with the best one for the shares, rows per call and costs that were observed, if
        the budget allows it. The shares are those of the window of profiled rows: the few rows of one round alone would
        mostly show noise."""
        budget = self.profiling_budget
        allowed = self._judged_ns + JUDGE_NS <= JUDGING * budget.credit.earned_ns
        if not allowed or budget.available_ns < JUDGE_NS:
            return
        self._judged_ns += JUDGE_NS
        self.looked_up.judge(**judged(self._observed_times(cost_model), order, shares, cost_model.slice_rows))

    def _observed_times(self, cost_model: CostModel) -> FilterTimes:
        return FilterTimes(self.pipeline, tuple(cost_model.costs.tolist()), tuple(cost_model.fixed.tolist()))

    def _estimate(self, shares: list[float], slice_rows: float) -> dict[str, float]:
        """Return the pass shares and the rows per call for the next round. A share that differs by more than the
        threshold from its mean begins a new mean."""
        for mean, share in zip(self._shares, shares, strict=True):
            if len(mean) and differs(mean.mean, share, self._made.threshold):
                mean.clear()
            mean.add(share)
        return {ROWS: slice_rows, **{str(k): mean.mean for k, mean in enumerate(self._shares)}}

    def _chart_for(self, point: Mapping[str, float], cost_model: CostModel) -> PlanChart:
        """Return the chart; a new one if calls are larger than those of the last one, or if costs have changed."""
        if self._chart is None or not self._chart.dimensions[0].covers(point[ROWS]) or self._is_of_other(cost_model):
            times = self._observed_times(cost_model)
            parts, numbers = self._made.parts, range(len(self.pipeline))
            rows = Dimension(ROWS, 0.0, RANGE * max(point[ROWS], 1.0), parts)
            shares = (Dimension(str(k), 0.0, 1.0, parts, "passed by") for k in numbers)

            def choose(values: Mapping[str, float]) -> Shape:
                passes = [values[str(k)] for k in numbers]
                return tuple(map(str, best_order(times, passes, values[ROWS], most=MOST_COMPARED)))

            self._times, self._chart, self._region = times, PlanChart((rows, *shares), choose), None
        return self._chart

    def _is_of_other(self, cost_model: CostModel) -> bool:
        """Whether the chart was made from other costs per row."""
        assert self._times is not None
        old, new = np.array(self._times.per_row_ns), cost_model.costs
        return bool((np.maximum(new, old) > OTHER_COST * np.minimum(new, old)).any())

    def _reason(self, cost_model: CostModel, walk: OrderCosts, found: OrderCosts, known: KnownFilters) -> str:
        if self._joined:
            return super()._reason(cost_model, walk, found, known)
        names = self.pipeline.names
        shares = ", ".join(f"{names[k]} passes {percent(self._shares[k].mean)}" for k in found.order)
        order = " → ".join(names[k] for k in found.order)
        return f"the chart has {order}: {shares}, with {few_digits(cost_model.slice_rows)} rows per call"

    def _try(self, cost_model: CostModel, walk: OrderCosts, more: Costs | None) -> None:
        super()._try(cost_model, walk, more)
        if self._trial is None and self._chart is not None and not self._joined:
            self.standing = f"the chart has this order for the shares of {plural(self._known(), 'profiled row')}"

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's profiled rows, in its order."""
        super().restore(snapshot)
        self._chart = self._region = None
        for mean in self._shares:
            mean.clear()


def judged(times: FilterTimes, order: tuple[int, ...], shares: list[float], rows: float) -> dict[str, Any]:
    """Return whether an order is the best one at these pass shares and rows per call (`hit`), and by how many times its
    expected time exceeds that of the best one (`regret`). With more than `MOST_COMPARED` filters the best one is that
    of `best_order`'s ranks, as in the chart.

    >>> two = FilterTimes(Pipeline(("cheap", "slow")), per_row_ns=(100.0, 150.0), fixed_ns=(0.0, 0.0))
    >>> judged(two, (1, 0), [0.5, 0.5], 1_000.0)  # 150 + 0.5 * 100 instead of 100 + 0.5 * 150
    {'hit': False, 'regret': 1.1428571428571428}
    """
    best = best_order(times, shares, rows, most=MOST_COMPARED)
    mine, least = order_costs(times, np.array([order, best]), shares, rows).cpu_ns.tolist()
    return {"hit": mine <= least * (1.0 + EQUAL), "regret": max(mine / least, 1.0) if least > 0 else 1.0}
