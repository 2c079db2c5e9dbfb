"""A section of a filter report: the sums over the event records of one query or run, and its latest switches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from thalweg.errors import ThalwegError
from thalweg.events import NativeObserved, Observed, Record, VerdictGiven
from thalweg.events.counts import Counts
from thalweg.events.parts import CallCounts, ChainCounts, ChartCounts, InForceCounts, TimeCounts, TrialCounts
from thalweg.formatting import plural
from thalweg.report.kept_order_reason import derived
from thalweg.report.mesh_counts import WorkerMeshes
from thalweg.report.mesh_view import MeshView
from thalweg.report.native_part import NativePart


@dataclass(slots=True)
class WorkerOrder:
    """The latest order of a worker, and what it has counted in that order."""

    batch: int | None = None
    """The micro-batch in which it reported the order."""
    order: tuple[str, ...] = ()
    in_force: InForceCounts = field(default_factory=InForceCounts)
    """The counts since it last changed its order."""
    just_switched: bool = False
    """Whether it changed its order since its previous report."""

    @classmethod
    def of(cls, record: Observed) -> WorkerOrder:
        """Make it from a record."""
        return cls(record.origin.batch, record.order, record.in_force, record.in_force.switched)

    def add(self, later: WorkerOrder) -> None:
        """Add what the same worker counted later."""
        add_in_order(self, later)
        self.batch, self.order, self.just_switched = later.batch, later.order, later.just_switched


class InOrder(Protocol):
    """The latest order of a worker or bucket, and the counts since it changed to that order."""

    order: tuple[str, ...]
    in_force: InForceCounts


def add_in_order(before: InOrder, later: InOrder) -> None:
    """Add what the same worker counted later to its counts in its latest order."""
    counts = before.in_force
    if before.order and later.order != before.order:
        counts.taken()
        counts.switched = True
    counts.add(later.in_force)


def total_in_order(workers: Iterable[InOrder], order: tuple[str, ...], names: int) -> InForceCounts:
    """Return the sums over the workers that use this order."""
    whole = InForceCounts.none(names)
    for worker in workers:
        if worker.order == order:
            Counts.add(whole, worker.in_force)
    return whole


MOST_WORKERS = 1000
"""The maximum number of workers that a section distinguishes; a stream gets new workers after each idle minute."""
MESH = "mesh"
"""The policy whose reasons for one route are kept by worker."""
SHORT = 8
"""The number of characters of an id that sentences show."""
LATEST_ROUNDS = 200
"""The number of micro-batches, or of reports of a local pass, that are kept one by one."""
LATEST_SWITCHES = 20
"""The number of switches that a section keeps and shows; the events file has all of them."""


@dataclass(frozen=True, slots=True)
class PredicateReport:
    """The counts of one predicate in one run."""

    name: str
    position: int
    """In the latest order, starting at 1."""
    evaluated: int
    """Rows it was evaluated on by regular processing since the start, in all orders and in trials."""
    passed: int
    """Rows of these that it did not drop: it was true, or it raised."""
    profiled: int
    """Rows it was evaluated on only for profiling."""
    profile_errors: int
    """Rows of these on which it raised; they never fail a query."""
    cost_ns: float | None
    """The latest estimate of the cost of one more row; None if unknown."""
    raised: int = 0
    """Rows on which it raised in regular processing; other predicates may have dropped them."""
    evaluated_in_force: int = 0
    """Rows of `evaluated` since the switch to the order in force."""
    passed_in_force: int = 0

    @property
    def selectivity(self) -> float | None:
        """The share that passed of the rows that reached it in the order in force; None if no row did."""
        return self.passed_in_force / self.evaluated_in_force if self.evaluated_in_force else None


@dataclass(frozen=True, slots=True)
class SwitchReport:
    """A change of order, and the reason for it."""

    batch: int | None
    worker: str
    at_row: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str

    @classmethod
    def of(cls, verdict: VerdictGiven) -> SwitchReport:
        """Make it from a verdict, which is applied immediately."""
        origin = verdict.origin
        return cls(origin.batch, origin.worker, verdict.at_row, verdict.before, verdict.after, verdict.reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the switch as plain values, ready for JSON."""
        return {**asdict(self), "before": list(self.before), "after": list(self.after)}


def span(*batches: int | None) -> tuple[int | None, int | None]:
    """Return the first and the last of these micro-batches; None values are ignored.

    >>> span(3, None, 1), span(None)
    ((1, 3), (None, None))
    """
    some = [batch for batch in batches if batch is not None]
    return min(some, default=None), max(some, default=None)


def query_words(run: str, query_name: str | None) -> str:
    """Return the name of a streaming query, or the beginning of its id, and the beginning of the id of its start.

    >>> query_words("0123456789 run abcdefghij chain 89abcdef", None), query_words("q run r chain c", "orders")
    ('01234567, start abcdefgh', 'orders, start r')
    """
    query, _, rest = run.partition(" run ")
    start = rest.partition(" chain ")[0]
    if not start:
        return query_name or run
    return f"{query_name or query[:SHORT]}, start {start[:SHORT]}"


@dataclass(slots=True)
class FilterRound:
    """What was counted in one micro-batch by all workers, or between two reports of a local pass."""

    batch: int | None
    chain: ChainCounts = field(default_factory=ChainCounts)
    total_ns: int = 0
    shares: Sequence[float] = ()
    """The shares of all rows that predicates pass, as estimated at the end; empty if there is no chart."""

    def add(self, later: FilterRound) -> None:
        """Add what another worker counted in the same micro-batch."""
        self.chain.add(later.chain)
        self.total_ns += later.total_ns
        self.shares = later.shares or self.shares


@dataclass(slots=True)
class Section:
    """The section of one query or run."""

    run: str
    kind: str
    policy: str
    names: tuple[str, ...]
    query_name: str | None = None
    """The name that the user gave to the streaming query."""
    first_batch: int | None = None
    last_batch: int | None = None
    chain: ChainCounts = field(default_factory=ChainCounts)
    """The counts since the start, in all orders and in trials."""
    calls: CallCounts = field(default_factory=CallCounts)
    """What the predicates raised, and the latest estimates of what they cost."""
    times: TimeCounts = field(default_factory=TimeCounts)
    trials: TrialCounts = field(default_factory=TrialCounts)
    chart: ChartCounts = field(default_factory=ChartCounts)
    """How the filters followed their chart, with the policy `chart`."""
    native: NativePart | None = None
    """The predicates evaluated in the JVM before the others; `rows` counts the rows that passed them."""
    switch_count: int = 0
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=LATEST_SWITCHES))
    workers: dict[str, WorkerOrder] = field(default_factory=dict)
    """The latest order of each worker. The worker that reported last is the last one."""
    rounds: deque[FilterRound] = field(default_factory=lambda: deque(maxlen=LATEST_ROUNDS))
    """The latest micro-batches, or reports of a local pass."""
    meshes: WorkerMeshes = field(default_factory=WorkerMeshes)
    """The latest mesh of each worker that has had one."""

    @property
    def rows(self) -> int:
        """The number of rows that were read."""
        return self.chain.rows

    @property
    def kept(self) -> int:
        """The number of rows that passed all predicates."""
        return self.chain.kept

    @property
    def _last(self) -> WorkerOrder | None:
        """The order of the worker that reported last."""
        return next(reversed(self.workers.values()), None)

    @property
    def order(self) -> tuple[str, ...]:
        """The order of the worker that reported last; empty if none has."""
        return self._last.order if self._last is not None else ()

    @property
    def mesh(self) -> MeshView | None:
        """The mesh of the worker that reported last; None if all rows take one route there."""
        known = self.meshes.of(self.names)
        return known[0][1].view(self.names) if known else None

    @property
    def in_force(self) -> InForceCounts:
        """The counters of the order shown since it is in force, over the workers that use it."""
        return total_in_order(self.workers.values(), self.order, len(self.names))

    @property
    def standing(self) -> str:
        """Why the order is kept: the policy's latest reason, which `auto` always gives, or else one derived from the
        counts. Empty if there is neither: the policy gives no reason, and the order changed so recently that most rows
        were processed in earlier orders."""
        last = self._last
        if last is None:
            return ""
        lately = self.switch_count and last.just_switched and 2 * self.in_force.rows < self.rows
        if last.in_force.standing or lately:
            return last.in_force.standing
        dropped = self.rows - self.kept - self.calls.failed
        return derived(self.policy, len(self.names), dropped, self.chain.profile_tuples)

    @property
    def predicates(self) -> list[PredicateReport]:
        """The predicates in the latest order."""
        in_force, chain, calls = self.in_force, self.chain, self.calls
        return [
            PredicateReport(
                name, position, chain.evaluated[k], chain.passed[k], chain.profiled[k], calls.profile_errors[k],
                calls.cost_ns[k], calls.raised[k], in_force.evaluated[k], in_force.passed[k],
            )
            for position, (k, name) in enumerate(self._in_order(), start=1)
        ]  # fmt: skip

    def _in_order(self) -> list[tuple[int, str]]:
        """Return the predicates in the latest order, with their places as written."""
        return [(self.names.index(name), name) for name in self.order]

    @property
    def latest_workers(self) -> int:
        """The number of workers that reported on the latest micro-batch; outside streaming, of all workers."""
        return len(self._latest_orders())

    @property
    def other_orders(self) -> int:
        """The number of these workers whose order differs from the one shown, which is that of the last to report."""
        return sum(1 for order in self._latest_orders() if order != self.order)

    def _latest_orders(self) -> list[tuple[str, ...]]:
        return [worker.order for worker in self.workers.values() if worker.batch == self.last_batch]

    @property
    def evaluations(self) -> int:
        """The number of evaluations of predicates on rows, including profiling."""
        return sum(self.chain.evaluated) + sum(self.chain.profiled)

    @property
    def evaluations_of_all(self) -> int:
        """The number of evaluations if every predicate were evaluated on every row, as Spark's own UDF filters do."""
        return self.rows * len(self.names)

    @property
    def counted(self) -> str:
        """A description of the rows and actions that these numbers cover."""
        if self.native is not None and not self.names:
            run = f"streaming query {self._query()}" if self.kind == "stream" else self.run
            return f"nothing: {run} has native predicates only, so no row is sent to Python"
        rows = plural(self.rows, "row")
        passed = " that passed the native predicates" if self.native is not None else ""
        if self.kind == "stream":
            span = f"micro-batches {self.first_batch} to {self.last_batch}"
            return f"{rows}{passed} of {span} of streaming query {self._query()}"
        if self.kind == "batch":
            return f"{rows}{passed} of the first action on this DataFrame (Spark observes only that one)"
        return f"{rows} of {self.run} in this process"

    def _query(self) -> str:
        return query_words(self.run, self.query_name)

    def add(self, record: Record) -> None:
        """Add a record of this run."""
        if isinstance(record, Observed):
            if record.predicates != self.names:
                raise ThalwegError(
                    f"run {self.run} has records with predicates {self.names} and {record.predicates}: not one run. "
                    "The file was changed, or files of several runs were put together; report each by itself"
                )
            self._observe(record)
        elif isinstance(record, NativeObserved):
            if self.native is None:
                self.native = NativePart(record.predicates)
            self.native.add(record)
        elif isinstance(record, VerdictGiven):
            self.switch_count += 1
            self.switches.append(SwitchReport.of(record))
            if record.mesh:
                self.meshes.adopt(record.origin.worker, record.mesh)

    def _observe(self, seen: Observed) -> None:
        self._sum(seen)
        origin = seen.origin
        self._add_round(FilterRound(origin.batch, seen.chain, seen.times.total_ns, seen.chart.shares))
        self.switch_count += seen.omitted_switches
        self._remember_orders({origin.worker: WorkerOrder.of(seen)})
        if seen.routes is not None or origin.policy == MESH or origin.worker in self.meshes.by_worker:
            self.meshes.observe(seen)
        self.query_name = origin.query_name or self.query_name
        self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, origin.batch)

    def take_in(self, later: Section) -> None:
        """Add what a later part of the same run holds."""
        self._sum(later)
        for each in later.rounds:
            self._add_round(each)
        self.switch_count += later.switch_count
        self.switches.extend(later.switches)
        if later.native is not None:
            if self.native is None:
                self.native = NativePart(later.native.names)
            self.native.take_in(later.native)
        self._remember_orders(later.workers)
        if later.meshes.by_worker:
            self.meshes.take_in(later.meshes)
        self.query_name = later.query_name or self.query_name
        self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, later.first_batch, later.last_batch)

    def _remember_orders(self, latest: Mapping[str, WorkerOrder]) -> None:
        for worker, now in latest.items():
            self.workers[worker] = self.workers.pop(worker, WorkerOrder())
            self.workers[worker].add(now)
        while len(self.workers) > MOST_WORKERS:
            del self.workers[next(iter(self.workers))]

    def _add_round(self, later: FilterRound) -> None:
        if not self.rounds or later.batch is None or self.rounds[-1].batch != later.batch:
            self.rounds.append(FilterRound(later.batch))
        self.rounds[-1].add(later)

    def _sum(self, later: Observed | Section) -> None:
        self.chain.add(later.chain)
        self.calls.add(later.calls)
        self.times.add(later.times)
        self.trials.add(later.trials)
        self.chart.add(later.chart)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"))
        >>> batches = list(keep.over(pa.table({"code": ["7", "x7"]})))
        >>> section = keep.report().sections[0].to_dict()
        >>> section["order"], section["rows"], section["kept"]
        (['isdigit'], 2, 1)
        """
        in_force = self.in_force
        return {
            "run": self.run, "kind": self.kind, "policy": self.policy, "counted": self.counted,
            "order": list(self.order), **self.chain.totals(), **self.calls.totals(),
            "predicates": [
                {
                    "name": p.name, "position": p.position, "selectivity": p.selectivity, **self.chain.of_name(k),
                    **self.calls.of_name(k), **in_force.of_name(k),
                }
                for p, (k, _) in zip(self.predicates, self._in_order(), strict=True)
            ],
            "rows_in_force": in_force.rows,
            "evaluations": self.evaluations, "evaluations_of_all": self.evaluations_of_all,
            "time_ns": {
                "processing": self.times.processing_ns, "profiling": self.times.profiling_ns,
                "reoptimizing": self.times.reoptimizing_ns, "compiling": self.times.compiling_ns,
            },
            **self.trials.to_dict(), "standing": self.standing,
            "switches": self.switch_count,
            "latest_switches": [switch.to_dict() for switch in self.switches],
            "workers": len(self.workers), "workers_with_another_order": self.other_orders,
            **({"query_name": self.query_name} if self.query_name is not None else {}),
            **({"native": self.native.to_dict()} if self.native is not None else {}),
            **({"mesh": mesh.to_dict()} if (mesh := self.mesh) is not None else {}),
            **({"chart": self.chart.to_dict()} if self.chart.rounds else {}),
        }  # fmt: skip
