"""Place conditions that call user functions before the join or after it, wherever they cost less.

Answers: is it cheaper to call a function for each row of a stream, or for each result? Before the join it is called for
each row, and rows that it drops are neither stored nor probed. After the join it is called for each result: where few
rows find partners, these are few calls; where each row finds several, they are many.

Guarantee: results are the same, and so are the rows that fail. A row on which a condition raises before the join fails
only if a result contains it (`carry_errors`), and after the join conditions see exactly these results. Joins are inner
joins, and windows, late rows and watermarks of this process are decided before any condition, so conditions commute
with them. A condition stays before the join

- if it does not call a user function: it costs less than to store and probe the rows that it drops;
- if it reads a table, whose rows are filtered once and not for each result;
- if a key of its source is computed by an expression that can raise, or by a user function: such a key is computed for
  all rows that the conditions keep, and fails the query;
- if Spark's JVM evaluates a condition on joined rows that can raise: it would raise on results that the condition
  drops;
- if partners are unknown for any edge of the join, a function is known to keep no row, or the policy is `static`.

Estimates: the results per second are, summed over the streams, the new rows of a stream times the partners that they
find along its probe tree. Without declared rates, their ratios follow from the partners: if a row of a finds p rows in
the window of b, and a row of b finds q in a window of a of the same length, b has p / q times the rows of a.

Cost: the expected work of every choice of places is computed, for the `MOST_PLACED` most expensive conditions at most;
others stay before the join.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import prod
from operator import mul

from thalweg.formatting import few_digits
from thalweg.optimizer.rules.choose_order import arriving
from thalweg.optimizer.rules.estimate_sources import estimate_sources, share_kept
from thalweg.optimizer.rules.order_filters import BUILT_IN_US, LEAST_DROPPED
from thalweg.plan.expressions.expression import UserCall, aliases, refs, text_of, user_functions, walk
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.select import EVENT_TIME
from thalweg.plan.query.plan_estimates import SourceEstimates
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.stats import NOTHING_KNOWN, CostUs, Knowledge

ROW_US = 0.5
"""The cost to store and probe one row, in microseconds: the join of three streams in docs/benchmarks-joins.md takes
about 0.3 per row of three numbers. It keeps cheap functions before the join."""
RESULT_US = 0.1
"""The cost to make one result, in microseconds, in the same join."""
CALL_US = 1.0
"""The assumed cost of a function that declares none, in microseconds: little more than a call. So if it is moved, this
pays for nearly every function."""

MOST_PLACED = 8
"""The most conditions whose places are chosen. There are 2^n choices for n conditions."""


def place_filters(plan: QueryPlan, known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Move conditions from scans to joined rows, as `plan.filter_places` says, or where this is expected to be
    cheaper."""
    movable = _movable(plan)
    if not movable or plan.filter_places == "before":
        return plan
    if plan.filter_places == "after":
        return _moved(plan, [condition for _, condition in movable])
    if isinstance(plan.filter_places, Mapping):
        stored = plan.filter_places
        after = [c for alias, c in movable if text_of(c.expression) not in stored.get(alias, ())]
        notes = (f"{c.text} is evaluated after the join, as its checkpoint was created" for c in after)
        return _moved(plan, after).noting(*notes)
    load = None if plan.policy == "static" else _Load.of(plan, known, movable)
    if load is None:
        return plan
    chosen = load.cheapest()
    in_order = sorted(chosen, key=lambda n: load.calls[n].condition.place)
    notes = (load.reason(n, chosen) for n in in_order)
    return _moved(plan, [load.calls[n].condition for n in in_order]).noting(*notes)


def _movable(plan: QueryPlan) -> list[tuple[str, Condition]]:
    """Return the conditions that may be evaluated after the join without another result or failed row, each with its
    source."""
    if plan.join is None or any(c.where == "jvm" and can_raise(c.expression) for c in plan.conditions):
        return []
    return [
        (scan.alias, condition)
        for scan in plan.scans
        if scan.source.relation.is_stream and not any(can_raise(e) or user_functions(e) for _, e in scan.computed)
        for condition in scan.conditions
        if condition.where == "python" and _can_be_read(condition, scan)
    ]


def _can_be_read(condition: Condition, scan: Branch) -> bool:
    """Whether joined rows can have the columns of a condition. One of them may have the name of the result's time."""
    names = [f"{ref.alias}_{ref.column}".lower() for ref in refs(condition.expression)]
    return aliases(condition.expression) == (scan.alias,) and EVENT_TIME not in names


def _moved(plan: QueryPlan, after: Collection[Condition]) -> QueryPlan:
    if not after:
        return plan
    for scan in plan.scans:
        rest = tuple(condition for condition in scan.conditions if condition not in after)
        plan = plan.with_scan(replace(scan, conditions=rest))
    return plan.with_conditions(tuple(sorted((*plan.conditions, *after), key=lambda condition: condition.place)))


@dataclass(frozen=True)
class _Called:
    """A condition that may be placed, with what is expected of it."""

    alias: str
    condition: Condition
    cost_us: float
    kept: float

    @property
    def rank(self) -> float:
        """The rank in a chain of filters, as in `order_filters`."""
        return self.cost_us / max(1 - self.kept, LEAST_DROPPED)


@dataclass(frozen=True)
class _Load:
    """The rows that reach conditions, and what they cost there. Sets of numbers are positions in `calls`."""

    calls: tuple[_Called, ...]
    rows: Mapping[str, float]
    """The rows per second of each stream that pass the conditions that stay at its scan."""
    results: float
    """The results per second if all conditions that may be placed are after the join."""
    joined: tuple[_Called, ...]
    """The conditions that are after the join in any case."""
    is_per_second: bool
    """Whether the unit of time is a second. Otherwise it is unknown."""

    @classmethod
    def of(cls, plan: QueryPlan, known: Knowledge, movable: Sequence[tuple[str, Condition]]) -> _Load | None:
        """Return what is expected of a plan whose conditions are all at their scans; None if it is unknown."""
        assert plan.join is not None
        sources = estimate_sources(plan, known)
        streams = tuple(stream.alias for stream in plan.query.streams)
        rates = {alias: rate for alias in streams if (rate := arriving(sources[alias])) is not None}
        arrive = rates if len(rates) == len(streams) else _relative_rates(plan, sources)
        graph = JoinGraph.of([(*e.one, *e.other) for e in plan.join.equalities])
        found = None if arrive is None else _results(graph, arrive, sources)
        called = [_called(c, alias, known, plan.scan(alias).source.relation.name) for alias, c in movable]
        calls = tuple(sorted(called, key=lambda each: each.cost_us, reverse=True)[:MOST_PLACED])
        if arrive is None or found is None or not all(each.kept for each in calls):
            return None
        kept = {alias: prod(each.kept for each in calls if each.alias == alias) for alias in streams}
        checked = reduce(mul, (share_kept(c, known, None).value for c in plan.join.residuals), 1.0)
        return cls(
            calls,
            {alias: arrive[alias] / kept[alias] for alias in streams},
            found * checked / prod(kept.values()),
            tuple(_called(condition, "", known, None) for condition in plan.conditions),
            arrive is rates,
        )

    def cheapest(self) -> frozenset[int]:
        """Return the conditions to be placed after the join; of equally cheap choices, the one with the fewest."""
        count = len(self.calls)
        choices = [frozenset(moved) for size in range(count + 1) for moved in combinations(range(count), size)]
        return min(choices, key=self.work_us)

    def work_us(self, after: Collection[int]) -> float:
        """Return the expected work per second if these conditions are after the join."""
        work = 0.0
        for alias, rows in self.rows.items():
            before = [each for n, each in enumerate(self.calls) if each.alias == alias and n not in after]
            called, left = _chain_us(before, rows)
            work += called + left * ROW_US
        results = self._results(after)
        called, _ = _chain_us([*self.joined, *(self.calls[n] for n in after)], results)
        return work + called + results * RESULT_US

    def called(self, n: int, after: Collection[int]) -> float:
        """Return how often a condition is called per second if these conditions are after the join."""
        one = self.calls[n]
        if n in after:
            rows, beside = self._results(after), [*self.joined, *(self.calls[k] for k in after)]
        else:
            rows, beside = self.rows[one.alias], [c for k, c in enumerate(self.calls) if k not in after]
            beside = [each for each in beside if each.alias == one.alias]
        return rows * prod(each.kept for each in beside if each is not one and each.rank < one.rank)

    def reason(self, n: int, after: frozenset[int]) -> str:
        """Return why one of these conditions is after the join, for `explain`."""
        one, calls, instead = self.calls[n], self.called(n, after), self.called(n, after - {n})
        before = (each.kept for k, each in enumerate(self.calls) if each.alias == one.alias and k not in after)
        per_row = few_digits(self._results(after) / (self.rows[one.alias] * prod(before)))
        number = f"{few_digits(calls)} calls per second instead of {few_digits(instead)}"
        if not self.is_per_second:
            number = f"{few_digits(calls / instead)} calls per row of {one.alias} instead of 1"
        return f"{one.condition.text} is evaluated after the join: {per_row} results per row expected, so {number}"

    def _results(self, after: Collection[int]) -> float:
        return self.results * prod(each.kept for n, each in enumerate(self.calls) if n not in after)


def _called(condition: Condition, alias: str, known: Knowledge, relation: str | None) -> _Called:
    costs = [known.about(CostUs(p.function)) for p in walk(condition.expression) if isinstance(p, UserCall)]
    cost_us = BUILT_IN_US + sum(CALL_US if cost is None else cost.value for cost in costs)
    return _Called(alias, condition, cost_us, share_kept(condition, known, relation).value)


def _chain_us(filters: Iterable[_Called], rows: float) -> tuple[float, float]:
    """Return the cost of a chain of conditions in its best order, and the rows that it keeps."""
    work = 0.0
    for each in sorted(filters, key=lambda each: each.rank):
        work += rows * each.cost_us
        rows *= each.kept
    return work, rows


def _results(
    graph: JoinGraph, arrive: Mapping[str, float], sources: Mapping[str, SourceEstimates]
) -> float | None:  # fmt: skip
    """Return the results per second; None if the partners of any edge are unknown."""
    results = 0.0
    for root, rows in arrive.items():
        for among, of in graph.tree(root).parents.items():
            partners = _partners(sources, of, among)
            if partners is None:
                return None
            rows *= partners
        results += rows
    return results


def _partners(sources: Mapping[str, SourceEstimates], of: str, among: str) -> float | None:
    """Return the partners that a row of one source finds in another."""
    return next((e.partners.value for e in sources[among].partners if e.of == of and e.partners is not None), None)


def _relative_rates(plan: QueryPlan, sources: Mapping[str, SourceEstimates]) -> dict[str, float] | None:
    """Return the new rows of each stream that pass its conditions, relative to the first stream; None if unknown."""
    lengths_us = {s.alias: None if s.window is None else s.window.length_us for s in plan.query.streams}
    rates, ready = {plan.query.streams[0].alias: 1.0}, [plan.query.streams[0].alias]
    while ready:
        one = ready.pop()
        for other in lengths_us.keys() - rates.keys():
            found, finds = _partners(sources, one, other), _partners(sources, other, one)
            length, its = lengths_us[one], lengths_us[other]
            if not found or not finds or length is None or its is None or (length != its and not length * its):
                continue
            rates[other] = rates[one] * (found / finds) * (1 if length == its else length / its)
            ready.append(other)
    return rates if len(rates) == len(lengths_us) else None
