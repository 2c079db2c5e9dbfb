"""The loop that runs a filter chain under a policy, slice by slice; the same one locally and in Spark's workers.

A batch is cut into slices, so that adapting is not tied to the size of Arrow's batches: as long as the policy asks for
(`auto` begins with 16 rows), or of about a thousand rows. After each slice dropped rows are sampled with the policy's
probability; the sampled rows wait until some dozens are together (one, when slices have one row), are evaluated by what
the policy wants, and shown to it. A verdict is applied at the next slice. Processing, profiling and re-optimizing are
timed apart (a-greedy, table 2).

With slices of one row and the same random numbers this is the tuple-at-a-time algorithm of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import Policy, Seen
from thalweg.adapt.policy import NEVER, Costs, Trial, Wants
from thalweg.errors import TimeLimitError
from thalweg.kernels import CallEnded, Chain, ChainRows, Columns, FilterChain, Pass, Profile, Unknown
from thalweg.kernels.compiling import compiled_by
from thalweg.runtime.failed_row import FailedRow, failed_row_error, told
from thalweg.runtime.pool import Pool
from thalweg.runtime.recalled import Recalled
from thalweg.runtime.row_picker import RowPicker
from thalweg.runtime.work import Switch, Work
from thalweg.stats import CallCost, UsualWait

SLICE_ROWS = 1024
"""To begin with: small enough to react within a batch, large enough that a call's fixed cost is a small part."""
MOST_SLICE_ROWS = 16 * SLICE_ROWS
"""Longer ones pay the fixed cost of calls (compiling a pattern, say) less often. A policy that says when it wants to
look gets slices of that length, short ones while it is in a hurry; one that never looks gets the longest."""
CALM_SLICES = 4
"""For other policies, after the first look at a profile, slices double after so many in which the order stood, and
halve with every switch."""
TOGETHER = 8
"""Sampled rows wait until as many are together as the policy likes, at most a slice's eighth: the fixed cost of their
calls is then shared."""
COLD = 8
"""But the first few are looked at at once: an unknown order may be far from good."""
KNOWN_BETTER = 0.5
"""A sibling's cost is taken over if its error is at most this share of one's own."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Sampled rows, and the positions of the order that dropped them."""

    rows: ChainRows
    dropped_at: NDArray[np.int16]
    order: tuple[int, ...]
    evaluate: Bits


class FilterLoop:
    """State that outlives batches and tasks: the policy, the costs, the sample under way."""

    def __init__(
        self,
        chain: Chain,
        policy: Policy,
        rng: np.random.Generator,
        slice_rows: int | None = None,
        pool: Pool | None = None,
        dead_letter: bool = False,
        redact: bool = False,
    ) -> None:
        """`slice_rows`: the length of every slice; None: as the policy asks, or from a thousand rows on. `pool`:
        where workers share profile tuples, for policies that want to. `dead_letter`: a row that fails is set aside,
        not raised. `redact`: no value of a row is told."""
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
        self.costs = [CallCost() for _ in range(n)]
        self._waits = [UsualWait() for _ in range(n)]
        self.work = Work.none(n)
        self.rows_seen = 0
        self.dead_letter = dead_letter
        self.redact = redact
        self._failures: list[FailedRow] = []
        self.time_limit: AbstractContextManager[object] = nullcontext()
        self._guarding = sorted({guard for guards in chain.pipeline.guards for guard in guards})
        self.begin("the input")
        self._since = [[0] * n, [0] * n, [0] * n, [0] * n]  # evaluated, passed, ns, calls since the policy was asked
        self._slices_since = 0
        self._rows_since = self._batch_rows = 0
        self._picker = RowPicker(rng)
        self._mark = 0
        self._working_ns = 0
        self._profiling_ns = 0  # and these, since the policy was last told
        self._reoptimizing_ns = 0
        self._waiting: list[_Waiting] = []
        self._waiting_rows = 0
        self._profile_tuples = 0
        self._no_profile: Bits = np.zeros((0, n), dtype=bool)

    def begin(self, source: str) -> None:
        """Rows are counted from here, and said to be of `source`, when one fails."""
        self._source, self._source_rows = source, 0

    def take_chain(self, chain: Chain) -> None:
        """Other functions of the same predicates, from here on. What was learned stays; sampled rows that still wait
        were dropped by the functions before, and what a guard let through then it may not let through now."""
        self.chain = chain
        self._forget()

    def process(self, batch: pa.RecordBatch) -> Bits:
        """One bit a row: whether it passes. Rows set aside do not; `take_failures` gives them."""
        clock = self.chain.clock
        begun, compiled = clock(), compiled_by(clock)
        self._failures = []
        try:
            with self.time_limit:
                return self._process(batch)
        finally:
            self._source_rows += batch.num_rows
            self.work.total_ns += clock() - begun
            self.work.compiling_ns += compiled_by(clock) - compiled

    def _process(self, batch: pa.RecordBatch) -> Bits:
        clock = self.chain.clock
        keep = np.zeros(batch.num_rows, dtype=bool)
        self._batch_rows = batch.num_rows if self._grows else min(batch.num_rows, self.slice_rows)
        columns = self.chain.columns(batch)
        sampled: list[NDArray[np.int64]] = []
        places: list[NDArray[np.int16]] = []
        start, length = 0, 0
        while start + length < batch.num_rows:
            if self._grows:
                self._stretch()
            start += length
            left = batch.num_rows - start
            trial = self._next_trial(columns, sampled, places)
            if trial is not None and start and 2 * left < trial.rows:
                trial = None  # the rest of the batch would show little; it can be run on the next one
            if trial is None:
                length = next_slice(left, self.slice_rows)
            else:
                length = min(left, trial.rows, MOST_SLICE_ROWS if self._grows else self.slice_rows)
            begun = clock()
            part = columns.slice(start, length)
            try:
                done = self.chain.run(part, self.order if trial is None else trial.order)
            except CallEnded as ended:
                raise self._too_late(ended, start, length) from None
            keep[start + done.kept] = True
            self._count(done, length, trial=trial is not None)
            if done.unknown is not None:
                self._fail(done, done.unknown, part, start)
            self._mark = clock()
            self._working_ns += self._mark - begun
            if len(self.order) == 1:
                continue  # nothing to order, so nothing to learn
            if trial is not None:
                took = max(self._mark - begun, 1)  # for a clock too coarse to see it, too
                lost = self._tried(trial, length, took, done.ns[trial.candidate])
                self._look(columns, sampled, places, trial_ns=took, trial_loss_ns=lost)
                continue
            wants = self.policy.wants()
            if wants.p > 0.0:
                chosen = self._sample(done, length, wants)
                if len(chosen):
                    sampled.append(start + chosen)
                    places.append(done.dropped_at[chosen])
                    self._waiting_rows += len(chosen)
            enough = self._waiting_rows >= self._enough()
            if (
                self._rows_since >= wants.rows
                or self._working_ns >= wants.ns
                or (enough and wants.rows < NEVER)  # before rows are shown that may be of data that has gone
                or (wants.shared is not None and self.pool is not None and self.pool.news())
            ):
                self._look(columns, sampled, places)
                enough = self._waiting_rows >= self._enough()
            if enough:
                self._wait(columns, sampled, places)
                if self._waiting:
                    self._show()
            self._count_profiling()
            if self._profile_tuples:
                self._calm_slices += 1
        self._mark = clock()
        self._wait(columns, sampled, places)
        self._count_profiling()
        return keep

    def _next_trial(
        self, columns: ChainRows, sampled: list[NDArray[np.int64]], places: list[NDArray[np.int16]]
    ) -> Trial | None:
        """The trial the policy wants, unless siblings have just reported what it would show."""
        if self.policy.wants().trial is not None and self.pool is not None and self.pool.news():
            self._mark = self.chain.clock()
            self._look(columns, sampled, places)
        return self.policy.wants().trial

    def _stretch(self) -> None:
        """Set the length of the next slice."""
        wants = self.policy.wants()
        if len(self.order) == 1 or (wants.p == 0.0 and wants.rows == NEVER):  # nothing is ever looked at
            self.slice_rows = MOST_SLICE_ROWS
        elif wants.slice_rows is not None:
            self.slice_rows = min(max(wants.slice_rows, 1), MOST_SLICE_ROWS)
        elif wants.rows < NEVER:
            self.slice_rows = SLICE_ROWS if wants.urgent else min(max(wants.rows, SLICE_ROWS), MOST_SLICE_ROWS)
        elif self._calm_slices >= CALM_SLICES:
            self._calm_slices = 0
            self.slice_rows = min(2 * self.slice_rows, MOST_SLICE_ROWS)

    def worked(self, ns: int) -> None:
        """What was done besides for these rows, since a budget is a share of all that is done."""
        self._working_ns += ns

    def take_failures(self) -> list[FailedRow]:
        """The rows of the latest batch that were set aside, by their number in it."""
        failures, self._failures = self._failures, []
        return failures

    def _fail(self, done: Pass, unknown: Unknown, part: Columns, start: int) -> None:
        """Rows failed, or predicates raised on rows that others dropped."""
        assert isinstance(self.chain, FilterChain), "nothing else fails rows"
        names = self.chain.pipeline.names
        for row in done.failed.tolist():
            raised = unknown.raised_on(row)
            if not self.dead_letter:
                unknown.clear()
                where = f"row {self._source_rows + start + row:,} (from 0) of {self._source}"
                error = failed_row_error(self.chain.plan, part, row, raised, where, self.redact)
                raise error from (None if self.redact else raised[0][1])
            texts = tuple((names[k], told(error, self.redact)) for k, error in raised)
            self._failures.append(FailedRow(start + row, texts))
        self.work.failed += len(done.failed)
        unknown.clear()

    def _too_late(self, ended: CallEnded, start: int, length: int) -> TimeLimitError:
        first = self._source_rows + start
        return TimeLimitError(
            f"{ended}, on a slice of rows {first:,} to {first + length - 1:,} (from 0) of {self._source}. Make it "
            "faster, or raise time_limit="
        )

    def take_work(self) -> Work:
        """What was done since the last call."""
        work, self.work = self.work, Work.none(len(self.order))
        work.standing = self.policy.standing
        return work

    def cost_ns(self) -> list[float]:
        """What one more row costs each predicate; nan where nobody knows."""
        return [cost.per_row_ns if cost.known else math.nan for cost in self.costs]

    def _known_costs(self) -> Costs:
        return Costs(
            np.array([cost.least_ns for cost in self.costs]),
            np.array([cost.most_ns for cost in self.costs]),
            np.array([cost.fixed_ns for cost in self.costs]),
            np.array([cost.most_rows for cost in self.costs]),
        )

    def snapshot(self) -> dict[str, Any]:
        """What a fresh worker needs to go on from here."""
        return {**self.policy.snapshot(), **self.cost_snapshot()}

    def cost_snapshot(self) -> dict[str, Any]:
        """What the predicates cost, for a worker that begins."""
        known = [cost if cost.known else None for cost in self.costs]
        return {
            "cost_ns": [cost and round(cost.per_row_ns, 1) for cost in known],
            "fixed_ns": [cost and round(cost.fixed_ns) for cost in known],
            "error_ns": [cost and round(cost.error_ns, 1) for cost in known],
            "most_rows": [cost and cost.most_rows for cost in known],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from what a sibling has learned."""
        self.policy.restore(snapshot)
        self.order = self.policy.order
        self._take_over_costs(snapshot)
        self._forget()

    def _take_over_costs(self, snapshot: Mapping[str, Any], *, better: bool = False) -> None:
        """Begin with the costs another worker has found. `better`: only with those it knows clearly better."""
        per_row = snapshot.get("cost_ns") or ()
        unknown = [None] * len(per_row)
        more = (snapshot.get(key) or unknown for key in ("fixed_ns", "error_ns", "most_rows"))
        for cost, ns, fixed, error, rows in zip(self.costs, per_row, *more, strict=False):
            if ns is None or (better and (error is None or (cost.known and error > KNOWN_BETTER * cost.error_ns))):
                continue
            cost.take_over(float(ns), float(fixed or 0.0), None if error is None else float(error), int(rows or 0))

    def follow(self, order: tuple[int, ...], reason: str) -> None:
        """Go on in an order that was found elsewhere, between batches."""
        for counter in self._since:
            counter[:] = [0] * len(counter)
        self._slices_since = self._rows_since = 0
        self.policy.begin(order)
        self.work.add_switch(Switch(self.rows_seen, self.order, self.policy.order, reason))
        self.order = self.policy.order

    def recall(self, recalled: Recalled) -> None:
        """Begin with what an earlier run found: its order, and its costs until calls here are known."""
        self.policy.begin(recalled.order)
        self.order = self.policy.order
        for cost, per_row, fixed in zip(self.costs, recalled.cost_ns, recalled.fixed_ns, strict=True):
            if per_row is not None:
                cost.take_over(per_row, fixed or 0.0)
        self._forget()

    def _look(
        self, columns: ChainRows, sampled: list[NDArray[np.int64]], places: list[NDArray[np.int16]],
        *, trial_ns: int = 0, trial_loss_ns: int = 0,
    ) -> None:  # fmt: skip
        """Ask the policy without profile tuples. Rows that wait are forgotten when the data has moved since, and when
        the order changes, unless the policy can use them nevertheless."""
        wants = self.policy.wants()
        if wants.lasting:
            self._wait(columns, sampled, places)  # with the order they were dropped in
        self._count_profiling()
        switched = self._ask(self._no_profile, trial_ns=trial_ns, trial_loss_ns=trial_loss_ns)
        now = self.policy.wants()
        if (switched and not wants.lasting) or now.moves > wants.moves or (now.urgent and not wants.urgent):
            self._forget(sampled, places)
        self._mark = self.chain.clock()

    def _sample(self, done: Pass, rows: int, wants: Wants) -> NDArray[np.int64]:
        """Dropped rows of a slice that are to be profiled."""
        dropped = self._dropped(done) if done.unknown is not None else None
        count = rows - len(done.kept) if dropped is None else len(dropped)
        picked = self._picker.pick(count, wants.p)
        most = max(wants.most - self._waiting_rows, 0)
        if len(picked) > most:
            picked = np.sort(self.rng.choice(picked, most, replace=False))
        if not len(picked):
            return picked
        return (self._dropped(done) if dropped is None else dropped)[picked]

    def _dropped(self, done: Pass) -> NDArray[np.int64]:
        """The rows that may be profiled."""
        dropped: NDArray[np.int64] = (done.dropped_at < len(self.order)).nonzero()[0]
        if done.unknown is not None and self._guarding:
            # a guard that is not known to be true there would be taken for true when the row is profiled
            dropped = dropped[~done.unknown.any_of(dropped, self._guarding)]
        return dropped

    def _enough(self) -> int:
        wants = self.policy.wants()
        most = min(wants.together, self._most_waiting)
        if wants.rows == NEVER:  # a policy that asks for looks of its own knows best when it is cold
            most = min(most, COLD + self._profile_tuples // 4)
        return max(1, most)

    def _count(self, done: Pass, rows: int, *, trial: bool = False) -> None:
        """Book a slice. A trial's rows say nothing about the order in force, so they are not among what was seen of
        it."""
        work = self.work
        work.rows += rows
        if not trial:
            work.rows_in_force += rows
        work.kept += len(done.kept)
        self.rows_seen += rows
        if not trial:
            self._rows_since += rows
            self._slices_since += 1
        evaluated, passed, ns, calls = self._since
        for k in self.order:
            count = done.evaluated[k]
            if not count:
                continue
            if not trial:
                evaluated[k] += count
                passed[k] += done.passed[k]
                ns[k] += done.ns[k]
                calls[k] += 1
            work.evaluated[k] += count
            work.passed[k] += done.passed[k]
            work.busy_ns[k] += done.ns[k]
            work.raised[k] += done.raised[k]
            if not trial:
                work.evaluated_in_force[k] += count
                work.passed_in_force[k] += done.passed[k]
            self._record(k, count, done.ns[k], done.cpu_ns)

    def _record(self, k: int, rows: int, ns: int, cpu_ns: list[int] | None) -> None:
        """What a call on so many rows took."""
        self.costs[k].record(rows, ns if cpu_ns is None else self._waits[k].counted(rows, ns, cpu_ns[k]))

    def _count_profiling(self) -> None:
        """What has passed since the mark was time of profiling."""
        now = self.chain.clock()
        self.work.profiling_ns += now - self._mark
        self._profiling_ns += now - self._mark
        self._mark = now

    def _tried(self, trial: Trial, rows: int, ns: int, candidate_ns: int) -> int:
        """Book a trial; what it lost. The others see no more rows than they would have seen, so at most the candidate's
        time is lost; what the slice took besides is the data's doing."""
        lost = min(max(0, round(ns - trial.expected_ns * rows / trial.rows)), candidate_ns)
        work = self.work
        work.trials += 1
        work.trial_rows += rows
        work.trial_ns += ns
        work.trial_loss_ns += lost
        self._share(self.policy.wants(), np.zeros((0, 2 * len(self.order)), dtype=bool))
        return lost

    def _forget(self, *unwanted: list[Any]) -> None:
        """Sampled rows that are of no use any more."""
        self._waiting.clear()
        self._waiting_rows = 0
        for rows in unwanted:
            rows.clear()

    def _wait(self, columns: ChainRows, sampled: list[NDArray[np.int64]], places: list[NDArray[np.int16]]) -> None:
        """Copy the sampled rows out of their batch, which will be gone when they are looked at."""
        if sampled:
            rows = columns.take(np.concatenate(sampled))
            if self._waiting and self._waiting[0].rows.types != rows.types:  # batches may hold a column differently
                order, waiting = self.order, sum(map(len, places))
                self._show()
                if self.order != order:  # these were dropped at positions of the order before
                    self._forget(sampled, places)
                    return
                self._waiting_rows = waiting
            evaluate = self.policy.wants().evaluate
            self._waiting.append(_Waiting(rows, np.concatenate(places), self.order, evaluate))
            sampled.clear()
            places.clear()

    def _show(self) -> None:
        """Evaluate the waiting rows and show them to the policy."""
        wants = self.policy.wants()
        waiting = self._waiting.copy()
        self._forget()
        parts = [self._profiled(list(alike)) for _, alike in groupby(waiting, key=lambda part: part.order)]
        seen = parts[0] if len(parts) == 1 else joined_profiles(parts)
        count = len(seen.dropped)
        self._profile_tuples += count
        work = self.work
        work.profile_tuples += count
        for k in self.order:
            if seen.evaluated[k]:
                work.profiled[k] += seen.evaluated[k]
                work.profile_busy_ns[k] += seen.ns[k]
                work.profile_errors[k] += seen.errors[k]
        self._share(wants, np.concatenate([seen.dropped, seen.known], axis=1))
        self._count_profiling()
        if self._ask(seen.dropped, seen.known) and self._grows:
            self.slice_rows = max(self.slice_rows // 2, SLICE_ROWS)
            self._calm_slices = 0
        self._mark = self.chain.clock()  # what was between counts as re-optimizing

    def _share(self, wants: Wants, tuples: Bits) -> None:
        """Let siblings have profile tuples, and what calls cost."""
        if self.pool is not None and wants.shared is not None:
            self.pool.give(wants.shared, tuples, wants.urgent, self.cost_snapshot())

    def _shared(self) -> tuple[Bits, Bits] | None:
        """Take siblings' costs over where they are known better; their profile tuples, if there are any."""
        mark = self.policy.wants().shared
        shared = self.pool.take(mark) if self.pool is not None and mark is not None else None
        if shared is None:
            return None
        for costs in shared.costs:
            self._take_over_costs(costs, better=True)
        return (shared.tuples, shared.fresh) if len(shared.tuples) else None

    def _profiled(self, waiting: Sequence[_Waiting]) -> Profile:
        """Evaluate rows that were dropped in one order."""
        columns = waiting[0].rows.joined([part.rows for part in waiting])
        dropped_at = np.concatenate([part.dropped_at for part in waiting])
        seen = self.chain.profile(columns, dropped_at, waiting[0].order, waiting[-1].evaluate)
        for k, count in enumerate(seen.evaluated):
            if count and not seen.errors[k]:  # a call that raised was cut short, and says nothing of the cost
                self._record(k, count, seen.ns[k], seen.cpu_ns)
        return seen

    def _ask(self, profile: Bits, known: Bits | None = None, *, trial_ns: int = 0, trial_loss_ns: int = 0) -> bool:
        """Show the policy what was seen; whether it changed the order."""
        clock = self.chain.clock
        begun = clock()
        evaluated, passed, ns, calls = (np.array(counter, dtype=np.int64) for counter in self._since)
        siblings = self._shared()  # before the costs are read
        seen = Seen(
            evaluated, passed, ns, np.array(self.cost_ns()), profile,
            known=known, costs=self._known_costs(), batch_rows=self._batch_rows,
            slices=self._slices_since, calls=calls,
            working_ns=self._working_ns, profiling_ns=self._profiling_ns,
            reoptimizing_ns=self._reoptimizing_ns, trial_ns=trial_ns, trial_loss_ns=trial_loss_ns,
            siblings=siblings,
        )  # fmt: skip
        self._working_ns = self._profiling_ns = self._reoptimizing_ns = self._rows_since = self._slices_since = 0
        verdict = self.policy.update(seen)
        for counter in self._since:
            counter[:] = [0] * len(counter)
        if verdict is not None:
            self.work.add_switch(Switch(self.rows_seen, self.order, verdict.order, verdict.reason))
            self.order = verdict.order
        spent = clock() - begun
        self.work.reoptimizing_ns += spent
        self._reoptimizing_ns += spent
        return verdict is not None


def joined_profiles(parts: Sequence[Profile]) -> Profile:
    """The rows of several, one after the other."""
    return Profile(
        np.concatenate([part.dropped for part in parts]),
        [sum(counts) for counts in zip(*(part.evaluated for part in parts), strict=True)],
        [sum(times) for times in zip(*(part.ns for part in parts), strict=True)],
        [sum(errors) for errors in zip(*(part.errors for part in parts), strict=True)],
        np.concatenate([part.known for part in parts]),
    )


def next_slice(rows: int, slice_rows: int) -> int:
    """The length of the next of slices of nearly equal length, each at most `slice_rows`, that make up `rows`.

    >>> next_slice(10_000, 4096), next_slice(6666, 4096), next_slice(3333, 4096)
    (3334, 3333, 3333)
    """
    return -(-rows // -(-rows // slice_rows))
