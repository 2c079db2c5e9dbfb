"""Auto: the order with the least expected cost, learned within a budget (the future work of a-greedy, section 10).

Answers: which order to use, what to profile, and which filter to try further forward.

How it decides
- **The order** is always one with the least expected cost given what is known (`filter_order`): the shares measured on
  profiled rows and by ordinary work (`evidence`), shrunk toward independence if there are few rows, and the costs per
  row and per call. The order as written is one guess among many. A change costs nothing, so it need not be certain: a
  gain of `LEAST_GAIN` is enough.
- **What to profile**: on a sampled dropped row, every filter that could be worth its cost at the position where the row
  was dropped. At first every row of a short slice is profiled, then as many rows as the budget allows
  (`profiling_budget`) until `START` rows are known, then fewer and fewer. The window should hold rows from the whole
  time since the data moved. Each time the window confirms the order, the spending is halved, down to an eighth.
- **What to try**: a filter at the rear is timed on few rows, so it may cost much less than estimated. If that would
  change the order, one slice is run with the filter further forward (`trial_choice`). Uncertainty decides what is
  tried, not whether the order changes.
- **When the data moves**, the counts of ordinary work show it at no extra cost (`drift_alarm`). The order is judged
  again at once, `BURST` rows are profiled as fast as the budget allows, and slices are short again (`slice_length`).
  Data that moves too often to be followed is judged as a whole (`drift_alarm.Regimes`).
- **Workers of one host** share profiled rows and costs; rows of siblings count if they look like the worker's own.

Guarantee
- Budget: profiling, deciding and the losses of trials take at most the share `budget` of the time, plus a loan of
  `profiling_budget.LOAN_NS` and the first `FIRST_ROWS` rows, measured by the clock of the loop.
- Regret, if data and costs do not change. Assumptions: rows are independent; costs are known and do not depend on the
  values; there are no guards, fixed costs or `profile=False`; and m profiled rows, chosen independently of their
  outcomes, are known in full and weigh the same. Let B be the cost of a row if every filter is evaluated on it, C its
  cost in the best order, D the number of decisions, h the hedge (the larger of `evidence.LEAST_PASS` and
  `LEAST_DROP`), and G the factor by which the search misses the cheapest order of its own table (`filter_order`). With
  probability 1 - d the order in force after each decision costs per row at most

      G (C + e) / (1 - LEAST_GAIN) + e,   e = B (sqrt(ln(2 n! D / d) / (2 m)) + n PRIOR / m + n h)

  Proof. The cost of a row in an order lies between 0 and B. By Hoeffding's inequality and the union bound over n!
  orders and D decisions, every sampled cost is within the first term of e of the true one. At each position the prior
  changes the share of rows that pass by at most PRIOR / m, and the hedge by at most h. A share is a product of numbers
  between 0 and 1, so the changes at most add up over n positions, and each filter's cost is multiplied by such a share.
  Hence the cost of any order according to the table is within e of its true cost. The order found costs at most G times
  what the table gives for the best order, and an order is kept only if another would save less than `LEAST_GAIN`.
  Without the prior G <= 4, by Static Greedy alone (a-greedy, theorem 4.1). With the prior there is no such proof; tests
  compare with every order. Over N rows the regret is N times the amount by which the bound exceeds C, plus the budget:
  it is linear in N, because the window is finite. docs/benchmarks-generated.md shows what was measured where the
  assumptions do not hold.
Cost: limited by the budget.
Differs from the paper: the paper has no such algorithm. Its profile tuples and Static Greedy are used here. Its
thrashing avoidance is not, because a change costs nothing.

>>> policy = Auto(Pipeline(("even", "small")))
>>> bits = np.tile(np.array([[0, 1], [1, 1], [0, 1]], bool), (20, 1))  # `small` drops all, `even` a third
>>> nothing = np.zeros(2, np.int64)
>>> verdict = policy.update(Observation(nothing, nothing, nothing, np.full(2, 100.0), bits))
>>> verdict.order
(1, 0)
>>> print(verdict.reason)
small before even: of the rows that get there, small drops 100 % at 100 ns per row and even 33 % at 100 ns per row; \
a row is expected to take 101 ns instead of 167 ns, based on 60 profiled rows
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.drift_alarm import DriftAlarm, Regimes
from thalweg.adapt.evidence import WINDOW, Evidence
from thalweg.adapt.policy import (
    NEVER,
    Costs,
    Observation,
    ProfileSettings,
    ProfilingRequest,
    Trial,
    Verdict,
    everything,
    is_number,
    known_costs,
    known_fixed,
    restored_order,
)
from thalweg.adapt.positional_costs import PositionalCosts
from thalweg.adapt.profiling_budget import PooledBudget, ProfilingBudget
from thalweg.adapt.slice_length import FIRST_ROWS, MOST_ROWS, SliceLength
from thalweg.adapt.switch_reason import KnownFilters, switch_reason
from thalweg.adapt.trial_choice import choose_trial, in_doubt
from thalweg.cost.filter_order import CostModel, OrderCosts
from thalweg.errors import PlanError
from thalweg.formatting import percent, plural, whole_percent
from thalweg.plan.filters.pipeline import Pipeline

START, BURST = 192, 128
"""How many profiled rows are wanted soon: at the start, and after the data has moved."""
TOGETHER, LEAST_TOGETHER, MOST_TOGETHER = 32, 16, WINDOW // 8
"""How many profiled rows are collected for one update: if they are wanted soon, and otherwise the least and the
most."""
WORTH_A_SHOW = 8
"""How many profiled rows must be affordable before any are taken at once."""
LEAST_GAIN = 0.01
"""The share of the cost that another order must save."""
OTHER_COST, QUITE_OTHER_COST = 1.3, 3.0
"""A filter whose cost has changed by this factor is a reason to decide again. The second factor applies if the budget
is overspent."""
NEW, NEW_SHARE = 64, 0.25
"""This many new profiled rows are a reason to decide again, or this share of those known before."""
THOROUGH = 4
"""The first decisions, and then one in this many, are thorough: see `CostModel.cheapest`."""
STEADY, CALMEST = 0.6, 1.0 / 8.0
"""The share of the budget for steady profiling, and the least part of it that remains if nothing changes."""
CHEAP_ROWS = 1_024
"""Rows of the first slice, if rows are known to be cheap."""
PATIENCE = 8
"""How many decisions must be affordable before a stream that learns from another stream's rows profiles its own."""
NOTHING_SEEN = "not enough seen yet: no dropped row has been profiled"
FORMAT = 2
"""The format of snapshots; snapshots with another format are refused."""
LATE, LATE_NS = 4.0, 1_000_000
"""If work takes this many times longer than expected, and at least this long, the policy is updated early."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The settings of a policy whose only setting is its budget."""

    budget: float = 0.02
    """The share of the time that profiling, re-optimizing and the losses of trials may take."""

    def __post_init__(self) -> None:
        if not is_number(self.budget) or not 0.0 < self.budget <= 0.5:
            raise PlanError(
                f"budget={self.budget!r}: the share of the time for adapting must be above 0 and at most 0.5"
            )


class Auto:
    """The default policy: it has a budget and no other settings."""

    name: ClassVar[str] = "auto"
    defaults: ClassVar[ProfileSettings | BudgetSettings | None] = BudgetSettings()

    def __init__(
        self,
        pipeline: Pipeline,
        settings: BudgetSettings | None = None,
        rng: np.random.Generator | None = None,  # Auto draws nothing; the loop samples
    ) -> None:
        self.pipeline = pipeline
        self.order = pipeline.start
        self.standing = NOTHING_SEEN if len(pipeline) > 1 else "there is nothing to order"
        self.profiling_budget = ProfilingBudget((settings or BudgetSettings()).budget)
        self.evidence = Evidence(pipeline)
        self.alarm = DriftAlarm(pipeline.names)
        self.regimes = Regimes()
        self.slices = SliceLength()
        self.positional_costs = PositionalCosts()
        self.moved: str | None = None
        """Why the data is assumed to have moved; None once enough rows have been profiled since."""
        self._moves = self._rows = 0
        self._batch_rows = 0.0
        self._decisions = 0
        self._decided_costs: Numbers | None = None
        self._undecided = 0  # profiled rows since the last decision
        self._confirmed = 0  # profiled rows since the spending was last reduced
        self._calm = 1.0
        self._tried: dict[int, int] = {}  # rows seen when a filter was last tried
        self._trial: Trial | None = None
        self._weights: list[float] | None = None
        self._taken_fixed: Numbers | None = None  # the fixed costs of calls when the order was taken
        self._chosen_by: KnownFilters | None = None  # what was known when the order was chosen, or better since
        self._late_ns = NEVER
        self._joined = False  # this is the policy of one stream of a join
        self._guided = False  # the order of another policy can be used here
        self._evaluate = everything(self.order, pipeline)
        self._wants = self._request()

    def wants(self) -> ProfilingRequest:
        """Return what to profile or to try next, within the budget."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Account for the time spent, check for drift, decide, and set what to profile or to try next."""
        if len(self.pipeline) < 2:
            return None
        self._account(seen)
        self._record_costs(seen)
        costs = known_costs(seen.cost_ns)
        moved = self._look(seen)
        new = self._learn(seen, moved=moved)
        verdict = None
        reason = new or moved or seen.trial_ns or self._costs_changed(costs) or self._tried_elsewhere(costs, seen.costs)
        if reason and not self.follows:
            verdict = self._decide(costs, seen.costs)
        elif self.profiling_budget.opened:
            self.slices.grow(self.profiling_budget.time_ns)
        self._wants = self._request()
        return verdict

    def _account(self, seen: Observation) -> None:
        rows = int(seen.evaluated[self.order[0]])
        self._rows += rows
        if len(seen.profile):
            places = seen.profile[:, list(self.order)].argmax(axis=1)
            self._price(self._evaluate[places], known_costs(seen.cost_ns), seen.costs)
        self.profiling_budget.account(seen, rows)
        self._batch_rows += 0.25 * (seen.batch_rows - self._batch_rows) if self._batch_rows else seen.batch_rows
        if seen.trial_ns and self._wants.trial is not None:
            self._tried[self._wants.trial.candidate] = self._rows

    def _record_costs(self, seen: Observation) -> None:
        """Remember what filters cost at their current positions."""
        if seen.trial_ns or seen.calls is None or seen.costs is None:
            return
        fixed = known_fixed(seen.costs.fixed_ns)
        if self._taken_fixed is not None:
            # rows that cost more here look, in the first short calls, as if calls had become more expensive
            fixed = np.minimum(fixed, self._taken_fixed)
        busy = seen.busy_ns - seen.calls * fixed
        self.positional_costs.record(self.order, seen.evaluated.tolist(), busy.tolist(), self._rows)

    def _price(self, evaluated: NDArray[Any], costs: Numbers, more: Costs | None) -> None:
        """Set what profiling costs, per tuple and for the calls, if these filters are evaluated on the tuples."""
        fixed = np.zeros(len(costs)) if more is None else known_fixed(more.fixed_ns)
        self.profiling_budget.set_prices(float((evaluated @ costs).mean()), float(fixed[evaluated.any(axis=0)].sum()))

    def _look(self, seen: Observation) -> bool:
        """Return whether the data has moved and should be followed."""
        self.evidence.count(seen, self.order)
        moved = self.alarm.look(seen.evaluated.tolist(), seen.passed.tolist(), self._weights)
        if moved is None:
            return False
        self.regimes.move(self._rows)
        rows = int(seen.evaluated[self.order[0]])
        self.slices.urge(self.profiling_budget.time_ns, seen.working_ns / max(rows, 1))
        if self._volatile():
            return False
        self.moved = moved
        self._moves += self._joined  # sampled rows of a join may wait for a long time
        self.positional_costs.clear()
        self.evidence.moved(seen)
        self._confirmed, self._calm = 0, 1.0
        return True

    def _learn(self, seen: Observation, *, moved: bool) -> bool:
        """Take profiled rows, and return whether they are reason enough to decide again. If the data has just moved,
        the worker's own rows are discarded, and of siblings' rows only fresh ones are used, which are likely to come
        from the new data."""
        if seen.siblings is not None:
            others = seen.siblings[0][seen.siblings[1]] if moved else seen.siblings[0]
            self.evidence.add_siblings(others)
            self._undecided += len(others)
        if len(seen.profile) and not moved:
            self.evidence.add(seen.profile, seen.known)
            self._undecided += len(seen.profile)
            self._confirmed += len(seen.profile)
        before = len(self.evidence.window) + len(self.evidence.siblings) - self._undecided
        # siblings may bring rows after every slice; deciding each time could exceed the budget
        allowed = len(seen.profile) > 0 or self.profiling_budget.available_ns > 0.0
        return allowed and self._undecided > 0 and self._undecided >= min(NEW, NEW_SHARE * before)

    def _costs_changed(self, costs: Numbers) -> bool:
        old = self._decided_costs
        factor = OTHER_COST if self.profiling_budget.available_ns > 0.0 else QUITE_OTHER_COST
        return old is not None and bool((np.maximum(costs, old) > factor * np.minimum(costs, old)).any())

    def _tried_elsewhere(self, costs: Numbers, more: Costs | None) -> bool:
        """Return whether siblings have already measured what the next trial is meant to measure."""
        return self._trial is not None and more is not None and not in_doubt(costs, more)[self._trial.candidate]

    def _volatile(self) -> bool:
        return self.regimes.volatile(self._rows, self.profiling_budget)

    def _decide(self, costs: Numbers, more: Costs | None) -> Verdict | None:
        """Choose the cheapest order given what is known now; then choose what to try, what to profile, and how long
        slices are."""
        self._decided_costs = costs
        self._undecided = 0
        self._decisions += 1
        if self.moved is not None and self._volatile():
            self.moved = None
        if self.moved is not None and self.evidence.since_move >= BURST:
            self.evidence.forget_old()
            self.moved = None
        cost_model = self._cost_model(costs, more)
        walk = cost_model.walk(self.order)
        found = self._choose(cost_model, walk)
        known = KnownFilters.of(cost_model, self._known())
        verdict, careful = None, False
        if found is not walk:
            verdict = Verdict(found.order, self._reason(cost_model, walk, found, known))
            careful = self._cost_may_differ(found.order)
            self._take(found.order)
            self._taken_fixed = cost_model.fixed
            walk = found
        elif self._confirmed >= START:
            self._confirmed, self._calm = 0, max(self._calm / 2.0, CALMEST)
        if verdict is not None or self._chosen_by is None or known.profiled > self._chosen_by.profiled:
            self._chosen_by = known
        self.profiling_budget.lend(cost_model.most_gain(walk))
        self._try(cost_model, walk, more)
        self._aim(cost_model, walk, more)
        if careful:
            self.slices.take_care(self.profiling_budget.time_ns)
        return verdict

    def _choose(self, cost_model: CostModel, walk: OrderCosts) -> OrderCosts:
        """Return the cheapest order, or the one given if no other saves enough."""
        thorough = self.moved is not None or self._decisions <= THOROUGH or self._decisions % THOROUGH == 0
        found = self._unless_too_expensive(cost_model, walk, cost_model.cheapest(walk, thorough=thorough))
        return found if found.total_ns < walk.total_ns * (1.0 - LEAST_GAIN) else walk

    def _reason(self, cost_model: CostModel, walk: OrderCosts, found: OrderCosts, known: KnownFilters) -> str:
        """Return why another order was chosen."""
        return switch_reason(cost_model, walk, found, known, self._chosen_by, self.moved)

    def _unless_too_expensive(self, cost_model: CostModel, walk: OrderCosts, found: OrderCosts) -> OrderCosts:
        """Return the order found, unless its filters are known to cost much more at their new positions: then the best
        single move for which that is not known, or none."""
        if found is walk:
            return found
        costs = cost_model.costs.tolist()

        def measured_ns(other: OrderCosts) -> float:
            return other.total_ns + self.positional_costs.extra_ns(other.order, other.reach.tolist(), costs, self._rows)

        most = walk.total_ns * (1.0 - LEAST_GAIN)  # the expected costs are those at the current positions
        if measured_ns(found) < most:
            return found
        places = [divmod(int(place), len(costs)) for place in np.argsort(-walk.gains, axis=None)[: len(costs)]]
        moves = [cost_model.walk(walk.moved(to, of)) for to, of in places if walk.gains[to, of] > 0.0]
        return min([move for move in moves if measured_ns(move) < most], key=measured_ns, default=walk)

    def _cost_model(self, costs: Numbers, more: Costs | None) -> CostModel:
        table = self.evidence.table(self.order, old=self.moved is not None)
        fixed = np.zeros(len(costs)) if more is None else known_fixed(more.fixed_ns)
        slice_rows = min(float(self.slices.goal), max(self._batch_rows, 1.0))
        return CostModel(
            table.passes, table.weights, self.evidence.kept, costs, fixed, slice_rows, self.pipeline, self.evidence.runs
        )

    def _cost_may_differ(self, order: tuple[int, ...]) -> bool:
        """Return whether another order moves a filter forward whose cost depends on the filters before it."""
        was = {k: place for place, k in enumerate(self.order)}
        return any(was[k] > place and k in self.positional_costs.varying for place, k in enumerate(order))

    def _take(self, order: tuple[int, ...]) -> None:
        self.order = order
        self._confirmed, self._calm = 0, 1.0
        self.alarm.reset()
        self.evidence.switched()

    def _known(self) -> int:
        return len(self.evidence.window) + len(self.evidence.siblings)

    def _try(self, cost_model: CostModel, walk: OrderCosts, more: Costs | None) -> None:
        """Choose a trial, or set the reason why the order is kept."""
        self._trial, why_not = None, ""
        if more is not None and not self._joined:  # the cost of a probe is known from the entries it compares
            self._trial, why_not = choose_trial(
                cost_model, walk, more, self.profiling_budget,
                rows_seen=self._rows, batch_rows=self._batch_rows, tried=self._tried,
            )  # fmt: skip
        known = self._known()
        if self._trial is not None:
            self.standing = f"{self.pipeline.names[self._trial.candidate]} is being tried at an earlier position"
        elif known < FIRST_ROWS:
            self.standing = f"not enough seen yet: {plural(known, 'dropped row')} profiled"
        else:
            better = f"no other order is expected to save {whole_percent(LEAST_GAIN)}, based on {known:,} profiled rows"
            if self._wanted() > 0:
                budget = percent(self.profiling_budget.budget)
                better += f"; more are being profiled, as fast as the budget of {budget} allows"
            self.standing = why_not or f"nothing better found: {better}"

    def _aim(self, cost_model: CostModel, walk: OrderCosts, more: Costs | None) -> None:
        """Set which filters to evaluate on a sampled row: those that would be worth their cost at the position where
        the row was dropped if they dropped all rows that reach it. Also set how long slices are, and when to check for
        drift."""
        rest = walk.rest_ns()
        self._evaluate = everything(self.order, self.pipeline)
        if more is not None:
            price = more.least_ns + cost_model.fixed * (cost_model.calls(walk.reach) / walk.reach)[:, None]
            self._evaluate &= price < rest[:, None]
        at = walk.reach - np.append(walk.reach[1:], cost_model.kept)
        if at.sum() > 0.0:
            at /= at.sum()
            usual = self._evaluate[at > 0.01].any(axis=0)
            self.profiling_budget.set_prices(
                float(at @ self._evaluate @ cost_model.costs), float(cost_model.fixed[usual].sum())
            )
        # how much more all rows would cost if a filter let every row pass, as a share of their cost
        more_ns = np.append(walk.reach[:-1] * rest[1:], 0.0)
        weights = np.empty(len(self.order))
        weights[list(self.order)] = more_ns / max(walk.total_ns, 1e-9)
        self._weights = weights.tolist()
        most_ns = (
            cost_model.costs if more is None else np.where(np.isfinite(more.most_ns), more.most_ns, cost_model.costs)
        )
        late = max(self.profiling_budget.look_rows(), self.slices.rows)  # before the slices grow
        self._late_ns = int(LATE * walk.total_ns * late) + LATE_NS
        self.slices.aim(cost_model, walk, most_ns, self.profiling_budget, self._rows - self.regimes.moved_at)
        self.slices.grow(self.profiling_budget.time_ns)

    def _wanted(self) -> int:
        """Return how many more profiled rows are wanted soon."""
        return (BURST if self.moved is not None else START) - self.evidence.since_move

    def _request(self) -> ProfilingRequest:
        slice_rows, evaluate = self.slices.rows, self._evaluate
        # a profiled row marks which filters were evaluated on it, so it is valid in any order and for any worker
        wants = partial(ProfilingRequest, shared="auto", lasting=True, moves=self._moves)
        if not len(self.evidence.window) and self._rows < 8 * FIRST_ROWS and not self._guided:
            return wants(1.0, evaluate, rows=1, most=FIRST_ROWS, urgent=True, slice_rows=slice_rows)
        if self._trial is not None:
            return wants(0.0, evaluate, rows=1, slice_rows=slice_rows, trial=self._trial)
        dropped = 1.0 - self.evidence.kept
        rows = int(max(self.profiling_budget.look_rows(), 1)) if self.slices.settled else 1
        wanted = self._wanted()
        affordable = self.profiling_budget.tuples_at_once(PATIENCE if self._guided else 1)
        if wanted > 0 and affordable >= (wanted if self._guided else min(wanted, WORTH_A_SHOW)):
            most = min(wanted, affordable)
            p = min(1.0, 1.5 * most / (slice_rows * dropped))
            together = max(1, min(most, BURST if self._joined else TOGETHER))
            return wants(p, evaluate, together, rows, self._late_ns, most, urgent=True, slice_rows=slice_rows)
        together = int(
            min(max(3.0 * self.profiling_budget.show_ns / self.profiling_budget.each_ns, LEAST_TOGETHER), MOST_TOGETHER)
        )
        p = 0.0 if self.follows else self.profiling_budget.steadily(STEADY * self._calm, dropped, together)
        # the window should hold rows from the whole time since the data moved: neighboring rows are often alike
        since = self._rows if self._volatile() else self._rows - self.regimes.moved_at
        p = min(p, 2.0 * WINDOW / (max(since, slice_rows) * dropped))
        most = max(min(affordable, MOST_TOGETHER), together)
        return wants(p, evaluate, together, rows, self._late_ns, most, slice_rows=slice_rows)

    def join(self, credit: PooledBudget, *, follows: bool, leads: bool) -> None:
        """Make this the policy of one stream of a join, before anything is observed. All streams spend from one credit.
        A row costs so little that a decision takes as long as hundreds of rows, so the first slices are longer.
        `follows`: the order of another stream can be used here too (`begin`), so rows are profiled only if enough
        credit is left. `leads`: the order found here is used by others."""
        self.slices.rows = CHEAP_ROWS
        self.profiling_budget.credit = credit
        self.profiling_budget.serves_all = leads
        self._joined, self._guided = True, follows
        self._wants = self._request()

    def renew(self) -> None:
        """Check whether the shared credit now suffices to profile the rows that are wanted soon."""
        if self._wanted() > 0 and not self._wants.urgent and self.profiling_budget.tuples_at_once(2) >= WORTH_A_SHOW:
            self._wants = self._request()

    @property
    def follows(self) -> bool:
        """Whether another stream's order is based on more rows than this stream's own."""
        return self._guided and self.evidence.recent < BURST

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, or continue in an order that was found elsewhere."""
        self._take(order)
        self._evaluate = everything(order, self.pipeline)
        self._wants = self._request()

    def snapshot(self) -> dict[str, Any]:
        """Return the order, the profiled rows with what is known of them, and the measured costs."""
        return {
            "policy": self.name, "format": FORMAT, "order": list(self.order),
            "window": self.evidence.window.snapshot(),
            "price_ns": self.profiling_budget.snapshot(),
            "slice_rows": self.slices.goal,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's profiled rows, in its order."""
        order = restored_order(snapshot, self.name, self.pipeline)
        if snapshot.get("format") != FORMAT:  # before anything is changed
            raise PlanError(
                f"this snapshot of policy {self.name!r} was made by another version of Thalweg and cannot be used; "
                "learning starts again"
            )
        self.order = order
        self.evidence.restore(snapshot["window"])
        if len(self.pipeline) > 1 and len(self.evidence.window):
            known = plural(len(self.evidence.window), "profiled row")
            self.standing = (
                f"another worker chose this order, based on {known}; this worker has found no reason to change it yet"
            )
        elif len(self.pipeline) > 1:
            self.standing = "this is the order of another worker, which had profiled no row"
        self.evidence.switched()
        self.profiling_budget.restore(snapshot["price_ns"])
        self.alarm.reset()
        self.moved = self._trial = self._weights = self._decided_costs = self._chosen_by = None
        self.slices.goal = min(max(int(snapshot["slice_rows"]), 1), MOST_ROWS)
        if len(self.evidence.window):
            self.slices.rows = self.slices.goal
        self._evaluate = everything(self.order, self.pipeline)
        self._wants = self._request()
