"""Auto: adapt within a budget, and set everything else by itself (the future work of a-greedy, section 10).

Answers: which order to use, and how much to spend on finding out.

How it decides
- **When the data moves** is seen for free, from what ordinary work drops (`drift_alarm`). Then `BURST` dropped rows are
  profiled as fast as the budget allows, and judged alone too. While nothing moves, every `BURST` tuples that confirm
  the order halve what is spent, down to an eighth of the budget.
- **p** follows: the share of the budget, times what a row costs, over what a profile tuple costs (`purse`).
- **The window** is at most `WINDOW` tuples. When tuples since an alarm speak for another order and the whole window
  does not, the older ones are forgotten: data that comes and goes is judged as a whole, data that has moved by what it
  is now.
- **The algorithm** is A-Greedy, when it can afford `BURST` tuples within `PATIENCE` rows; else Sweep, else LocalSwaps,
  whichever can, else the cheapest of them (`scope`). In this order they see less and cost less.
- **The order is left** only when the gain, measured on the same tuples in both orders, exceeds `SIGMAS` times its
  standard error, that of the costs included, and a hundredth of the cost (`gain`); and when tuples that had no part in
  proposing it agree. The newest tuples are also judged alone, so that a change only profiling can see is not outvoted
  by the past. While a gain is likely but not certain, more is spent to find out; where it is certain in front of the
  proposal only, that much is taken.
- **The same tuples are judged again** when costs have become known better, which ordinary work does for nothing.
- **Workers of one host** share their profile tuples; those of siblings count where they look like one's own.

Guarantee: adapting takes at most the budget's share of the time, plus what the first tuples cost (`FIRST`, up to
`START` where they are cheap), by the clock it is given. While A-Greedy runs, the order's cost on the window is within
its uncertainty of the greedy order's, which is at most 4 times the best (theorem 4.1).
Cost: as the budget says. Where a filter may not be profiled it counts as dropping only what it was seen to drop.
Differs from the paper: it has no such algorithm; its three run here as ways to profile and to propose, under one test.
Behind the first filters few tuples are left to order the others by; there filters count as independent (`PRIOR`).

>>> policy = Auto(Pipeline(("even", "small")))
>>> bits = np.tile(np.array([[0, 1], [1, 1], [0, 1]], bool), (20, 1))  # `small` drops all, `even` a third
>>> nothing = np.zeros(2, np.int64)
>>> verdict = policy.update(Seen(nothing, nothing, nothing, np.full(2, 100.0), bits))
>>> verdict.order, verdict.reason
((1, 0), 'small before even saves 40 % of the work on dropped rows, give or take 5 %, by 60 of them')
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.drift_alarm import DriftAlarm
from thalweg.adapt.gain import Gain, gain
from thalweg.adapt.policy import BudgetSettings, ProfileSettings, Seen, Verdict, Wants, known_costs, restored_order
from thalweg.adapt.purse import FIRST, LEAST_NS, LEAST_ROWS, START, TOGETHER, Purse
from thalweg.adapt.scope import everything, neighbours, one_filter
from thalweg.cost.pipeline import greedy_order
from thalweg.errors import PlanError
from thalweg.plan.pipeline import Pipeline
from thalweg.stats.profile_window import ProfileWindow

BURST = 192
"""Profile tuples wanted at once when the data has moved."""
WINDOW = 1024
NEWEST = 128
"""Tuples that are also judged alone."""
LEAST = 24
"""Fewer tuples decide nothing."""
SIGMAS, SIGMAS_ALONE, LIKELY, FAIR = 2.5, 3.5, 1.0, 1.0
"""Standard errors a gain must exceed: by the window, by its newest part alone, to be worth more profiling, and by
tuples that had no part in the proposal."""
FRONTS = (3, 2, 1)
"""How many filters of a proposal are taken where it is not certain as a whole: few tuples get behind the first ones,
and what is uncertain there should not hold back what is certain in front."""
PRIOR = 2.0
"""Tuples that speak for independence where few others get to."""
LEAST_GAIN = 0.01
CALMEST = 1.0 / 8.0
PATIENCE = 500_000
"""Rows within which an algorithm should have seen enough."""
STEADY, OPEN = 0.2, 0.6
"""The shares of the budget that steady profiling may take, and profiling while a gain is likely but not certain; the
rest is for looks (`purse`), and saved for bursts."""
UNLIKE = 4.0
"""Standard errors by which siblings' tuples may differ from one's own."""
COST_ERROR = 0.05
"""Costs are never known better than to this share: they move with the machine."""
OTHER_COST = 1.5
"""A filter whose cost has changed by this factor is a reason to judge the same tuples again; so is a likely gain that
is uncertain mostly because costs are, since ordinary work makes them known better."""

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]
ALGORITHMS = ("a-greedy", "sweep", "local-swaps")


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
        self.window = ProfileWindow(WINDOW, n)
        self.siblings = ProfileWindow(WINDOW, n)
        self.alarm = DriftAlarm(pipeline.names)
        self.algorithm = ALGORITHMS[0]
        self.j = 1  # the position Sweep profiles
        self.moved: str | None = None
        """Why the data is held to have moved, until it is known where to."""
        self._wanted = START  # tuples still wanted at once
        self._unjudged = 0  # tuples since the order was last judged
        self._judged_costs: Numbers | None = None  # by which that was
        self._looks = 0  # since there were new tuples, or another order
        self._recent = self._recent_siblings = 0  # tuples since the data moved
        self._open = False  # whether a gain is likely that is not certain yet
        self._open_by_costs = False  # and that mostly because costs are not known well
        self._calm = 1.0
        self._confirmed = 0  # tuples since the budget was last halved
        self._place()
        self._wants = self._wish()

    def wants(self) -> Wants:
        """As much as the budget allows, or less."""
        return self._wants

    def update(self, seen: Seen) -> Verdict | None:
        """Account, look for drift, judge the order, and set what to profile next."""
        if len(self.pipeline) < 2:
            return None
        costs = known_costs(seen.cost_ns)
        if len(seen.profile):
            places = seen.profile[:, list(self.order)].argmax(axis=1)
            self.purse.each_ns = float((self._evaluate[places] @ costs).mean()) + LEAST_NS
        self.purse.account(seen, int(seen.evaluated[self.order[0]]))
        moved = self.alarm.look(seen.evaluated.tolist(), seen.passed.tolist())
        if moved is not None:
            self._alarmed(moved)
        if seen.siblings is not None:
            # when one's own data has moved, what siblings saw since theirs did is likely to be of what it is now
            others = seen.siblings[0] if moved is None else seen.siblings[0][seen.siblings[1]]
            self.siblings.insert(others)
            self._recent_siblings += len(others)
            self._unjudged += len(others)
        if moved is None and len(seen.profile):  # rows sampled before the alarm may be of the data that was
            self.window.insert(seen.profile)
            self._recent += len(seen.profile)
            self._unjudged += BURST
            self._looks = 0
            self._confirmed += len(seen.profile)
        self._wanted = max(0, self._wanted - len(seen.profile))
        self.purse.free = max(0, self.purse.free - len(seen.profile))
        verdict = None
        if self._unjudged >= (LEAST if self.moved else BURST) or self._worth_another_judgement(costs):
            self._unjudged = 0
            self._judged_costs = costs
            verdict = self._judge(costs, _errors(seen, costs))
            if verdict is not None:
                self._confirmed, self._calm, self.moved, self._open = 0, 1.0, None, False
                self._take(verdict.order)
            elif self._confirmed >= BURST and not self._wanted and not self._open:
                self._confirmed, self._calm, self.moved = 0, max(self._calm / 2.0, CALMEST), None
                self._next_stage()
            self._choose(costs)
            self._place()
        self._wants = self._wish()
        return verdict

    def _worth_another_judgement(self, costs: Numbers) -> bool:
        """Of the same tuples: what filters cost becomes known better by ordinary work, for nothing. A filter that has
        come to the front by a first guess may not belong there. Asked rarely, and more rarely as time passes."""
        self._looks += 1
        old = self._judged_costs
        if old is None or len(self.window) < LEAST or self._looks & (self._looks - 1):  # not a power of two
            return False
        return self._open_by_costs or bool((np.maximum(costs, old) > OTHER_COST * np.minimum(costs, old)).any())

    def _alarmed(self, moved: str) -> None:
        """What was profiled so far may be of other data; what comes is also judged alone."""
        self.moved = moved
        self._recent = self._recent_siblings = 0
        self._wanted, self._confirmed, self._calm = BURST, 0, 1.0

    def _forget(self) -> None:
        """What was profiled so far is of no use any more."""
        self.window.clear()
        self.siblings.clear()
        self._recent = self._recent_siblings = 0

    def _judge(self, costs: Numbers, errors: Numbers) -> Verdict | None:
        """By what came since the data moved, once that is enough; else by everything, and then by the newest alone."""
        self._open = self._open_by_costs = False
        since = self._recent + self._recent_siblings
        if self.moved is not None and since >= LEAST and len(self.window) > self._recent:
            own, others, sigmas = self._recent, self._recent_siblings, SIGMAS
        else:
            best = self._best(self._tuples(WINDOW, WINDOW), costs, errors, SIGMAS)
            if best is not None or len(self.window) <= 2 * NEWEST:
                return best
            own, others, sigmas = NEWEST, 0, SIGMAS_ALONE
        best = self._best(self._tuples(own, others), costs, errors, sigmas)
        if best is not None or (self.moved is not None and since >= BURST):  # the rest is of other data
            newest = self.window.newest(own), self.siblings.newest(others)
            self._forget()
            self.window.insert(newest[0])
            self.siblings.insert(newest[1])
            self._recent, self._recent_siblings = own, others
        return best

    def _tuples(self, own: int, others: int) -> Bits:
        """So many of the newest of one's own, and of the siblings' where they are alike."""
        mine, theirs = self.window.newest(own), self.siblings.newest(others)
        return np.concatenate([mine, theirs]) if len(theirs) and alike(mine, theirs) else mine

    def _best(self, tuples: Bits, costs: Numbers, errors: Numbers, sigmas: float) -> Verdict | None:
        """The proposal that gains most, if that is certain enough; else as much of its front as is. The tuples that
        proposed it flatter it, so it must stand twice: by all of them, and when each half of them proposes and the
        other half judges."""
        if len(tuples) < LEAST:
            return None
        proposed = self._proposed(tuples, costs, errors)
        judged = gain(tuples, self.order, proposed, costs, errors)
        likely = judged.exceeds(LIKELY, LEAST_GAIN)
        self._open |= likely
        self._open_by_costs |= likely and 2.0 * judged.cost_error_ns**2 > judged.error_ns**2
        if not likely:
            return None
        halves = tuples[::2], tuples[1::2]
        by_halves = [self._proposed(half, costs, errors) for half in halves]
        for front in (len(proposed), *(FRONTS if self.algorithm == "a-greedy" else ())):
            order = self._front(proposed, front)
            if front < len(proposed):
                judged = gain(tuples, self.order, order, costs, errors)
            if not judged.exceeds(sigmas, LEAST_GAIN):
                continue
            one, two = (
                gain(judging, self.order, self._front(by, front), costs, errors)
                for by, judging in zip(by_halves, reversed(halves), strict=True)
            )
            if one.ns + two.ns > FAIR * math.hypot(one.error_ns, two.error_ns):
                return Verdict(order, self._reason(judged, order))
        return None

    def _front(self, proposed: tuple[int, ...], front: int) -> tuple[int, ...]:
        """The first filters of a proposal, the others as they stand."""
        first = proposed[:front]
        return (*first, *(k for k in self.order if k not in first))

    def _proposed(self, tuples: Bits, costs: Numbers, errors: Numbers) -> tuple[int, ...]:
        """What some tuples propose."""
        orders = list(self._proposals(tuples, costs))
        if len(orders) > 1:
            return max(orders, key=lambda order: gain(tuples, self.order, order, costs, errors).ns)
        return orders[0] if orders else self.order

    def _proposals(self, tuples: Bits, costs: Numbers) -> Iterator[tuple[int, ...]]:
        """Orders the tuples can judge, by what was evaluated on them."""
        order = self.order
        if self.algorithm == "a-greedy":
            yield greedy_order(tuples, costs.tolist(), pipeline=self.pipeline, prior=PRIOR)
            return
        if self.algorithm == "sweep":
            j = self.j
            moves = ((*order[:i], order[j], *order[i:j], *order[j + 1 :]) for i in range(j))
        else:
            moves = ((*order[:i], order[i + 1], order[i], *order[i + 2 :]) for i in range(len(order) - 1))
        yield from (moved for moved in moves if self.pipeline.respects(moved))

    def _reason(self, judged: Gain, order: tuple[int, ...]) -> str:
        place = next(i for i, (old, new) in enumerate(zip(self.order, order, strict=True)) if old != new)
        comes, stood = self.pipeline.names[order[place]], self.pipeline.names[self.order[place]]
        error = judged.error_ns / judged.ns * judged.share
        text = (
            f"{comes} before {stood} saves {_percent(judged.share)} of the work on dropped rows, "
            f"give or take {_percent(error)}, by {judged.rows} of them"
        )
        return f"{self.moved}; {text}" if self.moved else text

    def _take(self, order: tuple[int, ...]) -> None:
        self.order = order
        self._looks = 0
        self.alarm.reset()
        if not all(self.pipeline.profiled):  # what is not known in one order may be in another
            self._forget()
        self._next_stage()

    def _next_stage(self) -> None:
        """Bits of one filter, or of neighbours, say nothing of another filter or of other neighbours."""
        if self.algorithm == "a-greedy":
            return
        self.j = self.j % (len(self.pipeline) - 1) + 1
        self._forget()

    def _choose(self, costs: Numbers) -> None:
        """The first of the algorithms that sees enough soon enough; the one that runs has twice as long."""
        dropped = np.array(self.alarm.dropped, dtype=np.float64)[list(self.order)]
        if math.isnan(self.purse.row_ns) or dropped.sum() < LEAST:
            return
        at = dropped / dropped.sum()
        n = len(self.pipeline)
        every, pairs = (
            at @ evaluate @ costs
            for evaluate in (everything(self.order, self.pipeline), neighbours(self.order, self.pipeline))
        )
        # a stage of Sweep costs its filter on what is dropped before it: over all stages, what A-Greedy costs
        tuple_ns = dict(zip(ALGORITHMS, (every, every / (n - 1), pairs), strict=True))
        wanted = dict(zip(ALGORITHMS, (BURST, BURST / 2 * (n - 1), BURST), strict=True))
        rows = {
            a: wanted[a] * tuple_ns[a] / (self.purse.budget * self.purse.row_ns * self.purse.dropped)
            for a in ALGORITHMS
        }
        now = self.algorithm
        if rows[now] <= 2 * PATIENCE and (now == "a-greedy" or rows["a-greedy"] > PATIENCE):
            return
        chosen = next((name for name in ALGORITHMS if rows[name] <= PATIENCE), min(rows, key=rows.__getitem__))
        if chosen != now:
            self.algorithm = chosen
            self.j = min(self.j, n - 1)
            self._forget()
            self.purse.each_ns = tuple_ns[chosen] + LEAST_NS

    def _place(self) -> None:
        """What to evaluate on a sampled row, for this order and stage."""
        if self.algorithm == "a-greedy":
            self._evaluate = everything(self.order, self.pipeline)
        elif self.algorithm == "sweep":
            self._evaluate = one_filter(self.order, self.pipeline, min(self.j, len(self.pipeline) - 1))
        else:
            self._evaluate = neighbours(self.order, self.pipeline)

    def _wish(self) -> Wants:
        evaluate = self._evaluate
        # where all is evaluated, the bits hold in any order
        everywhere = self.algorithm == "a-greedy" and all(self.pipeline.profiled)
        shared = self.algorithm if everywhere else f"{self.algorithm} {self.order} {self.j}"
        if not self.purse.opened:
            return Wants(0.2, evaluate, FIRST, LEAST_ROWS, FIRST, urgent=True, shared=shared)
        rows = self.purse.rows_between_looks()
        wanted = min(self._wanted, BURST - self._recent - self._recent_siblings)
        affordable = self.purse.tuples_at_once()
        if wanted > 0 and affordable >= min(wanted, BURST // 4):
            most = min(wanted, affordable)
            p = min(1.0, most / (512 * self.purse.dropped))
            return Wants(p, evaluate, min(most, START), rows, most, urgent=True, shared=shared)
        p = self.purse.steadily(OPEN if self._open else STEADY * self._calm)
        return Wants(p, evaluate, TOGETHER, rows, shared=shared)

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in another order; nothing has been seen yet."""
        self.order = order
        self.alarm.reset()
        self._place()
        self._wants = self._wish()

    def snapshot(self) -> dict[str, Any]:
        """The order, the algorithm and its window, which hold for its order and stage."""
        return {
            "policy": self.name, "order": list(self.order), "algorithm": self.algorithm, "j": self.j,
            "window": self.window.snapshot(),
            "price_ns": self.purse.snapshot(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's window."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        if snapshot["algorithm"] not in ALGORITHMS:
            raise PlanError(f"this snapshot is of an algorithm {snapshot['algorithm']!r} that is not known here")
        self.algorithm = snapshot["algorithm"]
        self.j = min(max(int(snapshot["j"]), 1), max(len(self.pipeline) - 1, 1))
        self.window.restore(snapshot["window"])
        self.siblings.clear()
        self._recent, self._recent_siblings = len(self.window), 0
        self.alarm.reset()
        self.purse.restore(snapshot["price_ns"])
        if self.purse.opened:
            self._wanted = max(0, START - len(self.window))
        self._place()
        self._wants = self._wish()


def alike(own: Bits, others: Bits) -> bool:
    """Whether two sets of profile tuples may come from the same data: no filter drops clearly more in one of them.

    >>> some = np.tile(np.array([[0, 1], [1, 1]], bool), (50, 1))
    >>> alike(some, some), alike(some, ~some)
    (True, False)
    """
    if len(own) < LEAST:
        return True
    mine, theirs = own.mean(axis=0), others.mean(axis=0)
    share = (mine * len(own) + theirs * len(others)) / (len(own) + len(others))
    variance = share * (1.0 - share) * (1.0 / len(own) + 1.0 / len(others))
    return bool(((mine - theirs) ** 2 <= UNLIKE**2 * variance + 1e-12).all())


def _errors(seen: Seen, costs: Numbers) -> Numbers:
    """The standard errors of the costs; of one that nobody knows, half of it."""
    if seen.cost_error_ns is None:
        return COST_ERROR * costs
    unknown = np.isnan(seen.cost_error_ns)
    return np.where(unknown, 0.5 * costs, np.maximum(np.nan_to_num(seen.cost_error_ns), COST_ERROR * costs))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
