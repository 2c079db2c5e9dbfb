"""Watches a running join, and changes its plan when another one is expected to be worth the change.

Answers: after each report of a join, whether it should keep other sub-joins from now on, and why.
How: what is counted (`join_counts`) gives the costs of plans. The plan with the least CPU time is searched
(`search_plans`), or looked up in a chart (`chart_lookup`). Computed times are corrected by what plans took
(`plan_times`).
A plan is changed if that saves at least `GAIN` of the time, and if what it saves in as much time as the streams have
run so far, divided by one plus the number of changes so far, is more than what building its sub-joins costs.
Guarantee: the results do not depend on the plan. Sampling and searching take about `BUDGET` of the time of the join:
one sample or search may take longer, and then the next one waits. If the kept sub-joins need more memory than the join
may have, it continues without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time_ns
from typing import Any

import numpy as np

from thalweg.adapt.chart import ChartSettings
from thalweg.cost.join_bytes import limited_bytes, part_bytes, plan_bytes
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import COSTS, NodeTimes, columns_of, stored_rows, work_ns
from thalweg.cost.plan_chart import Place, PlanChart
from thalweg.cost.ties import CAUTION
from thalweg.errors import JoinLimitError
from thalweg.events import JoinObserved, Origin, PlanObserved
from thalweg.events.parts import ChartCounts, PlanCounts, PlanForecast
from thalweg.formatting import few_digits, percent, time_span
from thalweg.optimizer.joins.choose_plan import ALL_PLANS
from thalweg.optimizer.joins.point_scores import PointScores, best_at
from thalweg.optimizer.joins.search_plans import NodeCost, all_plans, cheapest_plan
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, as_shape, nodes_of, plan_text, streams_of
from thalweg.plan.objective import LEAST_CPU, Objective
from thalweg.runtime.joins.chart_lookup import ChartLookup
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_counts import Done, Estimating, JoinCounts, Pair, add_sample
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.plan_times import PlanTimes
from thalweg.stats.decayed_mean import DecayedMean

BUDGET = 0.01
"""The share of a join's time that sampling and searching may take."""
LOAN_NS = 4_000_000
"""What sampling and searching may take at the start, beyond the budget."""
SEARCH_NS = 150_000
"""The expected time of a search for the cheapest plan, divided by the number of sets of streams: that of a star."""
GAIN = 0.15
"""The share of the time that another plan must save."""
ROUND_ROWS = 10_000
"""In this process a join that follows a chart looks its plan up whenever at least so many rows have arrived, and at
every report."""
LEAST_ROWS = 5_000
"""Rows that must have been joined before a plan is changed."""
ENOUGH_REPORTS = 10
"""After so many reports, searching is compared with looking plans up in a chart."""
SPARE = 0.8
"""The share of the memory limit that a plan may be expected to need."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of the plan, with its evidence."""

    before: str
    after: str
    reason: str


def plan_watch(
    binding: JoinBinding, settings: JoinSettings, start: StartPlan, memory: int,
    chart: PlanChart | None = None, copies: Mapping[str, int] | None = None,
) -> PlanWatch:  # fmt: skip
    """Return the watch of a join whose plan may change. `start`: the plan that it begins with. `memory`: the bytes that
    its loop may use. `chart`: the chart that was made before the start. `copies`: over how many buckets the rows of a
    stream are spread, if over several."""
    late = max(binding.lateness.values())  # the watermark follows the stream that is latest
    stay = {a: binding.windows[a] + late if a in binding.windows else None for a in binding.plan.streams}
    charted = settings.profile if isinstance(settings.profile, ChartSettings) else None
    second = 1e9 / (binding.tick_ns or 10**9)
    scale = {alias: second * (copies or {}).get(alias, 1) for alias in binding.plan.streams}
    lookup, estimating = None, Estimating()
    if charted is not None:
        lookup = ChartLookup(chart, charted.parts)
        estimating = Estimating(charted.rounds, charted.decay, charted.threshold)
    return PlanWatch(
        binding.plan.graph, stay, memory, shape=start.shape, declared=start.shares, seed=settings.seed,
        objective=start.wanted.objective, scale=scale, lookup=lookup, estimating=estimating,
    )  # fmt: skip


class PlanWatch:
    """What was counted of one join, and the plan in force."""

    def __init__(
        self, graph: JoinGraph, stay: Mapping[str, int | None], max_bytes: float, *,
        shape: Shape | None = None, declared: Mapping[Pair, float] | None = None, seed: int | None = 0,
        objective: Objective = LEAST_CPU, scale: Mapping[str, float] | None = None, lookup: ChartLookup | None = None,
        estimating: Estimating = Estimating(),  # noqa: B008 - frozen
    ) -> None:  # fmt: skip
        """Watch a join that begins with a plan. `stay`: how long a row stays in the window of its stream, in ticks;
        None if that differs from row to row. `declared`: shares of pairs that join, until they are counted; the plan
        was chosen from them for full windows, so it is compared with others for full windows too.
        `scale`: by what rows per tick are multiplied to be rows per second of all buckets. `lookup`: the chart to
        follow; None: plans are chosen anew. `estimating`: how rates and shares are estimated."""
        self.graph = graph
        self.counts = JoinCounts(graph, stay, declared, scale, estimating)
        self.objective = objective
        self.lookup = lookup
        self._looked_up = ChartCounts()
        self.is_charted = lookup is not None
        """Whether the user wants a chart to be followed."""
        self.shape: Shape = shape or graph.aliases
        self.max_bytes = max_bytes
        self._rng = np.random.default_rng(seed)
        self._times = PlanTimes()
        self._refused: dict[str, tuple[Part, ...]] = {}
        """Plans that needed too much memory, with the sub-joins that they kept."""
        self._spent_ns = self._work_ns = 0
        self._changes = 0
        self._search_ns = 0
        """How long the last search took."""
        self._work_per_report = DecayedMean()
        self._standing = ""
        self._held: dict[str, int] = {}
        """The rows of each window at the last report."""
        self._forecast: PlanForecast | None = None
        self.change: PlanChange | None = None
        """The change that the next report will contain; None if there was none."""

    def observe(
        self, loop: WindowedJoin, taken: Sequence[JoinObserved], *, is_last: bool = False
    ) -> PlanObserved:  # fmt: skip
        """Count what a loop did since the last report, and choose the plan from now on: `shape`. Return the record of
        the plan, without its origin. `taken`: the records of the streams; sampled partners are added to them.
        `is_last`: no rows follow, so nothing is sampled and no plan is chosen."""
        begun = thread_time_ns()
        forecast, self._forecast = self._forecast, None
        refused = self.change  # a plan that needed too much memory since the last report
        counts = self.counts
        done = counts.count(loop, taken)
        plan = plan_text(loop.shape) if refused is None else refused.before
        counted = PlanCounts(
            sum(done.rows.values()), done.work_ns, sum(one.matches.results for one in taken),
            sum(one.window.rows for one in taken), loop.nbytes,
        )  # fmt: skip
        elapsed, rates = counts.elapsed * (loop.binding.tick_ns or 10**9) / 1e9, tuple(counts.rates().values())
        self._work_ns += done.work_ns
        self._work_per_report.add(done.work_ns)
        room_ns = LOAN_NS + BUDGET * self._work_ns - self._spent_ns
        can_pay = room_ns >= 0  # a look-up in a chart costs next to nothing
        if any(done.rows.values()) and counts.rows >= LEAST_ROWS and not is_last and (can_pay or self.lookup):
            if can_pay:
                for (one, other), found in counts.sample(loop, room_ns, self._rng).items():
                    add_sample(taken, one, other, found, counts.rows_when_full(loop, other))
            numbers = counts.numbers(loop)
            if numbers is not None:
                if refused is None:
                    self._correct(loop, numbers, done)
                best = self._next_plan(loop, numbers, can_pay=can_pay)
                if best is not None and refused is None:  # a report has one change
                    self._choose(loop, numbers, best)
                if can_pay:
                    self._forecast = self._expected(numbers)
            self._spent_ns += thread_time_ns() - begun
        self._held = {alias: len(window) for alias, window in loop.windows.items()}
        counts.reports += 1
        change, self.change = self.change, None
        return PlanObserved(
            Origin("", ""), plan, counted, forecast, elapsed, "" if change is None else change.after,
            "" if change is None else change.reason, rates, self._looked_up.taken(), self._standing,
        )  # fmt: skip

    def _next_plan(self, loop: WindowedJoin, numbers: JoinNumbers, *, can_pay: bool) -> Shape | None:
        """Return the plan for the next report; None if there is no time to find it."""
        self._use_chart_if_cheaper()
        if self.lookup is None:
            return self._search(numbers) if self._can_search() else None
        if self.is_charted and can_pay and self._can_search():
            self._judge(loop.shape, numbers)
        self.lookup.renew({pair: float(share) for pair, share in numbers.shares.items()}, self.counts.threshold)
        place = self._look_up(numbers, can_choose=can_pay and self._can_search())
        if place is None:
            return None
        self._looked_up.look_up(moved=self.lookup.moved(place), is_outside=place.is_outside)
        if plan_text(place.plan) in self._refused:
            return self._search(numbers) if can_pay and self._can_search() else None
        return place.plan

    def _use_chart_if_cheaper(self) -> None:
        """Look plans up in a chart as long as a search takes more than the budget of a report, if the user does not
        want a chart anyway."""
        if self.is_charted or len(self._work_per_report) < ENOUGH_REPORTS:
            return
        room = BUDGET * self._work_per_report.mean
        if self.lookup is None and self._search_ns > room:
            self.lookup = ChartLookup(None)
            self._standing = (
                f"plans are looked up in a chart of rates, because choosing one anew takes "
                f"{time_span(self._search_ns, 1)}, and a report has {time_span(round(room), 1)} for it"
            )
        elif self.lookup is not None and 2 * self._search_ns < room:
            self.lookup, self._standing = None, ""

    def _can_search(self) -> bool:
        """Whether a search is expected to take no more time than sampling and searching may take so far."""
        return SEARCH_NS << len(self.graph.aliases) <= LOAN_NS + BUDGET * self._work_ns

    def _expected(self, numbers: JoinNumbers) -> PlanForecast:
        """Return what is expected in the next report, if it is as long as those before."""
        coming = self.counts.coming(numbers)
        kept = [frozenset(streams_of(node)) for node in nodes_of(self.shape)]
        parts = {frozenset([alias]) for alias in self.graph.aliases} | set(kept[:-1])
        return PlanForecast(
            float(work_ns(self.shape, coming)) * self._times.factor(plan_text(self.shape)),
            float(coming.rate(kept[-1])), sum(float(stored_rows(part, coming)) for part in parts),
            float(plan_bytes(self.shape, coming)),
        )  # fmt: skip

    def glanced(self, loop: WindowedJoin) -> WindowedJoin:
        """Look the plan up between two reports if enough rows have arrived. Return a loop of the plan from now on."""
        if self.lookup is None or self.lookup.chart is None or self.change is not None:  # a report has one change
            return loop
        if not self.counts.glance(loop, ROUND_ROWS) or self.counts.rows < LEAST_ROWS:
            return loop
        begun = thread_time_ns()
        rates = self.counts.rates()
        if self.lookup.chart.knows(rates):
            place = self.lookup.chart.at(rates)
            self._looked_up.look_up(moved=self.lookup.moved(place), is_outside=place.is_outside)
            numbers = self.counts.numbers(loop) if place.plan != self.shape else None
            if numbers is not None:
                self._choose(loop, numbers, place.plan)
        self._spent_ns += thread_time_ns() - begun
        return self.applied(loop)

    def applied(self, loop: WindowedJoin) -> WindowedJoin:
        """Return a loop of the plan that was chosen: the same one if it has not changed."""
        if loop.shape == self.shape:
            return loop
        try:
            new = rebuilt(loop, self.shape, self._rng)
        except JoinLimitError:
            self._refuse(loop.shape)
            return loop
        return self.within_limit(new)

    def within_limit(self, loop: WindowedJoin) -> WindowedJoin:
        """Return a loop that keeps nothing if the kept sub-joins need too much memory; otherwise the same one. Tables
        are not counted, as everywhere."""
        if all(isinstance(part, str) for part in loop.shape):
            return loop
        tables = sum(loop.windows[alias].nbytes for alias in loop.binding.plan.tables)
        if not loop.outgrown and loop.nbytes - tables <= self.max_bytes:
            return loop
        self._refuse(self.graph.aliases)
        return rebuilt(loop, self.shape, self._rng)

    def _refuse(self, instead: Shape) -> None:
        before, self.shape = self.shape, instead
        self._refused[plan_text(before)] = tuple(frozenset(streams_of(node)) for node in nodes_of(before))[:-1]
        reason = f"{plan_text(before)} needs more memory than max_bytes allows"
        self.change = PlanChange(plan_text(before), plan_text(instead), reason)

    def _correct(self, loop: WindowedJoin, numbers: JoinNumbers, done: Done) -> None:
        """Compare the time that the plan in force took with what is computed for the rows that came, if windows were
        full: rows that find an empty window cost next to nothing."""
        if self.counts.elapsed < 2 * max((stay for stay in self.counts.stay.values() if stay is not None), default=0):
            return
        held: dict[str, Any] = {
            alias: max((len(window) + self._held.get(alias, 0)) / 2.0, 1.0) for alias, window in loop.windows.items()
        }
        rates: dict[str, Any] = {alias: float(done.rows.get(alias, 0)) for alias in self.graph.aliases}
        came = JoinNumbers(
            self.graph, rates, held, numbers.shares, numbers.columns, numbers.widths, float(done.batches),
            numbers.counted,
        )  # fmt: skip
        self._times.add(plan_text(loop.shape), done.work_ns, float(work_ns(loop.shape, came)))

    def _search(self, numbers: JoinNumbers) -> Shape:
        """Return the best plan for the numbers of the next reports."""
        begun = thread_time_ns()
        best = self._best(numbers)
        self._search_ns = thread_time_ns() - begun
        return best

    def _best(self, numbers: JoinNumbers) -> Shape:
        """Return the best plan. As before the start, one that keeps sub-joins must be better by some factor."""
        if self.objective.name == "balance" and len(self.graph.aliases) <= ALL_PLANS:
            free = [shape for shape in all_plans(self.graph) if plan_text(shape) not in self._refused]
            return best_at(free, numbers, self.objective, SPARE * self.max_bytes, self.counts.stay)
        best, cost = cheapest_plan(self.graph, self.costs(numbers), lambda shape: float(plan_bytes(shape, numbers)))
        nothing = self.graph.aliases
        return nothing if cost * CAUTION >= float(work_ns(nothing, numbers)) else best

    def _look_up(self, numbers: JoinNumbers, *, can_choose: bool) -> Place | None:
        """Return the place in the chart of the rates that are expected in the next report; None if there is no chart,
        or no time to find the plan of its region (`can_choose`)."""
        assert self.lookup is not None

        def choose(rates: Mapping[str, float]) -> Shape:
            own = {**numbers.rates, **{alias: rate / self.counts.scale[alias] for alias, rate in rates.items()}}
            held = dict(numbers.held)
            for alias, stay in self.counts.stay.items():
                if stay is not None:
                    held[alias] = max(own[alias] * stay, 1.0)
            return self._search(replace(numbers, rates=own, held=held, _memo={}))

        return self.lookup.at(self.counts.rates(), choose, can_choose=can_choose)

    def _judge(self, shape: Shape, numbers: JoinNumbers) -> None:
        """Count whether the plan in force was the best for the rates that were observed, and by how many times it is
        worse."""
        if not self.counts.observed:
            return
        seen = replace(numbers, rates={**numbers.rates, **self.counts.observed}, _memo={})
        best = self._search(seen)
        objective, shapes = LEAST_CPU, [shape, best]
        if self.objective.name == "balance" and len(self.graph.aliases) <= ALL_PLANS:  # compared with all plans
            objective, shapes = self.objective, [shape, best, *all_plans(self.graph)]
        (mine, _), (least, _), *_ = PointScores(seen).of(shapes, objective)
        self._looked_up.judge(hit=plan_text(shape) == plan_text(best), regret=max(mine / least, 1.0) if least else 1.0)

    def _choose(self, loop: WindowedJoin, numbers: JoinNumbers, best: Shape) -> None:
        """Change to a plan if that pays."""
        current, plan = plan_text(loop.shape), plan_text(best)
        if plan == current or plan in self._refused or best == loop.shape:
            return
        now = float(work_ns(loop.shape, numbers)) * self._times.factor(current)
        then = float(work_ns(best, numbers)) * self._times.factor(plan)
        size = float(limited_bytes(best, numbers, self.counts.stay))
        if size > SPARE * self.max_bytes:
            return
        stay = self.counts.elapsed / (1 + self._changes)  # plans that have changed often stay less long
        build = rebuild_ns(best, numbers) * self._times.factor(plan)
        if self.objective.name == "balance":
            self._change_balance(loop.shape, best, numbers, pays=build <= GAIN * now * stay)
            return
        if then > (1.0 - GAIN) * now or (now - then) * stay <= build:
            return
        self.shape = best
        self._changes += 1
        rows = sum(float(rate) for rate in numbers.rates.values())
        reason = (
            f"{plan} is expected to take {few_digits(then / rows)} ns per row instead of {few_digits(now / rows)}, "
            f"{percent(1.0 - then / now)} less; building it pays after {few_digits(build / (now - then) * rows)} rows"
        )
        self.change = PlanChange(current, plan, reason)

    def _change_balance(self, shape: Shape, best: Shape, numbers: JoinNumbers, *, pays: bool) -> None:
        """Change to a plan that is better balanced, if building it costs little compared with running it."""
        (mine, _), (least, _) = PointScores(numbers).of([shape, best], self.objective)
        if not pays or least > (1.0 - GAIN) * mine:
            return
        self.shape = best
        self._changes += 1
        reason = (
            f"{plan_text(best)} is expected to be {percent(1.0 - least / mine)} better at {self.objective!r}; building "
            "it costs little"
        )
        self.change = PlanChange(plan_text(shape), plan_text(best), reason)

    def costs(self, numbers: JoinNumbers) -> NodeCost:
        """Return the costs of joins, of which those that need too much memory are infinite."""
        times, too_large = NodeTimes(numbers), {part: True for plan in self._refused.values() for part in plan}

        def cost(parts: Sequence[Part]) -> float:
            for part in parts:
                if len(part) > 1 and part not in too_large:
                    too_large[part] = float(part_bytes(part, numbers)) > SPARE * self.max_bytes
            return math.inf if any(too_large.get(part, False) for part in parts) else times(parts)

        return cost

    def snapshot(self) -> dict[str, Any]:
        """Return what was counted and decided, as values for JSON."""
        return {
            "plan": plan_text(self.shape), "shape": self.shape, "changes": self._changes, "spent_ns": self._spent_ns,
            "work_ns": self._work_ns, "max_bytes": self.max_bytes,
            "refused": {plan: [sorted(part) for part in parts] for plan, parts in self._refused.items()},
            "times": self._times.snapshot(), "region": None if self.lookup is None else self.lookup.region,
            **self.counts.snapshot(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from what another watch of the same join has counted and decided."""
        if not snapshot:
            return
        self.shape, self._changes = as_shape(snapshot["shape"]), snapshot["changes"]
        self._spent_ns, self._work_ns = snapshot["spent_ns"], snapshot["work_ns"]
        if self.max_bytes <= snapshot["max_bytes"]:  # with more memory, plans that needed too much may fit
            self._refused = {p: tuple(map(frozenset, parts)) for p, parts in snapshot["refused"].items()}
        self._times.restore(snapshot["times"])
        if self.lookup is not None and snapshot["region"] is not None:
            self.lookup.region = tuple(snapshot["region"])
        self.counts.restore(snapshot)


def rebuild_ns(shape: Shape, numbers: JoinNumbers) -> float:
    """Return the time that it takes to build the stores of a plan from the windows, in nanoseconds."""
    total = 0.0
    for node in () if isinstance(shape, str) else nodes_of(shape):
        for part in node:
            streams = frozenset(streams_of(part))
            rows, values = float(stored_rows(streams, numbers)), columns_of(streams, numbers)
            total += rows * (COSTS.arrivals + COSTS.indexed + values * COSTS.values_stored + COSTS.probes)
            if len(streams) > 1:
                total += rows * (COSTS.results + values * COSTS.values_gathered)
    return total


def rebuilt(loop: WindowedJoin, shape: Shape, rng: np.random.Generator) -> WindowedJoin:
    """Return a loop of this shape, with the windows of another one, that continues where that one stopped.

    Guarantee: the results of all further rows are the same. Rows, watermarks, counters, chunks for snapshots and what
    was learned are passed on; kept sub-joins are built from the windows. The other loop must not be used any more. If
    this fails, such as for lack of memory, it can continue.
    Cost: storing all rows again, and joining those of the sub-joins.
    """
    binding = loop.binding
    keeps_nothing = all(isinstance(part, str) for part in shape)
    table_counts = {alias: loop.counts[alias] for alias in binding.plan.tables}
    tables = {alias: binding.schemas[alias].empty_table() for alias in binding.plan.tables}
    options = loop.options
    new = make_join_loop(
        binding, options, rng=rng, clock=loop.clock, tables=tables, shape=None if keeps_nothing else shape,
        intake=loop.intake,
    )  # fmt: skip
    loop.counts.update(table_counts)
    for alias in binding.plan.graph.aliases:
        new.windows[alias].take_over(loop.contents(alias), loop.windows[alias].chunks)
    for alias in new.streams:  # rows that had expired without being removed yet may have been left out
        loop.counts[alias].window.expired += len(loop.windows[alias]) - len(new.windows[alias])
    new.learn(loop.learned())
    return new
