"""The loop that runs a filter chain under a policy, slice by slice. It is the same locally and in Spark's workers.

A batch is cut into slices, so that adaptation does not depend on the size of Arrow's batches. Slices are as long as the
policy requests (`auto` starts with 16 rows), or about 1,000 rows. After each slice, dropped rows are sampled with the
policy's probability. The sampled rows wait until there are a few dozen (one, if slices have one row). Then the
predicates that the policy requests are evaluated on them, and the outcomes are passed to the policy. A verdict is
applied at the next slice. Processing, profiling and re-optimizing are timed separately (a-greedy, table 2).

With slices of one row and the same random numbers this is the tuple-at-a-time algorithm of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import Chosen, Policy, Settings, make_policy
from thalweg.adapt.open_route import OpenRoute
from thalweg.adapt.policy import NEVER, ProfilingRequest, Trial
from thalweg.errors import TimeLimitError
from thalweg.events.parts import ChartCounts
from thalweg.kernels import CallEnded, Chain, ChainRows, Columns, FilterChain, Profile, SliceResult, Unknown
from thalweg.kernels.chain import BatchT
from thalweg.kernels.columns import concatenated
from thalweg.kernels.compiling import compiled_by
from thalweg.kernels.fabric import large_enough, run_routes
from thalweg.kernels.lottery import Lottery
from thalweg.kernels.user_error import cause_of, error_text
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CompiledTree
from thalweg.runtime.filters.failed_row import FailedRow, failed_row_error
from thalweg.runtime.filters.loop_ledger import LoopLedger, Work
from thalweg.runtime.filters.pool import Pool, SharedProfiles
from thalweg.runtime.filters.recalled_order import RecalledOrder
from thalweg.runtime.filters.row_sampler import RowSampler, SampledRows
from thalweg.stats import CallCost

SLICE_ROWS = 1024
"""The first length of slices: short enough to react within a batch, and long enough that the fixed cost of a call is a
small part."""
MOST_SLICE_ROWS = 16 * SLICE_ROWS
"""The greatest length of slices. Longer slices pay the fixed cost of calls (such as compiling a pattern) less often. A
policy that says when to call it gets slices of that length, and short ones while its request is urgent; a policy that
never has to be called gets the longest."""
CALM_SLICES = 4
"""For other policies, after the first profile, the length of slices doubles after this many slices without a switch,
and halves with every switch."""
TOGETHER = 8
"""Sampled rows wait until there are as many as the policy requests, but at most a slice divided by this number, so that
they share the fixed cost of their calls."""
COLD = 8
"""The first few sampled rows wait less: they are evaluated as soon as there are this many, because an unknown order may
be far from optimal."""
Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """The options of a loop, apart from the chain that it runs."""

    policy: Chosen
    profile: Settings | None = None
    """The profiling settings of the policy; None if it does not profile."""
    slice_rows: int | None = None
    """The length of every slice; None for the length the policy requests, or a length that starts at 1,024 rows."""
    dead_letter: bool = False
    """Whether a row that fails is set aside instead of raising an error."""
    redact: bool = False
    """Whether no value of a row may be shown."""


def make_filter_loop(
    chain: Chain[BatchT], options: LoopOptions, rng: np.random.Generator, recalled: RecalledOrder | None = None
) -> FilterLoop[BatchT]:
    """Return a new loop with a new policy. Filters, probes of joins, workers, simulations and experiments all create
    their loops here. `recalled`: the order and costs of an earlier run, to start with."""
    policy = make_policy(
        options.policy, chain.pipeline, options.profile, rng, classified=chain.classified, clock=chain.clock
    )
    loop = FilterLoop(
        chain, policy, rng, options.slice_rows, dead_letter=options.dead_letter, redact=options.redact
    )  # fmt: skip
    if recalled is not None:
        loop.recall(recalled)
    return loop


class FilterLoop(Generic[BatchT]):
    """A filter chain with the state that outlives batches and tasks: the policy, the costs and the current sample."""

    def __init__(
        self,
        chain: Chain[BatchT],
        policy: Policy,
        rng: np.random.Generator,
        slice_rows: int | None = None,
        pool: Pool | None = None,
        dead_letter: bool = False,
        redact: bool = False,
    ) -> None:
        """Create a loop. `slice_rows`: the length of every slice; None for the length that the policy requests, or a
        length that starts at 1,024 rows. `pool`: where workers share profile tuples, for policies that use it.
        `dead_letter`: whether a row that fails is set aside instead of raising an error. `redact`: whether values of
        rows are kept out of errors."""
        n = len(chain.pipeline)
        self.chain = chain
        self.policy = policy
        self.rng = rng
        self.pool = pool
        self.slice_rows = slice_rows or SLICE_ROWS
        self._grows = slice_rows is None
        self._calm_slices = 0
        self._most_waiting = self.slice_rows // TOGETHER
        self.order = policy.order
        self.mesh: Mesh | OpenRoute | None = None
        """The routes of rows; None if all rows follow `order`."""
        self._classifier: CompiledTree | None = None
        self._reported: tuple[str | None, Mesh | None] = (None, None)
        if getattr(policy, "classifies", False) and not chain.classifiers:
            policy.classifies = False  # type: ignore[attr-defined]  # there is nothing to classify rows by
        self.classifies = bool(getattr(policy, "classifies", False))
        """Whether the policy needs the values by which rows may be classified."""
        self.ledger = LoopLedger(n)
        self.dead_letter = dead_letter
        self.redact = redact
        self._failures: list[FailedRow] = []
        self.time_limit: AbstractContextManager[object] = nullcontext()
        self.sampler = RowSampler(rng, sorted({guard for guards in chain.pipeline.guards for guard in guards}))
        self.begin("the input")
        self._batch_rows = 0
        self._mark = 0
        self._profile_tuples = 0
        self._no_profile: Bits = np.zeros((0, n), dtype=bool)
        self._take_mesh()

    @property
    def work(self) -> Work:
        """The work done since it was last taken."""
        return self.ledger.work

    @property
    def costs(self) -> list[CallCost]:
        """The cost of calls, by predicate."""
        return self.ledger.costs

    @property
    def rows_seen(self) -> int:
        """The number of rows so far."""
        return self.ledger.rows_seen

    def begin(self, source: str) -> None:
        """Restart the row numbers in error messages at zero, and name `source` as the origin of the rows."""
        self._source, self._source_rows = source, 0

    def take_chain(self, chain: Chain[BatchT]) -> None:
        """Replace the functions of the same predicates. What was learned is kept. Waiting sampled rows are discarded:
        the old functions dropped them, and a guard that was true for a row may now be false."""
        self.chain = chain
        self.sampler.forget()

    def process(self, batch: BatchT) -> Bits:
        """Return one bit per row: whether it passes. Rows set aside do not pass; `take_failures` returns them."""
        clock = self.chain.clock
        begun, compiled = clock(), compiled_by(clock)
        self._failures = []
        try:
            with self.time_limit:
                return self._process(batch)
        finally:
            self._source_rows += batch.num_rows
            times = self.work.times
            times.total_ns += clock() - begun
            times.compiling_ns += compiled_by(clock) - compiled

    def _process(self, batch: BatchT) -> Bits:
        clock = self.chain.clock
        keep = np.zeros(batch.num_rows, dtype=bool)
        self._batch_rows = batch.num_rows if self._grows else min(batch.num_rows, self.slice_rows)
        columns = self.chain.columns(batch)
        ledger, sampler = self.ledger, self.sampler
        sampler.begin_batch()
        start, length = 0, 0
        while start + length < batch.num_rows:
            if self._grows:
                self._set_slice_length()
            start += length
            left = batch.num_rows - start
            trial = self._next_trial(columns)
            if trial is not None and start and 2 * left < trial.rows:
                trial = None  # too few rows are left in the batch; the trial can run in the next one
            if trial is None:
                length = next_slice(left, self.slice_rows)
            else:
                length = min(left, trial.rows, MOST_SLICE_ROWS if self._grows else self.slice_rows)
            begun = clock()
            part = columns.slice(start, length)
            try:
                done = self._run(part, length, trial)
            except CallEnded as ended:
                raise self._time_limit_error(ended, start, length) from None
            keep[start + done.kept] = True
            ledger.count(done, length, self.order, trial=trial is not None)
            if done.unknown is not None:
                self._fail(done, done.unknown, part, start)
            self._mark = clock()
            ledger.working_ns += self._mark - begun
            if len(self.order) == 1:
                continue  # nothing to order, so nothing to learn
            if trial is not None:
                took = max(self._mark - begun, 1)  # a coarse clock may show no difference
                lost = ledger.count_trial(trial, length, took, done.ns[trial.candidate])
                self._share(self.policy.wants(), np.zeros((0, 2 * len(self.order)), dtype=bool))
                self._look(columns, trial_ns=took, trial_loss_ns=lost)
                continue
            wants = self.policy.wants()
            if wants.p > 0.0:
                sampler.sample(done, start, length, wants)
            enough = sampler.count >= self._enough()
            if (
                ledger.rows_since >= wants.rows
                or ledger.working_ns >= wants.ns
                or (enough and wants.rows < NEVER)  # the sampled rows may predate a change of the data; check first
                or (wants.shared is not None and self.pool is not None and self.pool.news())
            ):
                self._look(columns)
                enough = sampler.count >= self._enough()
            if enough:
                self._hold(columns)
                if sampler.holds:
                    self._show()
            self._count_profiling()
            if self._profile_tuples:
                self._calm_slices += 1
        self._mark = clock()
        self._hold(columns)
        self._count_profiling()
        return keep

    def _run(self, part: ChainRows, rows: int, trial: Trial | None) -> SliceResult:
        """Run a slice in the order in force, in that of a trial, or along the routes of a mesh."""
        mesh, classifier = self.mesh, self._classifier
        if mesh is None or trial is not None:
            return self.chain.run(part, self.order if trial is None else trial.order)
        begun = self.chain.clock()
        if isinstance(mesh, OpenRoute):
            done = self._run_open(part, rows, mesh)
        else:
            assert classifier is not None, "compiled when the mesh was taken over"
            route = classifier.classify(part.values(mesh.columns), rows)
            route = large_enough(route, len(mesh.routes), mesh.least_rows, mesh.default)
            done = run_routes(self.chain, part, mesh.routes, route, self._lottery(mesh) if mesh.uncertain else None)
        # a probe counts what probes take on average, so that all probes together may take longer than this slice
        self.ledger.count_routing(max(0, self.chain.clock() - begun - sum(done.ns)))
        return done

    def _run_open(self, part: ChainRows, rows: int, mesh: OpenRoute) -> SliceResult:
        """Run a slice along a route that is open everywhere. It is counted as one route."""
        of_row, slices = mesh.slices_of(part.values(mesh.columns), rows)
        classes, everywhere = len(slices), ((0, len(mesh.order)),)
        lottery = Lottery(self.rng, slices.tolist(), [everywhere] * classes, self.chain.pipeline.guards)
        done = run_routes(self.chain, part, [mesh.order] * classes, of_row, lottery, mesh.ruster_rows)
        assert done.routed is not None
        done.routed = done.routed.on_one_route(mesh.order)
        return done

    def _lottery(self, mesh: Mesh) -> Lottery:
        slices = mesh.slices or ((0.0,) * len(self.order),) * len(mesh.routes)
        return Lottery(self.rng, slices, mesh.open_sets, self.chain.pipeline.guards)

    def _take_mesh(self) -> Mesh | None:
        """Take over the policy's mesh. Return it if it has changed; if there is none any more, as one route."""
        mesh: Mesh | OpenRoute | None = getattr(self.policy, "mesh", None)
        if mesh is self.mesh:
            return None
        before, self.mesh = self.mesh, mesh
        if isinstance(mesh, OpenRoute):
            self.ledger.begin_mesh(0, 1)
            return None
        self._classifier = None if mesh is None else mesh.tree.compiled()
        self.ledger.begin_mesh(None if mesh is None else mesh.version, 0 if mesh is None else len(mesh.routes))
        return mesh or Mesh.one_route(self.order, before.version + 1 if isinstance(before, Mesh) else 0)

    def _next_trial(self, columns: ChainRows) -> Trial | None:
        """Return the trial the policy requests, unless siblings have just reported what it would show."""
        if self.policy.wants().trial is not None and self.pool is not None and self.pool.news():
            self._mark = self.chain.clock()
            self._look(columns)
        return self.policy.wants().trial

    def _set_slice_length(self) -> None:
        """Set the length of the next slice."""
        wants = self.policy.wants()
        if len(self.order) == 1 or (wants.p == 0.0 and wants.rows == NEVER):  # the policy never has to be called
            self.slice_rows = MOST_SLICE_ROWS
        elif wants.slice_rows is not None:
            self.slice_rows = min(max(wants.slice_rows, 1), MOST_SLICE_ROWS)
        elif wants.rows < NEVER:
            self.slice_rows = SLICE_ROWS if wants.urgent else min(max(wants.rows, SLICE_ROWS), MOST_SLICE_ROWS)
        elif self._calm_slices >= CALM_SLICES:
            self._calm_slices = 0
            self.slice_rows = min(2 * self.slice_rows, MOST_SLICE_ROWS)

    def worked(self, ns: int) -> None:
        """Add time of other work on these rows, because a budget is a share of all work."""
        self.ledger.working_ns += ns

    def take_failures(self) -> list[FailedRow]:
        """Return the rows of the latest batch that were set aside, by their number in it."""
        failures, self._failures = self._failures, []
        return failures

    def _fail(self, done: SliceResult, unknown: Unknown, part: Columns, start: int) -> None:
        """Handle failed rows, and errors of predicates on rows that other predicates dropped."""
        assert isinstance(self.chain, FilterChain), "only a filter chain has failed rows"
        names = self.chain.pipeline.names
        for row in done.failed.tolist():
            raised = unknown.raised_on(row)
            if not self.dead_letter:
                unknown.clear()
                where = f"row {self._source_rows + start + row:,} (from 0) of {self._source}"
                error = failed_row_error(self.chain.plan, part, row, raised, where, self.redact)
                raise error from (None if self.redact else cause_of(raised[0][1]))
            texts = tuple((names[k], error_text(error, self.redact)) for k, error in raised)
            self._failures.append(FailedRow(start + row, texts))
        self.work.calls.failed += len(done.failed)
        unknown.clear()

    def _time_limit_error(self, ended: CallEnded, start: int, length: int) -> TimeLimitError:
        first = self._source_rows + start
        return TimeLimitError(
            f"{ended}, on a slice of rows {first:,} to {first + length - 1:,} (from 0) of {self._source}. Make it "
            "faster, or raise time_limit="
        )

    def take_work(self) -> Work:
        """Return the work done since the last call."""
        work = self.ledger.take_work()
        work.in_force.standing = self.policy.standing
        chart = getattr(self.policy, "looked_up", None)
        if isinstance(chart, ChartCounts):
            work.chart = chart.taken()
        if work.routes is not None:
            savings = getattr(self.policy, "savings_ns", (None, None))
            work.routes.predicted_saving_ns, work.routes.realized_saving_ns = savings
        return work

    def unreported_mesh(self, start: str | None = None) -> Mesh | None:
        """Return the mesh in force, unless an earlier call has returned it; None also without a mesh. `start`: the
        start of a streaming query, each of which has its own report."""
        mesh = self.mesh if isinstance(self.mesh, Mesh) else None
        before, self._reported = self._reported, (start, mesh)
        return None if before[0] == start and before[1] is mesh else mesh

    def cost_ns(self) -> list[float]:
        """Return the cost of one more row, by predicate; nan if it is unknown."""
        return self.ledger.cost_ns()

    def snapshot(self) -> dict[str, Any]:
        """Return the state that a new worker needs to continue from here."""
        return {**self.policy.snapshot(), **self.ledger.cost_snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from the state of a sibling."""
        self.policy.restore(snapshot)
        self.order = self.policy.order
        mesh: Mesh | None = getattr(self.policy, "mesh", None)
        if mesh is not None and not set(mesh.columns) <= set(self.chain.classifiers):
            self.policy.begin(self.order)  # the mesh was found when rows were classified by other columns
        self._take_mesh()
        self.ledger.take_over_costs(snapshot)
        self.sampler.forget()

    def follow(self, order: tuple[int, ...], reason: str) -> None:
        """Continue in an order that was found elsewhere. Called between batches."""
        self.ledger.begin()
        self.policy.begin(order)
        before, self.order = self.order, self.policy.order
        self.ledger.count_switch(before, self.order, reason, self._take_mesh())

    def recall(self, recalled: RecalledOrder) -> None:
        """Start with the order of an earlier run, and with its costs until the cost of calls here is known."""
        self.policy.begin(recalled.order)
        self.order = self.policy.order
        self._take_mesh()
        self.ledger.recall_costs(recalled)
        self.sampler.forget()

    def _look(self, columns: ChainRows, *, trial_ns: int = 0, trial_loss_ns: int = 0) -> None:
        """Call the policy without profile tuples. Waiting rows are discarded if the data has changed since, or if the
        order changes, unless the policy can still use them."""
        wants = self.policy.wants()
        if wants.lasting:
            self._hold(columns)  # together with the order in which they were dropped
        self._count_profiling()
        switched = self._ask(self._no_profile, trial_ns=trial_ns, trial_loss_ns=trial_loss_ns)
        now = self.policy.wants()
        if (switched and not wants.lasting) or now.moves > wants.moves or (now.urgent and not wants.urgent):
            self.sampler.forget()
        self._mark = self.chain.clock()

    def _enough(self) -> int:
        wants = self.policy.wants()
        most = min(wants.together, self._most_waiting)
        if wants.rows == NEVER:  # a policy that says when to call it decides this itself
            most = min(most, COLD + self._profile_tuples // 4)
        return max(1, most)

    def _count_profiling(self) -> None:
        """Count the time since the mark as profiling."""
        now = self.chain.clock()
        self.ledger.count_profiling(now - self._mark)
        self._mark = now

    def _hold(self, columns: ChainRows) -> None:
        """Copy the sampled rows out of their batch, which is released before they are evaluated."""
        copied = self.sampler.copied(columns)
        if copied is None:
            return
        rows, places, ways = copied
        if not self.sampler.fits(rows):
            order, mesh = self.order, self.mesh
            self._show()
            if self.order != order or self.mesh is not mesh:
                return  # these rows were dropped at positions of the previous order
            self.sampler.count = len(places)
        evaluate = self.policy.wants().evaluate
        self.sampler.hold(SampledRows(rows, places, self.order, evaluate, ways))

    def _show(self) -> None:
        """Evaluate the waiting rows and pass the outcomes to the policy."""
        wants = self.policy.wants()
        parts = [self._profiled(alike) for alike in self.sampler.take()]
        seen = parts[0] if len(parts) == 1 else joined_profiles(parts)
        self._profile_tuples += len(seen.dropped)
        self.ledger.count_shown(seen)
        self._share(wants, np.concatenate([seen.dropped, seen.known], axis=1), seen.values)
        self._count_profiling()
        if self._ask(seen.dropped, seen.known, values=seen.values) and self._grows:
            self.slice_rows = max(self.slice_rows // 2, SLICE_ROWS)
            self._calm_slices = 0
        self._mark = self.chain.clock()  # the time since the last mark counts as re-optimizing

    def _share(self, wants: ProfilingRequest, tuples: Bits, values: Mapping[str, pa.Array] | None = None) -> None:
        """Share profile tuples, their values by which rows may be classified, and the costs of calls with siblings.
        With `redact`, no values are shared: the pool may be a file."""
        if self.pool is not None and wants.shared is not None:
            shown = None if self.redact else values
            self.pool.give(wants.shared, tuples, wants.urgent, self.ledger.cost_snapshot(), shown)

    def _shared(self) -> SharedProfiles | None:
        """Take over the costs that siblings know better. Return their profile tuples; None if there are none."""
        mark = self.policy.wants().shared
        shared = self.pool.take(mark) if self.pool is not None and mark is not None else None
        if shared is None:
            return None
        for costs in shared.costs:
            self.ledger.take_over_costs(costs, better=True)
        return shared if len(shared.tuples) else None

    def _profiled(self, waiting: Sequence[SampledRows]) -> Profile:
        """Evaluate rows that were dropped in the same order."""
        columns = waiting[0].rows.joined([part.rows for part in waiting])
        dropped_at = np.concatenate([part.dropped_at for part in waiting])
        ways = [part.place for part in waiting if part.place is not None]
        place = np.concatenate(ways) if ways else None
        seen = self.chain.profile(columns, dropped_at, waiting[0].order, waiting[-1].evaluate, place)
        self.ledger.count_profile(seen)
        if self.classifies:
            seen.values = columns.values(self.chain.classifiers)
        return seen

    def _ask(
        self, profile: Bits, known: Bits | None = None, *, trial_ns: int = 0, trial_loss_ns: int = 0,
        values: dict[str, pa.Array] | None = None,
    ) -> bool:  # fmt: skip
        """Pass what was observed to the policy. Return whether it changed the order or the mesh."""
        clock = self.chain.clock
        begun = clock()
        shared = self._shared()  # before the costs are read
        seen = self.ledger.seen(
            profile, known, None if shared is None else (shared.tuples, shared.fresh), self._batch_rows,
            trial_ns=trial_ns, trial_loss_ns=trial_loss_ns, values=values,
            classified_siblings=shared.classified if shared is not None and self.classifies else (),
        )  # fmt: skip
        verdict = self.policy.update(seen)
        if verdict is not None:
            before, self.order = self.order, verdict.order
            self.ledger.count_switch(before, self.order, verdict.reason, self._take_mesh())
        self.ledger.count_reoptimizing(clock() - begun)
        return verdict is not None


def joined_profiles(parts: Sequence[Profile]) -> Profile:
    """Concatenate the rows of several profiles."""
    return Profile(
        np.concatenate([part.dropped for part in parts]),
        [sum(counts) for counts in zip(*(part.evaluated for part in parts), strict=True)],
        [sum(times) for times in zip(*(part.ns for part in parts), strict=True)],
        [sum(errors) for errors in zip(*(part.errors for part in parts), strict=True)],
        np.concatenate([part.known for part in parts]),
        values=_joined_values([part.values for part in parts]),
    )


def _joined_values(parts: Sequence[dict[str, pa.Array] | None]) -> dict[str, pa.Array] | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return {name: concatenated([part[name] for part in found]) for name in found[0]}


def next_slice(rows: int, slice_rows: int) -> int:
    """Return the length of the next slice if `rows` are cut into slices of nearly equal length, at most `slice_rows`.

    >>> next_slice(10_000, 4096), next_slice(6666, 4096), next_slice(3333, 4096)
    (3334, 3333, 3333)
    """
    return -(-rows // -(-rows // slice_rows))
