"""Auto."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.drift_alarm import DriftAlarm
from thalweg.adapt.outlook import Outlook, Walk
from thalweg.adapt.policy import (
    NEVER,
    BudgetSettings,
    Costs,
    ProfileSettings,
    Seen,
    Trial,
    Verdict,
    Wants,
    duration,
    known_costs,
    restored_order,
)
from thalweg.adapt.purse import Purse
from thalweg.plan.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow

FIRST_ROWS = 16
"""Of the first slice: nothing is known, and a row may cost a millisecond."""
GROWTH = 8
"""Slices grow at most by this factor, and take at most as long as everything before them."""
MOST_ROWS = 16_384
START, BURST = 192, 128
"""Profile tuples wanted soon, to begin with and when the data has moved."""
WINDOW = 512
LEARNS = 48
"""Tuples that must be affordable between two moves of the data; else it is judged as a whole."""
LOOKS = 16
"""And so many looks."""
URGENT_NS = 2e6
"""What a slice takes right after the data has moved."""
OLD = 24.0
"""What tuples from before the data moved weigh together."""
UNSURE = 1.25
"""A filter that may cost so many times less than the best guess may be worth a trial."""
LEAST_GAIN = 0.01
STEADY, CALMEST = 0.6, 1.0 / 8.0
ENOUGH = 20
"""Rows that show what a filter drops where it stands."""
FIXED_SHARE = 0.01
"""Slices are so long that the fixed cost of calls is at most this share, where that can be had."""
SLIP_NS = 20e6
"""What a slice may take when ten times as many rows as expected get to every filter."""
HEDGE = 0.01
"""Of what a filter drops is taken to get past it: so filters that hardly a row gets to stand in a good order too. When
the data moves, every row may get there."""
MEMORY = 200_000
"""Rows after which what ordinary work showed counts half."""
SLICE_NS = 30_000.0
"""What a slice costs besides its calls, about."""
TRUSTED = 200
"""Dropped rows after which the shares of ordinary work weigh profile tuples."""
UNLIKE = 4.0
"""Standard errors by which siblings' tuples may differ from one's own."""

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]


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
        n = len(pipeline)
        self.pipeline = pipeline
        self.purse = Purse((settings or BudgetSettings()).budget)
        self.order = pipeline.start
        self.standing = "not enough seen yet"
        self.window = ProfileWindow(WINDOW, 2 * n)
        self.siblings = ProfileWindow(WINDOW, 2 * n)
        self.alarm = DriftAlarm(pipeline.names)
        self.moved: str | None = None
        """Why the data is held to have moved, until enough has been profiled since."""
        self._recent = self._recent_siblings = 0  # tuples since then
        self._rows = 0  # all rows seen
        self._kept = math.nan  # share of rows
        self._slice = FIRST_ROWS
        self._calm = 1.0
        self._confirmed = 0
        self._decided_costs: Numbers | None = None
        self._decisions = self._undecided = 0
        self._batch = 0.0
        self._evaluated, self._passed = np.zeros(n), np.zeros(n)  # by ordinary work, where each stands
        self._tried: dict[int, int] = {}  # rows seen when a filter was last tried
        self._trials_ns = 0.0
        self._lasts, self._moved_at = math.nan, 0  # rows between moves of the data, and at the last one
        self._moves = 0
        self._rates = np.full(n, 0.5)  # what each drops where it stands, or stood when that was last seen...
        self._rated = np.zeros(n)  # ...on so many rows
        self._runs = 1.0
        self._weights: list[float] | None = None
        self._look_ns = NEVER
        self._moved_ns = 0.0
        self._trial: Trial | None = None
        self._goal = MOST_ROWS
        self._most_row_ns = 0.0
        self._evaluate = self._everything()
        self._wants = self._wish()

    def wants(self) -> Wants:
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        if len(self.pipeline) < 2:
            return None
        rows = int(seen.evaluated[self.order[0]])
        self._rows += rows
        if len(seen.profile):
            places = seen.profile[:, list(self.order)].argmax(axis=1)
            self.purse.each_ns = float((self._evaluate[places] @ known_costs(seen.cost_ns)).mean()) + 1000.0
        self.purse.account(seen, rows)
        if seen.trial_ns and self._wants.trial is not None:
            self._tried[self._wants.trial.candidate] = self._rows
            self._trials_ns += seen.trial_loss_ns
        self._batch += 0.25 * (seen.batch_rows - self._batch) if self._batch else seen.batch_rows
        if rows and seen.calls is not None:
            self._learn_runs(seen, rows)
        self._evaluated += seen.evaluated
        self._passed += seen.passed
        if self._evaluated[self.order[0]] > MEMORY:
            self._evaluated *= 0.5
            self._passed *= 0.5
        if rows:
            kept = float(seen.passed[self.order[-1]]) / rows
            self._kept = kept if math.isnan(self._kept) else self._kept + min(1.0, rows / 20_000) * (kept - self._kept)
        moved = self.alarm.look(seen.evaluated.tolist(), seen.passed.tolist(), self._weights)
        if moved is not None:
            lasted = max(self._rows - self._moved_at, 1)
            self._moved_at = self._rows
            self._lasts = lasted if math.isnan(self._lasts) else math.sqrt(self._lasts * lasted)
            self._moves += 1
            self._urge(seen.working_ns / max(rows, 1))
            if self._volatile():
                moved = None
        if moved is not None:
            self.moved = moved
            self._evaluated, self._passed = seen.evaluated * 1.0, seen.passed * 1.0
            self._recent = self._recent_siblings = 0
            self._confirmed, self._calm = 0, 1.0
        if seen.siblings is not None:
            others = seen.siblings[0] if moved is None else seen.siblings[0][seen.siblings[1]]
            self.siblings.insert(others)
            self._recent_siblings += len(others)
        new = moved is None and len(seen.profile) > 0
        if new:
            known = np.ones_like(seen.profile) if seen.known is None else seen.known
            self.window.insert(np.concatenate([seen.profile, known], axis=1))
            self._recent += len(seen.profile)
            self._confirmed += len(seen.profile)
            self._undecided += len(seen.profile)
        costs = known_costs(seen.cost_ns)
        verdict = None
        changed = self._decided_costs is not None and bool(
            (np.maximum(costs, self._decided_costs) > 1.3 * np.minimum(costs, self._decided_costs)).any()
        )
        enough = self._undecided >= min(64, 0.25 * (len(self.window) - self._undecided))
        if seen.trial_ns:
            self._trial = None
        if (new and enough) or moved is not None or changed or seen.trial_ns or seen.siblings is not None:
            verdict = self._decide(costs, seen.costs)
        elif self.purse.opened:
            self._grow()
        self._wants = self._wish()
        return verdict

    def _learn_runs(self, seen: Seen, rows: int) -> None:
        """Rows that are alike come together: then a slice has as many rows alive as if it were shorter, many or none.
        How much shorter is seen from how often filters are called."""
        assert seen.calls is not None
        called = seen.calls / seen.slices
        reach = seen.evaluated / rows
        telling = (called < 0.95) & (called > 0.0)
        if not telling.any():
            return
        alone = -np.log1p(-called[telling]) / reach[telling]
        share = float(np.exp(np.log(np.clip(alone * seen.slices / rows, 1e-4, 1.0)).mean()))
        self._runs *= (share / self._runs) ** min(1.0, seen.slices / 50.0)

    def _volatile(self) -> bool:
        """Whether data moves so often that what it is now is not learned before it moves again."""
        if self._moves < 4:
            return False
        lasts = max(self._lasts, self._rows - self._moved_at)
        earns = self.purse.budget * self.purse.row_ns * lasts
        return lasts < LOOKS * self.purse.look_rows() or earns < LEARNS * self.purse.each_ns + self.purse.show_ns

    def _urge(self, row_ns: float) -> None:
        """The data has moved, and rows may cost much more than they did: short slices again, until that is known."""
        self._moved_ns = self.purse.time_ns
        self._slice = int(min(self._slice, max(URGENT_NS / max(row_ns, 1.0), 64.0)))

    # -- deciding

    def _decide(self, costs: Numbers, more: Costs | None) -> Verdict | None:
        self._decided_costs = costs
        self._undecided = 0
        self._trial = None
        if self.moved is not None and self._volatile():
            self.moved = None
        if self._recent + self._recent_siblings >= BURST and self.moved is not None:
            self._forget_old()
            self.moved = None
        outlook = self._outlook(costs, more)
        now = outlook.walk(self.order)
        self._decisions += 1
        thorough = self.moved is not None or self._decisions <= 4 or self._decisions % 4 == 0
        found = outlook.cheapest(now, thorough=thorough)
        verdict = None
        if found.total_ns < now.total_ns * (1.0 - LEAST_GAIN):
            verdict = Verdict(found.order, self._reason(found.order, now.total_ns, found.total_ns))
            self._take(found.order)
            now = found
        elif self._confirmed >= START:
            self._confirmed, self._calm = 0, max(self._calm / 2.0, CALMEST)
        self._now = now
        if more is not None:
            self._consider_trial(outlook, now, more)
        self._place(outlook, now, more)
        self._lengthen(outlook, now, more)
        return verdict

    def _take(self, order: tuple[int, ...]) -> None:
        self.order = order
        self._confirmed, self._calm = 0, 1.0
        self.alarm.reset()
        self._evaluated *= 0.0
        self._passed *= 0.0

    def _outlook(self, costs: Numbers, more: Costs | None) -> Outlook:
        tuples, weights = self._tuples()
        n = len(self.pipeline)
        drops, known = tuples[:, :n], tuples[:, n:]
        # where nobody looked, a filter is taken to drop what it drops where it stands
        seen = known.sum(axis=0)
        share = ((drops & known).sum(axis=0) + 0.5) / (seen + 1.0)
        ordinary = self._evaluated >= ENOUGH
        fresh = self._evaluated > self._rated
        self._rates[fresh] = (self._evaluated - self._passed + 0.5)[fresh] / (self._evaluated[fresh] + 1.0)
        self._rated[fresh] = np.minimum(self._evaluated[fresh], ENOUGH)
        recalled = ordinary | ~np.array(self.pipeline.profiled)
        share[recalled] = self._rates[recalled]
        passes = HEDGE + (1.0 - HEDGE) * np.where(known, 1.0 - drops, 1.0 - share)
        fixed = np.zeros(n) if more is None else np.nan_to_num(more.fixed_ns)
        kept = 0.0 if math.isnan(self._kept) else min(self._kept, 0.999)
        return Outlook(passes, weights, kept, costs, fixed, min(float(self._goal), max(self._batch, 1.0)), self.pipeline, self._runs)

    def _tuples(self) -> tuple[Bits, Numbers]:
        mine, theirs = self.window.tuples, self.siblings.tuples
        n = len(self.pipeline)
        weights = np.ones(len(mine))
        old = len(mine) - self._recent
        if self.moved is not None and old > 0:
            weights[:old] = min(1.0, OLD / old)
        if len(theirs) and alike(mine[:, :n], theirs[:, :n]):
            more = np.ones(len(theirs))
            old = len(theirs) - self._recent_siblings
            if self.moved is not None and old > 0:
                more[:old] = min(1.0, OLD / old)
            mine, weights = np.concatenate([mine, theirs]), np.concatenate([weights, more])
        dropped = (self._evaluated - self._passed)[list(self.order)]
        if len(mine) and dropped.sum() >= TRUSTED:
            drops = mine[:, :n] & mine[:, n:]
            places = drops[:, list(self.order)].argmax(axis=1)
            have = np.bincount(places, weights, minlength=n)
            want = dropped / dropped.sum() * have.sum()
            factor = np.clip(want / np.maximum(have, 1e-9), 0.2, 5.0)
            weights = weights * factor[places]
        return mine, weights

    def _forget_old(self) -> None:
        newest = self.window.newest(self._recent), self.siblings.newest(self._recent_siblings)
        self.window.clear()
        self.siblings.clear()
        self.window.insert(newest[0])
        self.siblings.insert(newest[1])

    def _reason(self, found: tuple[int, ...], now: float, best: float) -> str:
        place = next(i for i, (old, new) in enumerate(zip(self.order, found, strict=True)) if old != new)
        comes, stood = self.pipeline.names[found[place]], self.pipeline.names[self.order[place]]
        text = f"{comes} before {stood}: a row is expected to take {duration(best)} instead of {duration(now)}, by {len(self.window)} profiled rows"
        return f"{self.moved}; {text}" if self.moved else text

    # -- trials

    def _consider_trial(self, outlook: Outlook, now: Walk, costs: Costs) -> None:
        self.standing = "nothing better found"
        n = len(self.order)
        order = list(self.order)
        least, mean = costs.least_ns[order], outlook.costs[order]
        unsure = np.array(self.pipeline.profiled)[order] & (least * UNSURE < mean)
        unsure[0] = False
        if not unsure.any():
            return
        # what would be gained if it cost as little as it may: the others cost less, it costs more than where it stands
        gains = now.saved - least * (now.reach[:, None] - now.reach)
        gains[~np.isfinite(now.gains)] = -np.inf
        gains[:, ~unsure] = -np.inf
        to, of = divmod(int(gains.argmax()), n)
        gain = float(gains[to, of])
        if gain < LEAST_GAIN * now.total_ns:
            return
        k = order[of]
        reach = float(now.reach[to])
        rows = min(max(4.0 * float(costs.most_rows[k]) / max(reach, 0.01), 64.0), MOST_ROWS, max(self._batch, 1.0))
        # what is saved is not counted on: what it drops is not known for certain either
        each = float(costs.most_ns[k]) * (reach - float(now.reach[of]))
        allowed = min(self.purse.available_ns, self.purse.earned_ns / 2.0 - self._trials_ns, gain * self._rows)
        if each * rows > allowed:
            rows = max(allowed, 0.0) / max(each, 1e-9)
        rows = min(rows, max(8.0 * allowed / max(float(costs.most_ns[k]), 1.0), 64.0))
        if allowed <= 0.0 or rows * reach < 1.5 * float(costs.most_rows[k]) or self._rows < 2 * self._tried.get(k, 0):
            self.standing = f"held back: a trial of {self.pipeline.names[k]} would cost more than it may save"
            return
        reached = now.reach * rows
        expected = float(outlook.costs[order] @ reached - outlook.fixed[order] @ np.expm1(-reached))
        self._trial = Trial(now.moved(to, of), max(int(rows), 1), k, expected)

    # -- what to profile, how long slices are

    def _everything(self) -> Bits:
        n = len(self.pipeline)
        place = np.empty(n, dtype=np.int64)
        place[list(self.order)] = np.arange(n)
        return (place[None, :] > np.arange(n)[:, None]) & np.array(self.pipeline.profiled)[None, :]

    def _place(self, outlook: Outlook, now: Walk, costs: Costs | None) -> None:
        """What to evaluate on a sampled row: a filter that could be worth its price where the row was dropped, if it
        dropped as much of what comes there as it may."""
        evaluate = self._everything()
        if costs is not None:
            price = costs.least_ns + outlook.fixed * (outlook.calls(now.reach) / now.reach)[:, None]
            evaluate &= price < now.rest_ns()[:, None]
        self._evaluate = evaluate
        at = now.reach - np.append(now.reach[1:], outlook.kept)
        if at.sum() > 0:
            at = at / at.sum()
            self.purse.each_ns = float(at @ evaluate @ outlook.costs) + 1000.0
            self.purse.calls_ns = float(outlook.fixed[evaluate[at > 0.01].any(axis=0)].sum())

    def _lengthen(self, outlook: Outlook, now: Walk, costs: Costs | None) -> None:
        order = list(self.order)
        fixed = SLICE_NS + float(outlook.fixed[order][now.reach * self._slice > 0.5].sum())
        per_row = float(outlook.costs[order] @ now.reach)
        slips = SLIP_NS / max(float(outlook.costs[order] @ np.minimum(10.0 * now.reach + HEDGE, 1.0)), 1.0)
        by_fixed = fixed / (FIXED_SHARE * max(per_row, 1.0))
        goal = max(min(self.purse.look_rows(), slips), by_fixed, 64)
        rest = np.append((now.rest_ns() * now.reach)[1:], 0.0) / np.maximum(np.append(now.reach[1:], 1.0), 1e-9)
        weights = np.empty(len(order))
        weights[order] = now.reach * rest / max(now.total_ns, 1e-9)
        self._weights = weights.tolist()
        self._look_ns = int(4.0 * now.total_ns * max(self.purse.look_rows(), self._slice)) + 1_000_000
        self._goal = int(min(goal, MOST_ROWS))
        self._most_row_ns = per_row if costs is None else float(np.where(np.isfinite(costs.most_ns), costs.most_ns, outlook.costs)[order] @ now.reach)
        self._grow()

    def _grow(self) -> None:
        by_time = max(self.purse.time_ns - self._moved_ns, URGENT_NS / 2.0) / max(self._most_row_ns, 1.0)
        self._slice = int(min(self._goal, GROWTH * self._slice, max(by_time, 2 * self._slice)))

    def _wish(self) -> Wants:
        shared = "auto" if all(self.pipeline.profiled) else "auto"
        evaluate = self._evaluate
        if not len(self.window) and self._rows < 8 * FIRST_ROWS:
            return Wants(1.0, evaluate, 1, 1, most=FIRST_ROWS, urgent=True, shared=shared, lasting=True, slice_rows=FIRST_ROWS)
        dropped = 1.0 - (0.0 if math.isnan(self._kept) else min(self._kept, 0.999))
        if self._trial is not None:
            return Wants(0.0, evaluate, rows=1, shared=shared, lasting=True, slice_rows=self._slice, trial=self._trial)
        target = BURST if self.moved is not None else START
        wanted = target - self._recent - self._recent_siblings
        affordable = self.purse.tuples_at_once()
        rows = int(max(self.purse.look_rows(), 1)) if self._slice >= self._goal else 1
        if wanted > 0 and affordable >= min(wanted, 8):
            most = min(wanted, affordable)
            p = min(1.0, 1.5 * most / (self._slice * dropped))
            return Wants(p, evaluate, max(1, min(most, 32)), rows, most=most, urgent=True, shared=shared, lasting=True, slice_rows=self._slice, ns=self._look_ns)
        together = int(min(max(3.0 * self.purse.show_ns / self.purse.each_ns, 16), WINDOW // 8))
        p = self.purse.steadily(STEADY * self._calm, dropped, together)
        # the window is to hold some of everything since the data moved: neighbouring rows are often alike
        since = self._rows if self._volatile() else self._rows - self._moved_at
        p = min(p, 2.0 * WINDOW / (max(since, self._slice) * dropped))
        most = max(min(affordable, WINDOW // 8), together)
        return Wants(p, evaluate, together, rows, most=most, shared=shared, lasting=True, slice_rows=self._slice, ns=self._look_ns)

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order; nothing has been seen yet."""
        self.order = order
        self._evaluate = self._everything()
        self._wants = self._wish()

    def snapshot(self) -> dict[str, Any]:
        return {
            "policy": self.name, "order": list(self.order),
            "window": self.window.snapshot(),
            "price_ns": self.purse.snapshot(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.window.restore(snapshot["window"])
        self.siblings.clear()
        self._recent, self._recent_siblings = len(self.window), 0
        self.alarm.reset()
        self.purse.restore(snapshot["price_ns"])
        self._evaluate = self._everything()
        self._wants = self._wish()


def alike(own: Bits, others: Bits) -> bool:
    """Whether two sets of profile tuples may come from the same data: no filter drops clearly more in one of them.

    >>> some = np.tile(np.array([[0, 1], [1, 1]], bool), (50, 1))
    >>> alike(some, some), alike(some, ~some)
    (True, False)
    """
    if len(own) < 24:
        return True
    mine, theirs = own.mean(axis=0), others.mean(axis=0)
    share = (mine * len(own) + theirs * len(others)) / (len(own) + len(others))
    variance = share * (1.0 - share) * (1.0 / len(own) + 1.0 / len(others))
    return bool(((mine - theirs) ** 2 <= UNLIKE**2 * variance + 1e-12).all())
