"""The order of a filter set's native predicates, learned from sampled rows.

Answers: the order in which the next query, or the next micro-batch of a `foreachBatch`, evaluates native predicates.
Predicates that a source can take over come first, cheap kinds before expensive ones. The others are in the greedy order
over the outcomes of sampled rows (so correlations count), with costs by kind of expression. Until enough rows are
sampled, the cheap kinds come first. The order changes only if a row then costs clearly less.
Cost: a dictionary of outcomes, in which older ones count less and less; it is read once per query or micro-batch.
Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004,
definition 4.1 (Static Greedy).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg.cost import dominant_kind, greedy_order, native_cost, order_cost
from thalweg.errors import ThalwegError
from thalweg.events import NativeObserved, Origin, from_json
from thalweg.events.parts import NativeCounts
from thalweg.formatting import tenths_of_percent, whole_number
from thalweg.plan import NativePlan, Pipeline

LEAST_SAMPLED = 50
"""The number of rows below which a sample is ignored."""
REMEMBERED = 1000
"""The weight, in rows, of older samples when new ones arrive (a-greedy, table 1: the window of profile tuples)."""
CLEARLY = 0.95
"""The order changes if a row costs less than this share of its current cost. Both costs are estimates."""
CALM, EVERY = 4, 4
"""If enough rows are remembered and the order has been kept four times in a row, only every fourth query is sampled."""
MOST_PENDING = 100
"""The number of batch DataFrames whose first action is awaited."""

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StartOrder:
    """The order a query starts with, the previous one, and the reason."""

    order: Order
    before: Order
    reason: str
    sampled: bool
    """Whether rows of this query are sampled. A query that runs indefinitely should be sampled in any case."""


class NativeOrder:
    """The learned order of one filter set, for as long as that exists. It is safe to use from several threads."""

    def __init__(self, plan: NativePlan) -> None:
        self.plan = plan
        self.costs = tuple(native_cost(p.uses) for p in plan.predicates)
        self.kinds = tuple(dominant_kind(p.uses) for p in plan.predicates)
        self._weights: dict[int, float] = {}
        self._order: Order = plan.pipeline.start
        self._by_kind = self._cheap_kinds_first()
        self._decided = self._unchanged = 0
        self._pending: list[Callable[[], bool]] = []
        self._recalled: set[str] = set()
        self._lock = threading.Lock()

    @property
    def worth_sampling(self) -> bool:
        """Whether sampled rows could change the order. At least two of the learned predicates must not be bound to an
        order by their guards."""
        learned, waits_for = self.plan.learned, self.plan.waits_for
        return any(a not in waits_for[b] and b not in waits_for[a] for a, b in itertools.combinations(learned, 2))

    def learn(self, outcomes: Mapping[int, float]) -> None:
        """Add outcomes of sampled rows, as bits of the predicates that dropped them. Older outcomes count for at most
        `REMEMBERED` rows."""
        with self._lock:
            fade = min(1.0, REMEMBERED / max(sum(self._weights.values()), 1.0))
            if outcomes:
                self._weights = {mask: weight * fade for mask, weight in self._weights.items() if weight * fade > 0.01}
            for mask, count in outcomes.items():
                self._weights[mask] = self._weights.get(mask, 0.0) + count

    def decide(self, adapts: bool) -> StartOrder:
        """Return the order to start with now; the written order if the policy does not learn."""
        self.settle()
        with self._lock:
            before = self._order
            after, reason = self._next(adapts)
            self._order = after
            self._decided += 1
            self._unchanged = self._unchanged + 1 if after == before else 0
            calm = self._unchanged > CALM and sum(self._weights.values()) >= REMEMBERED
            sampled = adapts and self.worth_sampling and (not calm or self._decided % EVERY == 0)
            return StartOrder(after, before, reason, sampled)

    def foreseen(self, adapts: bool) -> tuple[Order, str]:
        """Return the order that `decide` would return now, and the reason, without changing anything."""
        self.settle()
        with self._lock:
            return self._next(adapts)

    def _next(self, adapts: bool) -> tuple[Order, str]:
        if not adapts:
            return self.plan.pipeline.start, "as written: the policy does not learn"
        return self._best(self._order)

    def _best(self, before: Order) -> tuple[Order, str]:
        sampled = sum(self._weights.values())
        if sampled < LEAST_SAMPLED or not self.worth_sampling:
            return self._by_kind, "cheap kinds of expression first" + (
                "; few rows sampled yet" if self.worth_sampling else ""
            )
        masks = list(self._weights)
        weights = np.array([self._weights[mask] for mask in masks])
        # on a tie the cheaper kind wins, because columns are in that order
        columns = [k for k in self._by_kind if k in self.plan.learned]
        dropped = np.array([[bool(mask >> k & 1) for k in columns] for mask in masks])
        times = [self.costs[k] for k in columns]
        place = {k: i for i, k in enumerate(columns)}
        guards = tuple(tuple(place[g] for g in self.plan.pipeline.guards[k] if g in place) for k in columns)
        names = self.plan.names
        greedy = greedy_order(dropped, times, weights, Pipeline(tuple(names[k] for k in columns), guards))
        now = tuple(place[k] for k in before if k in place)
        first_unchanged = before[: len(self.plan.first)] == self._by_kind[: len(self.plan.first)]
        cost, cost_now = (order_cost(order, dropped, times, weights) for order in (greedy, now))
        if first_unchanged and cost > CLEARLY * cost_now:
            return before, f"no order is clearly cheaper over {whole_number(sampled)} sampled rows"
        mover = columns[next((a for a, b in zip(greedy, now, strict=True) if a != b), greedy[0])]
        share = float(weights[dropped[:, place[mover]]].sum()) / sampled
        reason = (
            f"{names[mover]} drops {tenths_of_percent(share)} of {whole_number(sampled)} sampled rows "
            f"at cost {whole_number(self.costs[mover])}; a row costs {cost:.1f} instead of {cost_now:.1f}"
        )
        return self._by_kind[: len(self.plan.first)] + tuple(columns[i] for i in greedy), reason

    def _cheap_kinds_first(self) -> Order:
        """Return the predicates that a source can take over, then the others; each group cheapest first, as far as
        guards allow."""
        order: list[int] = []
        for stage in (self.plan.first, self.plan.learned):
            left = list(stage)
            while left:
                ready = [k for k in left if all(g in order for g in self.plan.pipeline.guards[k])]
                cheapest = min(ready, key=lambda k: self.costs[k])
                order.append(cheapest)
                left.remove(cheapest)
        return tuple(order)

    def record(
        self, origin: Origin, chain: tuple[str, ...], ordered: StartOrder, outcomes: Mapping[int, float]
    ) -> NativeObserved:
        """Return the event record of one run or one micro-batch. `chain`: the Python predicates that follow."""
        tested, passed = [], []
        for k, guards in enumerate(self.plan.waits_for):
            held = {mask: n for mask, n in outcomes.items() if not any(mask >> g & 1 for g in guards)}
            in_sample = k in self.plan.learned
            tested.append(round(sum(held.values())) if in_sample else 0)
            passed.append(round(sum(n for mask, n in held.items() if not mask >> k & 1)) if in_sample else 0)
        names = self.plan.names
        return NativeObserved(
            origin, chain, names, self.plan.fingerprint, self.kinds, self.costs,
            before=tuple(names[k] for k in ordered.before), order=tuple(names[k] for k in ordered.order),
            reason=ordered.reason, counts=NativeCounts(tested, passed), masks=tuple(outcomes),
            sampled=tuple(round(n) for n in outcomes.values()),
        )  # fmt: skip

    def recall(self, path: str | os.PathLike[str] | None) -> None:
        """Learn from the events of earlier runs, once per file. Other lines are skipped. If a micro-batch was run
        several times, only the last time counts."""
        if path is None or str(path) in self._recalled or not Path(path).is_file():
            return
        self._recalled.add(str(path))
        found: dict[object, NativeObserved] = {}
        with Path(path).open(encoding="utf-8") as lines:
            for line in lines:
                if self.plan.fingerprint not in line:
                    continue
                try:
                    record = from_json(line)
                except ThalwegError:
                    continue
                if isinstance(record, NativeObserved):
                    query, batch = record.origin.query, record.origin.batch
                    found[(query, batch) if None not in (query, batch) else len(found)] = record
        for record in found.values():
            self.learn(dict(zip(record.masks, record.sampled, strict=True)))

    def expect(self, fetch: Callable[[], bool]) -> None:
        """Register a function that fetches what the first action on a DataFrame observes. It is called at the next
        decision or report."""
        with self._lock:
            self._pending = [*self._pending[-MOST_PENDING:], fetch]

    def settle(self) -> None:
        """Fetch what has been observed since the last call, without waiting."""
        with self._lock:
            pending, self._pending = self._pending, []
        waiting = [fetch for fetch in pending if not fetch()]
        with self._lock:
            self._pending = [*waiting, *self._pending]
