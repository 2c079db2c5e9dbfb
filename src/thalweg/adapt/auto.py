"""Auto: the order of least expected cost, learned within a budget (the future work of a-greedy, section 10).

Answers: which order to use, what to profile, and which filter to try further forward.

How it decides
- **The order** is always one of least expected cost under what is known (`outlook`): the shares that profiled rows and
  ordinary work show (`evidence`), shrunk towards independence where few rows speak, and costs per row and per call. The
  order as written is one guess among many. A change costs nothing, so it need not be certain: `LEAST_GAIN` is enough.
- **What to profile**: on a sampled dropped row, every filter that could be worth its price where the row was dropped.
  At first every row of a short slice, then as much as the budget allows (`purse`) until `START` rows are known, then
  less and less: the window is to hold rows from all the time since the data moved, and each time it confirms the order,
  half as much is spent, down to an eighth.
- **What to try**: a filter at the rear is timed on few rows, so it may cost much less than it seems. If that would
  change the order, one slice is run with the filter further forward (`trial_choice`). Doubt decides what is tried, not
  whether the order changes.
- **When the data moves** is seen from what ordinary work drops, for nothing (`drift_alarm`). The order is judged anew
  at once; `BURST` rows are profiled as fast as the budget allows; slices are short again (`slice_length`). Data that
  moves too often to be followed is judged as a whole (`regimes`).
- **Workers of one host** share profiled rows and costs; rows of siblings count where they look like one's own.

Guarantee
- Budget: profiling, deciding and what trials lose take at most `budget` of the time, and besides a loan of
  `purse.LOAN_NS` and the first `FIRST_ROWS` rows, by the clock it is given.
- Regret, where data and costs do not change. Assumed: rows are independent, costs are known and do not depend on the
  values, there are no guards, fixed costs or `profile=False`, and m profiled rows, chosen independently of what they
  show, are known in full and weigh the same. Let B be what a row costs if every filter is evaluated on it, C what it
  costs in the best order, D the number of decisions, h the hedge (the larger of `evidence.LEAST_PASS` and
  `LEAST_DROP`), and G the factor by which the search misses the cheapest order of its own table (`outlook`). With
  probability 1 - d the order in force after each decision costs per row at most

      G (C + e) / (1 - LEAST_GAIN) + e,   e = B (sqrt(ln(2 n! D / d) / (2 m)) + n PRIOR / m + n h)

  Proof. The cost of a row in an order lies between 0 and B. By Hoeffding's inequality and the union bound over n!
  orders and D decisions, every sampled cost is within the first term of e of the true one. At each position the prior
  changes the share of rows that get past by at most PRIOR / m, and the hedge by at most h: a share is a product of
  numbers between 0 and 1, so the changes at most add up over n positions, and each filter's cost is multiplied by such
  a share. Hence what the table says of any order is within e of the truth; the order found costs at most G times what
  the table says of the best order, and an order is kept only if another would save less than `LEAST_GAIN`.
  Without the prior G <= 4, by Static Greedy alone (a-greedy, theorem 4.1). With it there is no such proof; tests
  compare with every order. Over N rows the regret is N times what the bound exceeds C by, plus the budget: it is
  linear in N, as the window is finite. Where assumptions fail, docs/benchmarks-generated.md has what is met.
Cost: as the budget says.
Differs from the paper: it has no such algorithm. Its profile tuples and Static Greedy are used here; thresholds that
avoid thrashing are not, since a change costs nothing.

>>> policy = Auto(Pipeline(("even", "small")))
>>> bits = np.tile(np.array([[0, 1], [1, 1], [0, 1]], bool), (20, 1))  # `small` drops all, `even` a third
>>> nothing = np.zeros(2, np.int64)
>>> verdict = policy.update(Seen(nothing, nothing, nothing, np.full(2, 100.0), bits))
>>> verdict.order, verdict.reason
((1, 0), 'small before even: a row is expected to take 101 ns instead of 167 ns, by 60 profiled rows')
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
from thalweg.adapt.met_costs import MetCosts
from thalweg.adapt.outlook import Outlook, Walk
from thalweg.adapt.policy import (
    NEVER,
    Costs,
    ProfileSettings,
    Seen,
    Trial,
    Verdict,
    Wants,
    duration,
    everything,
    is_number,
    known_costs,
    known_fixed,
    restored_order,
)
from thalweg.adapt.purse import Credit, Purse
from thalweg.adapt.slice_length import FIRST_ROWS, MOST_ROWS, SliceLength
from thalweg.adapt.trial_choice import choose_trial, in_doubt
from thalweg.errors import PlanError
from thalweg.plan.pipeline import Pipeline

START, BURST = 192, 128
"""Profiled rows wanted soon, to begin with and when the data has moved."""
TOGETHER, LEAST_TOGETHER, MOST_TOGETHER = 32, 16, WINDOW // 8
"""Profiled rows worth one look: when they are wanted soon, and else at least and at most."""
WORTH_A_SHOW = 8
"""Profiled rows that must be affordable before any are taken at once."""
LEAST_GAIN = 0.01
"""The share of the cost that another order must save."""
OTHER_COST, QUITE_OTHER_COST = 1.3, 3.0
"""A filter whose cost has changed by this factor is a reason to decide again; the second one, when in debt."""
NEW, NEW_SHARE = 64, 0.25
"""So are so many new profiled rows, or this share of those known before."""
THOROUGH = 4
"""One decision in so many, and the first ones, are thorough: see `Outlook.cheapest`."""
STEADY, CALMEST = 0.6, 1.0 / 8.0
"""The share of the budget for steady profiling, and the least part of it that remains when nothing changes."""
CHEAP_ROWS = 1_024
"""The first slice, where rows are known to be cheap."""
PATIENCE = 8
"""Decisions that must be affordable before a stream that learns from another's rows profiles its own."""
NOTHING_SEEN = "not enough seen yet: no dropped row has been profiled"
FORMAT = 2
"""Of snapshots: others are refused."""
LATE, LATE_NS = 4.0, 1_000_000
"""Work that takes so many times longer than expected is a reason to look, if it takes so long."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """For a policy that sets everything else by itself."""

    budget: float = 0.02
    """The share of the time that profiling, re-optimizing and what trials lose may take."""

    def __post_init__(self) -> None:
        if not is_number(self.budget) or not 0.0 < self.budget <= 0.5:
            raise PlanError(f"budget={self.budget!r}: the share of the time for adapting must be above 0, at most 0.5")


class Auto:
    """One budget, no other knobs."""

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
        self.purse = Purse((settings or BudgetSettings()).budget)
        self.evidence = Evidence(pipeline)
        self.alarm = DriftAlarm(pipeline.names)
        self.regimes = Regimes()
        self.slices = SliceLength()
        self.met = MetCosts()
        self.moved: str | None = None
        """Why the data is held to have moved, until enough has been profiled since."""
        self._moves = self._rows = 0
        self._batch_rows = 0.0
        self._decisions = 0
        self._decided_costs: Numbers | None = None
        self._undecided = 0  # profiled rows since the last decision
        self._confirmed = 0  # and since less was last spent
        self._calm = 1.0
        self._tried: dict[int, int] = {}  # rows seen when a filter was last tried
        self._trial: Trial | None = None
        self._weights: list[float] | None = None
        self._taken_fixed: Numbers | None = None  # what calls were known to cost when the order was taken
        self._late_ns = NEVER
        self._joined = False  # this is the policy of one stream of a join
        self._guided = False  # there is another policy whose order serves here
        self._evaluate = everything(self.order, pipeline)
        self._wants = self._wish()

    def wants(self) -> Wants:
        """As much as the budget allows, or less."""
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        """Account, look for drift, decide, and set what to profile or to try next."""
        if len(self.pipeline) < 2:
            return None
        self._account(seen)
        self._meet(seen)
        costs = known_costs(seen.cost_ns)
        moved = self._look(seen)
        new = self._learn(seen, moved=moved)
        verdict = None
        reason = new or moved or seen.trial_ns or self._costs_changed(costs) or self._tried_elsewhere(costs, seen.costs)
        if reason and not self.follows:
            verdict = self._decide(costs, seen.costs)
        elif self.purse.opened:
            self.slices.grow(self.purse.time_ns)
        self._wants = self._wish()
        return verdict

    def _account(self, seen: Seen) -> None:
        rows = int(seen.evaluated[self.order[0]])
        self._rows += rows
        if len(seen.profile):
            places = seen.profile[:, list(self.order)].argmax(axis=1)
            self._price(self._evaluate[places], known_costs(seen.cost_ns), seen.costs)
        self.purse.account(seen, rows)
        self._batch_rows += 0.25 * (seen.batch_rows - self._batch_rows) if self._batch_rows else seen.batch_rows
        if seen.trial_ns and self._wants.trial is not None:
            self._tried[self._wants.trial.candidate] = self._rows

    def _meet(self, seen: Seen) -> None:
        """Remember what filters cost where they stand."""
        if seen.trial_ns or seen.calls is None or seen.costs is None:
            return
        fixed = known_fixed(seen.costs.fixed_ns)
        if self._taken_fixed is not None:
            # rows that cost more here look, in the first short calls, as if calls had become more expensive
            fixed = np.minimum(fixed, self._taken_fixed)
        busy = seen.busy_ns - seen.calls * fixed
        self.met.record(self.order, seen.evaluated.tolist(), busy.tolist(), self._rows)

    def _price(self, evaluated: NDArray[Any], costs: Numbers, more: Costs | None) -> None:
        """What profiling costs: one tuple more, and calls, for tuples on which these filters are evaluated."""
        fixed = np.zeros(len(costs)) if more is None else known_fixed(more.fixed_ns)
        self.purse.set_prices(float((evaluated @ costs).mean()), float(fixed[evaluated.any(axis=0)].sum()))

    def _look(self, seen: Seen) -> bool:
        """Whether the data has moved, and is to be followed."""
        self.evidence.count(seen, self.order)
        moved = self.alarm.look(seen.evaluated.tolist(), seen.passed.tolist(), self._weights)
        if moved is None:
            return False
        self.regimes.move(self._rows)
        rows = int(seen.evaluated[self.order[0]])
        self.slices.urge(self.purse.time_ns, seen.working_ns / max(rows, 1))
        if self._volatile():
            return False
        self.moved = moved
        self._moves += self._joined  # rows of a join may wait for long
        self.met.clear()
        self.evidence.moved(seen)
        self._confirmed, self._calm = 0, 1.0
        return True

    def _learn(self, seen: Seen, *, moved: bool) -> bool:
        """Take profiled rows; whether they are reason enough to decide again. When the data has just moved, own rows
        are of no use, and of siblings' rows those that are fresh, which are likely to be of what it is now."""
        if seen.siblings is not None:
            others = seen.siblings[0][seen.siblings[1]] if moved else seen.siblings[0]
            self.evidence.add_siblings(others)
            self._undecided += len(others)
        if len(seen.profile) and not moved:
            self.evidence.add(seen.profile, seen.known)
            self._undecided += len(seen.profile)
            self._confirmed += len(seen.profile)
        before = len(self.evidence.window) + len(self.evidence.siblings) - self._undecided
        # siblings may bring rows after every slice; deciding each time could cost more than there is to spend
        allowed = len(seen.profile) > 0 or self.purse.available_ns > 0.0
        return allowed and self._undecided > 0 and self._undecided >= min(NEW, NEW_SHARE * before)

    def _costs_changed(self, costs: Numbers) -> bool:
        old = self._decided_costs
        factor = OTHER_COST if self.purse.available_ns > 0.0 else QUITE_OTHER_COST
        return old is not None and bool((np.maximum(costs, old) > factor * np.minimum(costs, old)).any())

    def _tried_elsewhere(self, costs: Numbers, more: Costs | None) -> bool:
        """Whether siblings have found what the trial that comes next was for."""
        return self._trial is not None and more is not None and not in_doubt(costs, more)[self._trial.candidate]

    def _volatile(self) -> bool:
        return self.regimes.volatile(self._rows, self.purse)

    def _decide(self, costs: Numbers, more: Costs | None) -> Verdict | None:
        """The cheapest order under what is known now; then what to try, to profile, and how long slices are."""
        self._decided_costs = costs
        self._undecided = 0
        self._decisions += 1
        if self.moved is not None and self._volatile():
            self.moved = None
        if self.moved is not None and self.evidence.since_move >= BURST:
            self.evidence.forget_old()
            self.moved = None
        outlook = self._outlook(costs, more)
        walk = outlook.walk(self.order)
        thorough = self.moved is not None or self._decisions <= THOROUGH or self._decisions % THOROUGH == 0
        found = self._tenable(outlook, walk, outlook.cheapest(walk, thorough=thorough))
        verdict, careful = None, False
        if found.total_ns < walk.total_ns * (1.0 - LEAST_GAIN):
            verdict = Verdict(found.order, self._reason(walk, found))
            careful = self._cost_may_differ(found.order)
            self._take(found.order)
            self._taken_fixed = outlook.fixed
            walk = found
        elif self._confirmed >= START:
            self._confirmed, self._calm = 0, max(self._calm / 2.0, CALMEST)
        self.purse.lend(outlook.most_gain(walk))
        self._try(outlook, walk, more)
        self._aim(outlook, walk, more)
        if careful:
            self.slices.take_care(self.purse.time_ns)
        return verdict

    def _tenable(self, outlook: Outlook, walk: Walk, found: Walk) -> Walk:
        """The order found, unless its filters have been met where it puts them and cost much more there: then the best
        single move of which that is not known, or none."""
        if found is walk:
            return found
        costs = outlook.costs.tolist()

        def met_ns(other: Walk) -> float:
            return other.total_ns + self.met.extra_ns(other.order, other.reach.tolist(), costs, self._rows)

        most = walk.total_ns * (1.0 - LEAST_GAIN)  # what filters cost where they stand now is what is expected
        if met_ns(found) < most:
            return found
        places = [divmod(int(place), len(costs)) for place in np.argsort(-walk.gains, axis=None)[: len(costs)]]
        moves = [outlook.walk(walk.moved(to, of)) for to, of in places if walk.gains[to, of] > 0.0]
        return min([move for move in moves if met_ns(move) < most], key=met_ns, default=walk)

    def _outlook(self, costs: Numbers, more: Costs | None) -> Outlook:
        table = self.evidence.table(self.order, old=self.moved is not None)
        fixed = np.zeros(len(costs)) if more is None else known_fixed(more.fixed_ns)
        slice_rows = min(float(self.slices.goal), max(self._batch_rows, 1.0))
        return Outlook(
            table.passes, table.weights, self.evidence.kept, costs, fixed, slice_rows, self.pipeline, self.evidence.runs
        )

    def _cost_may_differ(self, order: tuple[int, ...]) -> bool:
        """Whether another order moves a filter forward whose cost depends on the filters before it."""
        was = {k: place for place, k in enumerate(self.order)}
        return any(was[k] > place and k in self.met.varying for place, k in enumerate(order))

    def _take(self, order: tuple[int, ...]) -> None:
        self.order = order
        self._confirmed, self._calm = 0, 1.0
        self.alarm.reset()
        self.evidence.switched()

    def _reason(self, old: Walk, new: Walk) -> str:
        place = next(i for i, (was, now) in enumerate(zip(old.order, new.order, strict=True)) if was != now)
        comes, stood = self.pipeline.names[new.order[place]], self.pipeline.names[old.order[place]]
        text = (
            f"{comes} before {stood}: a row is expected to take {duration(new.total_ns)} instead of "
            f"{duration(old.total_ns)}, by {self._known():,} profiled rows"
        )
        return f"{self.moved}; {text}" if self.moved else text

    def _known(self) -> int:
        return len(self.evidence.window) + len(self.evidence.siblings)

    def _try(self, outlook: Outlook, walk: Walk, more: Costs | None) -> None:
        """Choose a trial, or say why the order is kept."""
        self._trial, why_not = None, ""
        if more is not None and not self._joined:  # what a probe costs is known from the entries it compares
            self._trial, why_not = choose_trial(
                outlook, walk, more, self.purse,
                rows_seen=self._rows, batch_rows=self._batch_rows, tried=self._tried,
            )  # fmt: skip
        known = self._known()
        if self._trial is not None:
            self.standing = f"{self.pipeline.names[self._trial.candidate]} is being tried further forward"
        elif known < FIRST_ROWS:
            self.standing = f"not enough seen yet: {known} dropped rows have been profiled"
        else:
            better = f"no other order is expected to save {100 * LEAST_GAIN:.0f} %, by {known:,} profiled rows"
            self.standing = why_not or f"nothing better found: {better}"

    def _aim(self, outlook: Outlook, walk: Walk, more: Costs | None) -> None:
        """Set what to evaluate on a sampled row: a filter that would be worth its price where the row was dropped, if
        it dropped everything that gets there. And how long slices are, and when to look."""
        rest = walk.rest_ns()
        self._evaluate = everything(self.order, self.pipeline)
        if more is not None:
            price = more.least_ns + outlook.fixed * (outlook.calls(walk.reach) / walk.reach)[:, None]
            self._evaluate &= price < rest[:, None]
        at = walk.reach - np.append(walk.reach[1:], outlook.kept)
        if at.sum() > 0.0:
            at /= at.sum()
            usual = self._evaluate[at > 0.01].any(axis=0)
            self.purse.set_prices(float(at @ self._evaluate @ outlook.costs), float(outlook.fixed[usual].sum()))
        # what all rows would cost more if a filter let every row pass, as a share of what they cost
        more_ns = np.append(walk.reach[:-1] * rest[1:], 0.0)
        weights = np.empty(len(self.order))
        weights[list(self.order)] = more_ns / max(walk.total_ns, 1e-9)
        self._weights = weights.tolist()
        most_ns = outlook.costs if more is None else np.where(np.isfinite(more.most_ns), more.most_ns, outlook.costs)
        late = max(self.purse.look_rows(), self.slices.rows)  # before the slices grow
        self._late_ns = int(LATE * walk.total_ns * late) + LATE_NS
        self.slices.aim(outlook, walk, most_ns, self.purse, self._rows - self.regimes.moved_at)
        self.slices.grow(self.purse.time_ns)

    def _wanted(self) -> int:
        """Profiled rows that are wanted soon."""
        return (BURST if self.moved is not None else START) - self.evidence.since_move

    def _wish(self) -> Wants:
        slice_rows, evaluate = self.slices.rows, self._evaluate
        # what is known of a profiled row is marked, so it holds in any order and for any worker
        wants = partial(Wants, shared="auto", lasting=True, moves=self._moves)
        if not len(self.evidence.window) and self._rows < 8 * FIRST_ROWS and not self._guided:
            return wants(1.0, evaluate, rows=1, most=FIRST_ROWS, urgent=True, slice_rows=slice_rows)
        if self._trial is not None:
            return wants(0.0, evaluate, rows=1, slice_rows=slice_rows, trial=self._trial)
        dropped = 1.0 - self.evidence.kept
        rows = int(max(self.purse.look_rows(), 1)) if self.slices.settled else 1
        wanted = self._wanted()
        affordable = self.purse.tuples_at_once(PATIENCE if self._guided else 1)
        if wanted > 0 and affordable >= (wanted if self._guided else min(wanted, WORTH_A_SHOW)):
            most = min(wanted, affordable)
            p = min(1.0, 1.5 * most / (slice_rows * dropped))
            together = max(1, min(most, BURST if self._joined else TOGETHER))
            return wants(p, evaluate, together, rows, self._late_ns, most, urgent=True, slice_rows=slice_rows)
        together = int(min(max(3.0 * self.purse.show_ns / self.purse.each_ns, LEAST_TOGETHER), MOST_TOGETHER))
        p = 0.0 if self.follows else self.purse.steadily(STEADY * self._calm, dropped, together)
        # the window is to hold some of everything since the data moved: neighbouring rows are often alike
        since = self._rows if self._volatile() else self._rows - self.regimes.moved_at
        p = min(p, 2.0 * WINDOW / (max(since, slice_rows) * dropped))
        most = max(min(affordable, MOST_TOGETHER), together)
        return wants(p, evaluate, together, rows, self._late_ns, most, slice_rows=slice_rows)

    def join(self, credit: Credit, *, follows: bool, leads: bool) -> None:
        """Before anything is seen: this policy is that of one stream of a join. Streams spend from one credit. A row
        costs so little that a decision takes as long as hundreds of them, so slices begin longer. `follows`: the order
        of another stream serves here, too (`begin`), so rows are profiled when there is enough left for that. `leads`:
        the order found here serves others."""
        self.slices.rows = CHEAP_ROWS
        self.purse.credit = credit
        self.purse.serves_all = leads
        self._joined, self._guided = True, follows
        self._wants = self._wish()

    def renew(self) -> None:
        """Others who spend from the same credit may have left enough to profile the rows that are wanted."""
        if self._wanted() > 0 and not self._wants.urgent and self.purse.tuples_at_once(2) >= WORTH_A_SHOW:
            self._wants = self._wish()

    @property
    def follows(self) -> bool:
        """Whether another stream's order is better founded than one from here."""
        return self._guided and self.evidence.recent < BURST

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order, or go on in one that was found elsewhere."""
        self._take(order)
        self._evaluate = everything(order, self.pipeline)
        self._wants = self._wish()

    def snapshot(self) -> dict[str, Any]:
        """The order, the profiled rows with what is known of them, and prices."""
        return {
            "policy": self.name, "format": FORMAT, "order": list(self.order),
            "window": self.evidence.window.snapshot(),
            "price_ns": self.purse.snapshot(),
            "slice_rows": self.slices.goal,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's profiled rows, in its order."""
        order = restored_order(snapshot, self.name, self.pipeline)
        if snapshot.get("format") != FORMAT:  # before anything is changed
            raise PlanError(f"this snapshot of {self.name!r} was made by another version; learning begins anew")
        self.order = order
        self.standing = "the order is another worker's: nothing has been decided here yet"
        self.evidence.restore(snapshot["window"])
        self.evidence.switched()
        self.purse.restore(snapshot["price_ns"])
        self.alarm.reset()
        self.moved = self._trial = self._weights = self._decided_costs = None
        self.slices.goal = min(max(int(snapshot["slice_rows"]), 1), MOST_ROWS)
        if len(self.evidence.window):
            self.slices.rows = self.slices.goal
        self._evaluate = everything(self.order, self.pipeline)
        self._wants = self._wish()
