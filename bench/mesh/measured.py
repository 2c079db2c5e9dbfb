"""One scenario, run by all contenders and by two references in interleaved rounds, and the figures of it.

The references are the best single order (policy `static`, with the order known beforehand) and the clairvoyant: each
row takes the best order of its class, through the same fabric as a mesh, and classifying costs nothing. The possible
saving is what the clairvoyant saves over the best single order.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import thalweg as tw
from bench.check import Check
from bench.local_variants import timed
from bench.mesh.classed import Classed
from bench.mesh.contenders import AGAIN, ALL, AUTO, Contender, routes_of, routing_share_of
from bench.mesh.counted import counting, counts_of
from bench.rounds import Trial, Trials, Variant, interleave, ratio, ratios, seconds
from bench.scenario import BATCH_ROWS, Phase
from thalweg.kernels.fabric import run_routes
from thalweg.kernels.filter_chain import FilterChain
from thalweg.plan import FilterPlan

SINGLE, CLAIRVOYANT = "best single order", "clairvoyant"
WARM_BATCHES = 3
LEAST_POSSIBLE, LEAST_POSSIBLE_CPU = 0.001, 0.02
"""Shares of a possible saving are computed only if it is at least this share of the work of the best single order."""

Batches = list[list[pa.RecordBatch]]
Line = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """The trials of one scenario."""

    classed: Classed
    trials: Trials

    @property
    def aa(self) -> float:
        """The largest ratio of `auto` to itself in a round, at least 1."""
        return max(max(value, 1 / value) for value in ratios(self.trials, AGAIN.name, AUTO.name))

    def units(self, name: str) -> float:
        """Return the cost-weighted evaluations per row, including profiling: the median of the rounds."""
        weighted = (self.classed.scenario.weighted(trial.evaluated) for trial in self.trials[name])
        return statistics.median(weighted) / self.classed.rows

    def evaluations(self, name: str) -> float:
        """Return the evaluations per row, including profiling: the median of the rounds."""
        return statistics.median(sum(trial.evaluated.values()) for trial in self.trials[name]) / self.classed.rows

    def share(self, name: str) -> float | None:
        """Return the share of the possible saving in cost-weighted evaluations that a variant reaches."""
        if self._saves_less_than(LEAST_POSSIBLE):
            return None
        return (self._single_units - self.units(name)) / self.classed.possible_units

    def cpu_share(self, name: str) -> tuple[float, float] | None:
        """Return the share of the possible saving in CPU time, the median of the rounds, and its A/A spread."""
        if self.why_no_cpu_share:
            return None
        single, best, own = (
            [seconds(trial) for trial in self.trials[each]] for each in (SINGLE, CLAIRVOYANT, name)
        )  # fmt: skip
        shares = [(a - c) / (a - b) for a, b, c in zip(single, best, own, strict=True)]
        possible = statistics.median(a - b for a, b in zip(single, best, strict=True))
        return statistics.median(shares), (self.aa - 1.0) * statistics.median(own) / possible

    @property
    def why_no_share(self) -> str:
        """Why there are no shares of the possible saving in evaluations; empty if there are."""
        return "there is next to nothing to save" if self._saves_less_than(LEAST_POSSIBLE) else ""

    @property
    def why_no_cpu_share(self) -> str:
        """Why there are no shares of the possible saving in CPU time; empty if there are."""
        if self._saves_less_than(LEAST_POSSIBLE_CPU):
            return "there is next to nothing to save"
        both = zip(self.trials[SINGLE], self.trials[CLAIRVOYANT], strict=True)
        slow = sum(seconds(single) <= seconds(best) for single, best in both)
        of = len(self.trials[SINGLE])
        return f"in {slow} of {of} rounds the clairvoyant took as long as the best single order" if slow else ""

    def _saves_less_than(self, share: float) -> bool:
        return self.classed.possible_units < share * self._single_units

    @property
    def _single_units(self) -> float:
        return self.classed.scenario.weighted(self.classed.single_evaluations) / self.classed.rows

    def figures(self) -> Line:
        """Return all figures of the scenario, those of variants by name."""
        classed = self.classed
        derived = {SINGLE: classed.single_evaluations, CLAIRVOYANT: classed.clairvoyant_evaluations}
        return {
            "scenario": classed.name, "rows": classed.rows, "classify_by": list(classed.by),
            "rounds": len(self.trials[AUTO.name]), "aa": round(self.aa, 4),
            "single_evaluations": round(sum(derived[SINGLE].values()) / classed.rows, 4),
            "clairvoyant_evaluations": round(sum(derived[CLAIRVOYANT].values()) / classed.rows, 4),
            "clairvoyant_routes": max(len(routing.routes) for routing in classed.clairvoyant),
            "possible_share": round(classed.possible_units / self._single_units, 4),
            "why_no_share": self.why_no_share, "why_no_cpu_share": self.why_no_cpu_share,
            "variants": {name: self._variant(name) for name in self.trials},
        }  # fmt: skip

    def _variant(self, name: str) -> Line:
        trials = self.trials[name]
        share, cpu_share = self.share(name), self.cpu_share(name)
        times = [seconds(trial) for trial in trials]
        routing = [trial.counts["routing_ppm"] for trial in trials if "routing_ppm" in trial.counts]
        return {
            "evaluations": round(self.evaluations(name), 4), "units": round(self.units(name), 4),
            "evaluations_share": None if share is None else round(share, 4),
            "cpu_seconds": round(statistics.median(times), 4),
            "cpu_spread": [round(min(times), 4), round(max(times), 4)],
            "cpu_over_auto": round(ratio(self.trials, name, AUTO.name), 4),
            "cpu_share": None if cpu_share is None else round(cpu_share[0], 4),
            "cpu_share_aa": None if cpu_share is None else round(cpu_share[1], 4),
            "switches": statistics.median(trial.counts.get("switches", 0) for trial in trials),
            "routes": max(trial.counts.get("routes", 1) for trial in trials),
            "routing_share": round(statistics.median(routing) / 1e6, 5) if routing else None,
        }  # fmt: skip


def measure(
    classed: Classed, rounds: int, contenders: Sequence[Contender] = ALL, batch_rows: int = BATCH_ROWS
) -> Measured:
    """Run everything that this version of Thalweg has. Raises WrongResultError if a variant gives other rows than the
    conjunction of the outcomes."""
    batches = batches_of(classed, batch_rows)
    runs: dict[str, Callable[[Batches, int], Trial]] = {
        SINGLE: partial(run_single, classed, batch_rows),
        CLAIRVOYANT: partial(run_clairvoyant, classed),
        **{one.name: partial(run_contender, classed, one) for one in contenders if not one.missing},
    }
    few = [phase[:WARM_BATCHES] for phase in batches]
    for run in runs.values():
        run(few, 0)  # loads compiled functions
    variants = [Variant(name, partial(run, batches)) for name, run in runs.items()]
    return Measured(classed, interleave(variants, rounds, classed.scenario.expected, classed.name))


def batches_of(classed: Classed, batch_rows: int) -> Batches:
    """Return the batches of each phase."""

    def cut(phase: Phase) -> list[pa.RecordBatch]:
        rows = classed.scenario.table.slice(phase.start, phase.rows).combine_chunks()
        found: list[pa.RecordBatch] = rows.to_batches(max_chunksize=batch_rows)
        return found

    return [cut(phase) for phase in classed.scenario.phases]


def run_contender(classed: Classed, contender: Contender, batches: Batches, seed: int) -> Trial:
    """Run one policy over all batches."""
    counted = counting(classed.scenario.checks)
    checks = counted or classed.scenario.checks
    keep = contender.filters(classed, checks, seed)
    trial = timed([(keep, [batch for phase in batches for batch in phase])])
    return _with_counts(trial, checks if counted else None, [keep])


def run_single(classed: Classed, batch_rows: int, batches: Batches, seed: int) -> Trial:
    """Run the best single order, in slices of whole batches."""
    counted = counting(classed.scenario.checks)
    checks = counted or classed.scenario.checks
    known = Contender(SINGLE, "static", {"slice_rows": batch_rows})
    keeps = [
        known.filters(classed, tuple(checks[k] for k in order), seed) for order in classed.scenario.best_orders
    ]  # fmt: skip
    trial = timed(list(zip(keeps, batches, strict=True)))
    return _with_counts(trial, checks if counted else None, keeps)


def run_clairvoyant(classed: Classed, batches: Batches, seed: int = 0) -> Trial:
    """Run every row along the best route of its class, through the fabric. It draws nothing and ignores the seed."""
    checks = counting(classed.scenario.checks) or classed.scenario.checks
    plan = FilterPlan.of(tuple(check.predicate() for check in checks))
    chain = FilterChain(plan, time.perf_counter_ns, cpu_clock=time.thread_time_ns)
    evaluated: Counter[str] = Counter()
    kept, ids = 0, 0
    wall, cpu = time.perf_counter(), time.process_time()
    for routing, phase in zip(classed.clairvoyant, batches, strict=True):
        start = 0
        for batch in phase:
            columns = chain.columns(batch.select(list(plan.columns)))
            route = routing.route[start : start + batch.num_rows]
            done = run_routes(chain, columns, routing.routes, route)
            passed = batch.take(pa.array(done.kept))
            kept += passed.num_rows
            ids += pc.sum(passed.column("id"), min_count=0).as_py()
            evaluated.update(dict(zip(plan.pipeline.names, done.evaluated, strict=True)))
            start += batch.num_rows
    spent = time.perf_counter() - wall, time.process_time() - cpu
    routes = max(len(routing.routes) for routing in classed.clairvoyant)
    return Trial(*spent, (kept, ids), counts_of(checks) or dict(evaluated), counts={"routes": routes})


def _with_counts(trial: Trial, counted: Sequence[Check] | None, keeps: Sequence[tw.Filters]) -> Trial:
    """Return the trial with evaluations that include profiling: counted by the predicates, or else by reports."""
    reports = [keep.report() for keep in keeps]
    all_reported = Counter(trial.evaluated) + Counter(trial.profiled)
    counts = {
        "switches": sum(section.switch_count for report in reports for section in report.sections),
        "routes": max(map(routes_of, reports)),
    }
    if (routing := routing_share_of(reports[-1])) is not None:
        counts["routing_ppm"] = round(routing * 1e6)
    return replace(
        trial, evaluated=counts_of(counted) if counted else dict(all_reported), profiled={}, counts=counts
    )  # fmt: skip
