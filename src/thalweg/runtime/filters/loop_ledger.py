"""The counters of a filter loop: the cost of calls, the work since the last call of the policy, and the work for the
report (`Work`).

Everything is counted here, once. The policy, reports and snapshots read these counters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import Observation
from thalweg.adapt.policy import ClassifiedTuples, Costs, ObservedRoutes, Trial
from thalweg.events.counts import Counts, latest
from thalweg.events.parts import (
    CallCounts,
    ChainCounts,
    ChartCounts,
    InForceCounts,
    RouteCounts,
    TimeCounts,
    TrialCounts,
)
from thalweg.kernels import Profile, SliceResult
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.runtime.filters.recalled_order import RecalledOrder
from thalweg.stats import CallCost, UsualWait


@dataclass(frozen=True, slots=True)
class Switch:
    """An applied verdict: the number of rows of this loop before it, the old and the new order, and the reason."""

    at: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str
    mesh: Mesh | None = None
    """The mesh from then on, if it changed too; one of a single route if rows take one route again."""


@dataclass(slots=True)
class Work(Counts):
    """What a loop did between two reports, in the parts of its record."""

    chain: ChainCounts = field(default_factory=ChainCounts)
    calls: CallCounts = field(default_factory=CallCounts)
    times: TimeCounts = field(default_factory=TimeCounts)
    in_force: InForceCounts = field(default_factory=InForceCounts)
    trials: TrialCounts = field(default_factory=TrialCounts)
    routes: RouteCounts | None = None
    """The work of the mesh in force by route, since it was adopted or since the work was last taken; None without."""
    chart: ChartCounts = field(default_factory=ChartCounts)
    switches: list[Switch] = latest(by="switches")


KNOWN_BETTER = 0.5
"""A sibling's cost is taken over if its error is at most this share of the error known here."""

Bits = NDArray[np.bool_]
Order = tuple[int, ...]


class LoopLedger:
    """The counters of one loop over n predicates."""

    def __init__(self, n: int) -> None:
        self.work = Work.none(n)
        self.costs = [CallCost() for _ in range(n)]
        self._waits = [UsualWait() for _ in range(n)]
        self.rows_seen = 0
        self.rows_since = 0
        """Rows since the last call of the policy, without those of trials."""
        self.working_ns = 0
        """Time of regular processing since the last call of the policy."""
        self._since = [[0] * n, [0] * n, [0] * n, [0] * n]  # evaluated, passed, ns, calls
        self._slices_since = 0
        self._profiling_ns = self._reoptimizing_ns = 0
        self._routed: ObservedRoutes | None = None  # since the last call of the policy
        self.on_routes: ObservedRoutes | None = None  # since the work was last taken

    def begin_mesh(self, version: int | None, routes: int = 0) -> None:
        """Begin to count the work of a mesh by route; None: all rows take one route again."""
        n = len(self.costs)
        self._routed = None if version is None else ObservedRoutes.none(version, routes, n)
        self.on_routes = None if version is None else ObservedRoutes.none(version, routes, n)

    def count_routing(self, ns: int) -> None:
        """Count time in which rows were classified and moved between operators."""
        self.work.times.routing_ns += ns
        if self._routed is not None:
            self._routed.routing_ns += ns

    def count(self, done: SliceResult, rows: int, order: Order, *, trial: bool = False) -> None:
        """Count a slice. The rows of a trial do not count as rows of the order in force, because they say nothing about
        it."""
        chain, in_force, work_calls = self.work.chain, self.work.in_force, self.work.calls
        chain.rows += rows
        chain.kept += len(done.kept)
        self.rows_seen += rows
        if not trial:
            in_force.rows += rows
            self.rows_since += rows
            self._slices_since += 1
        routed = done.routed
        if routed is not None and self._routed is not None and self.on_routes is not None:
            self._routed.count(routed.rows, routed.evaluated, routed.passed, routed.decisions)
            self.on_routes.count(routed.rows, routed.evaluated, routed.passed, routed.decisions)
            for call in routed.calls:
                if call.rows:
                    self._record(call.predicate, call.rows, call.ns, call.cpu_ns)
        evaluated, passed, ns, calls = self._since
        for k in order:
            count = done.evaluated[k]
            if not count:
                continue
            if not trial:
                evaluated[k] += count
                passed[k] += done.passed[k]
                ns[k] += done.ns[k]
                calls[k] += 1
                in_force.evaluated[k] += count
                in_force.passed[k] += done.passed[k]
            chain.evaluated[k] += count
            chain.passed[k] += done.passed[k]
            work_calls.busy_ns[k] += done.ns[k]
            work_calls.raised[k] += done.raised[k]
            if routed is None:
                self._record(k, count, done.ns[k], None if done.cpu_ns is None else done.cpu_ns[k])

    def _record(self, k: int, rows: int, ns: int, cpu_ns: int | None) -> None:
        """Record the duration of a call of predicate k on `rows` rows."""
        self.costs[k].record(rows, ns if cpu_ns is None else self._waits[k].counted(rows, ns, cpu_ns))

    def count_profile(self, seen: Profile) -> None:
        """Count the cost of calls on sampled rows. A call that raised ended early and says nothing about the cost."""
        for k, count in enumerate(seen.evaluated):
            if count and not seen.errors[k]:
                self._record(k, count, seen.ns[k], None if seen.cpu_ns is None else seen.cpu_ns[k])

    def count_shown(self, seen: Profile) -> None:
        """Count profiled rows that are passed to the policy."""
        chain, calls = self.work.chain, self.work.calls
        chain.profile_tuples += len(seen.dropped)
        for k, evaluated in enumerate(seen.evaluated):
            if evaluated:
                chain.profiled[k] += evaluated
                calls.profile_busy_ns[k] += seen.ns[k]
                calls.profile_errors[k] += seen.errors[k]

    def count_trial(self, trial: Trial, rows: int, ns: int, candidate_ns: int) -> int:
        """Count a trial, and return the time it lost. The other predicates see no more rows than without the trial, so
        at most the candidate's time is lost; any further time is due to the data."""
        lost = min(max(0, round(ns - trial.expected_ns * rows / trial.rows)), candidate_ns)
        trials = self.work.trials
        trials.trials += 1
        trials.rows += rows
        trials.ns += ns
        trials.loss_ns += lost
        return lost

    def count_profiling(self, ns: int) -> None:
        """Count time in which rows were sampled, copied or profiled."""
        self.work.times.profiling_ns += ns
        self._profiling_ns += ns

    def count_reoptimizing(self, ns: int) -> None:
        """Count time in which the policy decided."""
        self.work.times.reoptimizing_ns += ns
        self._reoptimizing_ns += ns

    def count_switch(self, before: Order, after: Order, reason: str, mesh: Mesh | None = None) -> None:
        """Count a switch to another order, or to another mesh. The counts of the order in force begin anew."""
        self.work.switches.append(Switch(self.rows_seen, before, after, reason, mesh))
        self.work.in_force = InForceCounts.none(len(self.costs))
        self.work.in_force.switched = True

    def seen(
        self, profile: Bits, known: Bits | None, siblings: tuple[Bits, Bits] | None, batch_rows: int,
        *, trial_ns: int = 0, trial_loss_ns: int = 0, values: Mapping[str, pa.Array] | None = None,
        classified_siblings: Sequence[ClassifiedTuples] = (),
    ) -> Observation:  # fmt: skip
        """Return what was observed since the last call, for the policy."""
        evaluated, passed, ns, calls = (np.array(counter, dtype=np.int64) for counter in self._since)
        seen = Observation(
            evaluated, passed, ns, np.array(self.cost_ns()), profile,
            known=known, costs=self._known_costs(), batch_rows=batch_rows,
            slices=self._slices_since, calls=calls,
            working_ns=self.working_ns, profiling_ns=self._profiling_ns,
            reoptimizing_ns=self._reoptimizing_ns, trial_ns=trial_ns, trial_loss_ns=trial_loss_ns,
            siblings=siblings, values=values, routes=self._routed,
            classified_siblings=classified_siblings,
        )  # fmt: skip
        self.working_ns = self._profiling_ns = self._reoptimizing_ns = 0
        self.begin()
        return seen

    def begin(self) -> None:
        """Reset what was observed of the order in force, because it is obsolete or has been taken."""
        self.rows_since = self._slices_since = 0
        if self._routed is not None:
            self._routed = self._routed.zeroed()
        for counter in self._since:
            counter[:] = [0] * len(counter)

    def take_work(self) -> Work:
        """Return the work done since the last call."""
        work = self.work.taken()
        if self.on_routes is not None:
            seen, self.on_routes = self.on_routes, self.on_routes.zeroed()
            costs = [cost.per_row_ns if cost.known else 0.0 for cost in self.costs]
            work.routes = RouteCounts(
                seen.version, seen.rows.tolist(), seen.evaluated.sum(axis=1).tolist(),
                [round(ns) for ns in (seen.evaluated @ np.array(costs)).tolist()], seen.decisions,
            )  # fmt: skip
        return work

    def cost_ns(self) -> list[float]:
        """Return the cost of one more row, by predicate; nan if it is unknown."""
        return [cost.per_row_ns if cost.known else math.nan for cost in self.costs]

    def _known_costs(self) -> Costs:
        return Costs(
            np.array([cost.least_ns for cost in self.costs]),
            np.array([cost.most_ns for cost in self.costs]),
            np.array([cost.fixed_ns for cost in self.costs]),
            np.array([cost.most_rows for cost in self.costs]),
        )

    def cost_snapshot(self) -> dict[str, Any]:
        """Return the costs of the predicates, for a worker that starts."""
        known = [cost if cost.known else None for cost in self.costs]
        return {
            "cost_ns": [cost and round(cost.per_row_ns, 1) for cost in known],
            "fixed_ns": [cost and round(cost.fixed_ns) for cost in known],
            "error_ns": [cost and round(cost.error_ns, 1) for cost in known],
            "most_rows": [cost and cost.most_rows for cost in known],
        }

    def take_over_costs(self, snapshot: Mapping[str, Any], *, better: bool = False) -> None:
        """Take over the costs that another worker has found. `better`: only those it knows clearly better."""
        per_row = snapshot.get("cost_ns") or ()
        unknown = [None] * len(per_row)
        more = (snapshot.get(key) or unknown for key in ("fixed_ns", "error_ns", "most_rows"))
        for cost, ns, fixed, error, rows in zip(self.costs, per_row, *more, strict=False):
            if ns is None or (better and (error is None or (cost.known and error > KNOWN_BETTER * cost.error_ns))):
                continue
            cost.take_over(float(ns), float(fixed or 0.0), None if error is None else float(error), int(rows or 0))

    def recall_costs(self, recalled: RecalledOrder) -> None:
        """Start with the costs of an earlier run, until the cost of calls here is known."""
        for cost, per_row, fixed in zip(self.costs, recalled.cost_ns, recalled.fixed_ns, strict=True):
            if per_row is not None:
                cost.take_over(per_row, fixed or 0.0)
