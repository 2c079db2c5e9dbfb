"""Watches a running join, and changes its plan when another one is expected to be worth the change.

Answers: after each report of a join, whether it should keep other sub-joins from now on, and why.
How: rates, window sizes and times of work are counted, the shares of pairs that join are sampled (`edge_sample`). Means
are over the last reports (`DecayedMean`). The plan with the least CPU time is searched
(`search_plans`); the times of plans that have run are corrected by what they took.
A plan is changed if that saves at least `GAIN` of the time, and if what it saves in as much time as the streams have
run so far, divided by one plus the number of changes so far, is more than what building its sub-joins costs.
Guarantee: the results do not depend on the plan. Sampling and searching take about `BUDGET` of the time of the join:
one sample or search may take longer, and then the next one waits. If the kept sub-joins need more memory than the join
may have, it continues without them.

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
4.3 (estimates by decayed means).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any

import numpy as np

from thalweg.cost.join_bytes import limited_bytes, part_bytes, plan_bytes
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import COSTS, NodeTimes, columns_of, stored_rows, work_ns
from thalweg.errors import JoinLimitError
from thalweg.formatting import few_digits, percent
from thalweg.optimizer.choose_plan import PlanChoice
from thalweg.optimizer.join_estimates import needed_pairs, neighbors
from thalweg.optimizer.plan_scores import plan_text
from thalweg.optimizer.search_plans import NodeCost, cheapest_plan
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape, nodes_of, streams_of, to_text
from thalweg.runtime.joins.edge_sample import PairCount, sample_pair
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.rebuilt_join import rebuilt
from thalweg.stats.decayed_mean import DecayedMean, differs

BUDGET = 0.01
"""The share of a join's time that sampling and searching may take."""
LOAN_NS = 4_000_000
"""What sampling and searching may take at the start, beyond the budget."""
SEARCH_NS = 150_000
"""The expected time of a search for the cheapest plan, divided by the number of sets of streams: that of a star."""
GAIN = 0.15
"""The share of the time that another plan must save."""
LEAST_ROWS = 5_000
"""Rows that must have been joined before a plan is changed."""
LEAST_JOINED = 5
"""A share of pairs is known if at least so many of them joined, or..."""
ENOUGH_PAIRS = 20_000_000
"""...if so many pairs were tried."""
WELL_KNOWN = 200
"""If so many pairs have joined, a share is known well enough..."""
SELDOM = 10
"""...for this many reports. Then it is sampled again, because it may have changed."""
FEW = 0.3
"""The share of rows with a partner up to which their number of partners follows from it."""
SPARE = 0.8
"""The share of the memory limit that a plan may be expected to need."""

Pair = tuple[str, str]


@dataclass(slots=True)
class _Done:
    """What was done between two reports."""

    rows: dict[str, int]
    """The rows of each stream that were joined."""
    batches: int = 0
    work_ns: int = 0


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of the plan, with its evidence."""

    before: str
    after: str
    reason: str


def plan_watch(
    binding: JoinBinding, settings: JoinSettings, choice: PlanChoice | None, max_bytes: int
) -> PlanWatch | None:
    """Return the watch of a join; None if its plan never changes: the user has set it, the policy is static, or there
    is only one plan. `choice`: the plan that was chosen before the start. `max_bytes`: the limit if the settings do not
    have one."""
    graph = binding.plan.graph
    if not settings.can_change(graph):
        return None
    late = max(binding.lateness.values())  # the watermark follows the stream that is latest
    stay = {a: binding.windows[a] + late if a in binding.windows else None for a in binding.plan.streams}
    limit = settings.max_bytes or max_bytes
    shape = settings.first_shape(graph, None if choice is None else choice.chosen.shape)
    declared = None if choice is None else choice.shares
    return PlanWatch(graph, stay, limit, shape=shape, declared=declared, seed=settings.seed)


class PlanWatch:
    """What was counted of one join, and the plan in force."""

    def __init__(
        self, graph: JoinGraph, stay: Mapping[str, int | None], max_bytes: float, *,
        shape: Shape | None = None, declared: Mapping[Pair, float] | None = None, seed: int | None = 0,
    ) -> None:  # fmt: skip
        """Watch a join that begins with a plan. `stay`: how long a row stays in the window of its stream, in ticks;
        None if that differs from row to row. `declared`: shares of pairs that join, until they are counted; the plan
        was chosen from them for full windows, so it is compared with others for full windows too."""
        self.graph = graph
        self.shape: Shape = shape or graph.aliases
        self._stay = stay
        self.max_bytes = max_bytes
        self._declared = dict(declared or {})
        self._rng = np.random.default_rng(seed)
        self._rows = {alias: DecayedMean() for alias in stay}
        self._batches = DecayedMean()
        self._pairs = {pair: DecayedMean() for pair in neighbors(graph)}
        self._factors: dict[str, DecayedMean] = {}
        """By plan, the time that it took over the time that was computed."""
        self._made: dict[frozenset[str], DecayedMean] = {}
        """By kept sub-join, its rows over all combinations of rows of its windows."""
        self._refused: dict[str, tuple[Part, ...]] = {}
        """Plans that needed too much memory, with the sub-joins that they kept."""
        self._begun: int | None = None
        self._latest: int | None = None
        self._elapsed = 0
        self._all_rows = 0
        self._spent_ns = self._work_ns = 0
        self._reports = 0
        self._changes = 0
        self._sampled: dict[Pair, int] = {}
        """The report at which each pair was last sampled."""
        self._held: dict[str, int] = {}
        """The rows of each window at the last report."""
        self._per_report = {alias: DecayedMean() for alias in stay}
        self._batches_per_report = DecayedMean()
        self._forecast: dict[str, float] = {}
        self.change: PlanChange | None = None
        """The change that the next report will contain; None if there was none."""

    def observe(
        self, loop: WindowedJoin, taken: Sequence[dict[str, Any]], *, is_last: bool = False
    ) -> dict[str, Any]:  # fmt: skip
        """Count what a loop did since the last report, and choose the plan from now on: `shape`. Return the fields of a
        `PlanObserved`. `taken`: the counters by stream, as they are reported; sampled partners are added to them.
        `is_last`: no rows follow, so nothing is sampled and no plan is chosen."""
        begun = thread_time_ns()
        forecast, self._forecast = self._forecast, {}
        refused = self.change  # a plan that needed too much memory since the last report
        done = self._count(loop, taken)
        plan = plan_text(loop.shape) if refused is None else refused.before
        record = {
            "plan": plan, "rows": sum(done.rows.values()), "work_ns": done.work_ns,
            "results": sum(one.get("results", 0) for one in taken),
            "elapsed": self._elapsed * (loop.binding.tick_ns or 10**9) / 1e9,
            "held_rows": sum(one.get("window_rows", 0) for one in taken), "held_bytes": loop.nbytes, **forecast,
        }  # fmt: skip
        self._work_ns += done.work_ns
        self._all_rows += sum(done.rows.values())
        can_pay = not is_last and self._spent_ns <= LOAN_NS + BUDGET * self._work_ns
        if any(done.rows.values()) and self._all_rows >= LEAST_ROWS and can_pay:
            for (one, other), found in self._sample(loop).items():
                _add_sample(taken, one, other, found, self._rows_when_full(loop, other))
            numbers = self._numbers(loop)
            if numbers is not None:
                if refused is None:  # a report has one change
                    self._correct(loop, numbers, done)
                    if self._can_search():
                        self._choose(loop, numbers)
                self._forecast = self._expected(numbers)
            self._spent_ns += thread_time_ns() - begun
        self._held = {alias: len(window) for alias, window in loop.windows.items()}
        self._reports += 1
        if self.change is not None:
            record |= {"next_plan": self.change.after, "reason": self.change.reason}
            self.change = None
        return record

    def _can_search(self) -> bool:
        """Whether a search is expected to take no more time than sampling and searching may take so far."""
        return SEARCH_NS << len(self.graph.aliases) <= LOAN_NS + BUDGET * self._work_ns

    def _expected(self, numbers: JoinNumbers) -> dict[str, float]:
        """Return what is expected in the next report, if it is as long as those before."""
        rates: dict[str, Any] = dict.fromkeys(self.graph.aliases, 0.0)
        rates |= {alias: mean.mean for alias, mean in self._per_report.items()}
        coming = JoinNumbers(
            self.graph, rates, numbers.held, numbers.shares, numbers.columns, numbers.widths,
            self._batches_per_report.mean, numbers.counted,
        )  # fmt: skip
        kept = [frozenset(streams_of(node)) for node in nodes_of(self.shape)]
        parts = {frozenset([alias]) for alias in self.graph.aliases} | set(kept[:-1])
        return {
            "expected_ns": float(work_ns(self.shape, coming)) * self._factor(plan_text(self.shape)),
            "expected_results": float(coming.rate(kept[-1])),
            "expected_rows": sum(float(stored_rows(part, coming)) for part in parts),
            "expected_bytes": float(plan_bytes(self.shape, coming)),
        }

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

    def _count(self, loop: WindowedJoin, taken: Sequence[Mapping[str, Any]]) -> _Done:
        """Add the counters of a report to the means."""
        streams = [one for one in taken if one["stream"] in self._stay]
        done = _Done({one["stream"]: _came(one) for one in streams})
        passed = self._advance(streams)
        for one in streams:
            self._rows[one["stream"]].add(done.rows[one["stream"]], passed)
            self._per_report[one["stream"]].add(done.rows[one["stream"]])
            done.batches += one.get("batches", 0)
            done.work_ns += one.get("total_ns", 0)
        self._batches.add(done.batches, passed)
        self._batches_per_report.add(done.batches)
        if all(isinstance(part, str) for part in loop.shape):
            self._count_probes(loop, streams)
        kept = {to_text(node): frozenset(streams_of(node)) for node in nodes_of(loop.shape)}
        made = {kept[one["stream"]]: one["rows"] for one in taken if one.get("inner")}
        if all(residual.at_intake for residual in loop.binding.plan.residuals):
            made[frozenset(self.graph.aliases)] = sum(one.get("results", 0) for one in streams)
        for part, rows in made.items():
            tried = _combinations(part, done.rows, loop)
            self._made.setdefault(part, DecayedMean()).add(rows, tried)
        return done

    def _count_probes(self, loop: WindowedJoin, streams: Sequence[Mapping[str, Any]]) -> None:
        """Add what the probes of a multiway join have found: few of the rows that probe find a partner, so their number
        follows from how many do."""
        for one in streams:
            found = zip(one["others"], one.get("evaluated", ()), one.get("passed", ()), strict=False)
            for other, evaluated, passed in found:
                pair = (one["stream"], other) if (one["stream"], other) in self._pairs else (other, one["stream"])
                held = len(loop.windows[other])  # 0 if all rows that were probed have expired: nothing is known then
                if held and pair in self._pairs and LEAST_JOINED <= passed <= FEW * evaluated:
                    partners = -evaluated * math.log1p(-passed / evaluated)
                    self._pairs[pair].add(partners, evaluated * held)

    def _advance(self, streams: Sequence[Mapping[str, Any]]) -> int:
        """Return by how much the latest time has advanced, in ticks."""
        last = max((one["last_time"] for one in streams if one.get("last_time") is not None), default=None)
        first = min((one["first_time"] for one in streams if one.get("first_time") is not None), default=None)
        if last is None or first is None:
            return 0
        self._begun = first if self._begun is None else min(self._begun, first)
        before = self._begun if self._latest is None else self._latest
        self._latest = max(last, before)
        self._elapsed = self._latest - self._begun
        return self._latest - before

    def _sample(self, loop: WindowedJoin) -> dict[Pair, PairCount]:
        """Sample pairs of rows, those first of which least is known. Return the counts by the window whose rows looked
        for partners, and the window in which they looked."""
        counts: dict[Pair, PairCount] = {}
        begun = thread_time_ns()
        room = LOAN_NS + BUDGET * self._work_ns - self._spent_ns
        for pair in sorted(self._pairs, key=lambda pair: self._pairs[pair].total):
            known = self._pairs[pair].total >= WELL_KNOWN and self._reports - self._sampled.get(pair, 0) < SELDOM
            if known or not all(len(loop.windows[alias]) for alias in pair):
                continue
            self._sampled[pair] = self._reports
            one, other = sorted(pair, key=lambda alias: len(loop.windows[alias]))
            found = sample_pair(loop, one, other, self._rng)
            counts[one, other] = found
            mean = self._pairs[pair]
            if found.joined >= WELL_KNOWN and differs(mean.mean, found.joined / found.pairs):
                mean.clear()  # it has changed, so what was counted before says nothing about it
            mean.add(found.joined, found.pairs)
            if thread_time_ns() - begun > max(room, 0):
                break
        return counts

    def _rows_when_full(self, loop: WindowedJoin, alias: str) -> float:
        """Return how many rows a window holds now, or will hold when the streams have run as long as a row stays."""
        stay = self._stay.get(alias)
        return max(len(loop.windows[alias]), 0.0 if stay is None else self._rows[alias].mean * stay)

    def share(self, pair: Pair) -> float | None:
        """Return the share of pairs of rows that join; None if too little is known."""
        mean = self._pairs[pair]
        if mean.total >= LEAST_JOINED or mean.of >= ENOUGH_PAIRS:
            return max(mean.total, 0.5) / mean.of
        return self._declared.get(pair)

    def _numbers(self, loop: WindowedJoin) -> JoinNumbers | None:
        """Return the numbers for the next reports; None if too little is known."""
        shares = {pair: share for pair in self._pairs if (share := self.share(pair)) is not None}
        if any(pair not in shares for pair in needed_pairs(self.graph, shares)) or not self._elapsed:
            return None
        rates: dict[str, Any] = {}
        held: dict[str, Any] = {}
        columns: dict[str, int] = {}
        widths: dict[str, float] = {}
        for alias in self.graph.aliases:
            window = loop.windows[alias]
            columns[alias] = len(loop.binding.stored[alias].names)
            now = float(max(len(window), 1))
            rates[alias], held[alias] = 0.0, now
            if alias in self._stay:
                rates[alias] = self._rows[alias].mean
                stay = self._stay[alias]
                if stay is not None:  # windows that are filling will hold more
                    most = math.inf if self._declared else now * 1.5  # if the streams go on as long again
                    held[alias] = max(now, min(rates[alias] * stay, most))
            widths[alias] = sum(loop.binding.widths[alias].values())
        counted = {part: mean.mean for part, mean in self._made.items() if mean.total >= 100}
        return JoinNumbers(self.graph, rates, held, shares, columns, widths, self._batches.mean, counted)

    def _correct(self, loop: WindowedJoin, numbers: JoinNumbers, done: _Done) -> None:
        """Compare the time that the plan in force took with what is computed for the rows that came."""
        held: dict[str, Any] = {
            alias: max((len(window) + self._held.get(alias, 0)) / 2.0, 1.0) for alias, window in loop.windows.items()
        }
        rates: dict[str, Any] = {alias: float(done.rows.get(alias, 0)) for alias in self.graph.aliases}
        came = JoinNumbers(
            self.graph, rates, held, numbers.shares, numbers.columns, numbers.widths, float(done.batches),
            numbers.counted,
        )  # fmt: skip
        computed = float(work_ns(loop.shape, came))
        if computed > 0 and done.work_ns > 0:
            mean = self._factors.setdefault(plan_text(loop.shape), DecayedMean())
            mean.add(done.work_ns, computed)

    def _factor(self, plan: str) -> float:
        own = self._factors.get(plan)
        if own is not None and own.of:
            return own.mean
        now = self._factors.get(plan_text(self.shape))
        return now.mean if now is not None and now.of else 1.0

    def _choose(self, loop: WindowedJoin, numbers: JoinNumbers) -> None:
        current = plan_text(loop.shape)
        now = float(work_ns(loop.shape, numbers)) * self._factor(current)
        best, _ = cheapest_plan(self.graph, self.costs(numbers))
        plan = plan_text(best)
        if plan == current or plan in self._refused or best == loop.shape:
            return
        then = float(work_ns(best, numbers)) * self._factor(plan)
        size = float(limited_bytes(best, numbers, self._stay))
        if size > SPARE * self.max_bytes or then > (1.0 - GAIN) * now:
            return
        saved = (now - then) * self._elapsed / (1 + self._changes)  # plans that have changed often stay less long
        build = rebuild_ns(best, numbers) * self._factor(plan)
        if saved <= build:
            return
        self.shape = best
        self._changes += 1
        rows = sum(mean.mean for mean in self._rows.values())
        reason = (
            f"{plan} is expected to take {few_digits(then / rows)} ns per row instead of {few_digits(now / rows)}, "
            f"{percent(1.0 - then / now)} less; building it pays after {few_digits(build / (now - then) * rows)} rows"
        )
        self.change = PlanChange(current, plan, reason)

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
        """Return what was counted, as values for JSON."""
        return {
            "plan": plan_text(self.shape), "shape": self.shape, "elapsed": self._elapsed, "rows": self._all_rows,
            "changes": self._changes,
            "begun": self._begun, "latest": self._latest, "spent_ns": self._spent_ns, "work_ns": self._work_ns,
            "refused": {plan: [sorted(part) for part in parts] for plan, parts in self._refused.items()},
            "max_bytes": self.max_bytes,
            "rates": {alias: mean.rounds for alias, mean in self._rows.items()}, "batches": self._batches.rounds,
            "pairs": [[*pair, mean.rounds] for pair, mean in self._pairs.items()],
            "factors": {plan: mean.rounds for plan, mean in self._factors.items()},
            "made": [[sorted(part), mean.rounds] for part, mean in self._made.items()],
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from what another watch of the same join has counted."""
        if not snapshot:
            return
        self.shape = _as_tuples(snapshot["shape"])
        self._elapsed, self._all_rows = snapshot["elapsed"], snapshot["rows"]
        self._begun, self._latest = snapshot["begun"], snapshot["latest"]
        self._changes = snapshot["changes"]
        self._spent_ns, self._work_ns = snapshot["spent_ns"], snapshot["work_ns"]
        if self.max_bytes <= snapshot["max_bytes"]:  # with more memory, plans that needed too much may fit
            self._refused = {p: tuple(map(frozenset, parts)) for p, parts in snapshot["refused"].items()}
        for alias, rounds in snapshot["rates"].items():
            if alias in self._rows:
                self._rows[alias].restore(rounds)
        self._batches.restore(snapshot["batches"])
        for one, other, rounds in snapshot["pairs"]:
            self._pairs[one, other].restore(rounds)
        for plan, rounds in snapshot["factors"].items():
            self._factors.setdefault(plan, DecayedMean()).restore(rounds)
        for part, rounds in snapshot["made"]:
            self._made.setdefault(frozenset(part), DecayedMean()).restore(rounds)


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


def _add_sample(taken: Sequence[dict[str, Any]], one: str, other: str, found: PairCount, rows: float) -> None:
    """Add the partners that sampled rows have in a window of so many rows to the counters of their stream."""
    for stream in taken:
        if stream["stream"] == one and other in stream["others"]:
            k, none = list(stream["others"]).index(other), [0] * len(stream["others"])
            scale = rows * found.probes / found.pairs  # a full window may have more rows than were searched
            for name, count in (("sampled", found.probes), ("partners", round(found.joined * scale)),
                                ("partnered", found.partnered)):  # fmt: skip
                stream.setdefault(name, list(none))[k] += count


def _came(stream: Mapping[str, Any]) -> int:
    """Return how many rows of a stream were joined."""
    lost = sum(stream.get(name, 0) for name in ("late", "no_time", "no_key", "filtered"))
    return int(stream.get("rows", 0) - lost)


def _as_tuples(shape: Any) -> Shape:
    """Return a plan that was read from JSON. Its text is not parsed: names may contain blanks and parentheses."""
    return shape if isinstance(shape, str) else tuple(_as_tuples(part) for part in shape)


def _combinations(aliases: Collection[str], came: Mapping[str, int], loop: WindowedJoin) -> float:
    """Return how many combinations of rows were complete with one of the rows that came."""
    held = {alias: float(len(loop.windows[alias])) for alias in aliases}
    return sum(came.get(alias, 0) * math.prod(held[other] for other in aliases if other != alias) for alias in aliases)
