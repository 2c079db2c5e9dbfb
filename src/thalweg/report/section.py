"""A section of a filter report: the sums over the event records of one query or run, and its latest switches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, NativeObserved, Observed, Record, VerdictGiven
from thalweg.formatting import plural
from thalweg.report.chart_counts import ChartCounts
from thalweg.report.kept_order_reason import derived
from thalweg.report.mesh_counts import WorkerMeshes
from thalweg.report.mesh_view import MeshView
from thalweg.report.native_part import NativePart


@dataclass(frozen=True, slots=True)
class InForceCounters:
    """Counters of the order in force: those of one worker since it last changed its order. Tuples are by predicate (in
    joins, by stream), as in the record.

    The share of rows that a predicate passes depends on its place in the order, so sums over several orders give the
    share of none of them.

    >>> calm = InForceCounters(("a", "b"), rows=100, evaluated=(100, 40), passed=(40, 10), switched=False)
    >>> calm.then(calm).rows
    200
    >>> switched = InForceCounters(("b", "a"), rows=5, evaluated=(2, 5), passed=(1, 2), switched=True)
    >>> calm.then(switched).then(replace(switched, switched=False)).rows
    10
    """

    order: tuple[str, ...]
    rows: int
    """Without the rows of trials."""
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    switched: bool
    """The order was switched while this was counted; the counters start at the last switch."""

    @classmethod
    def of(cls, record: Observed | JoinObserved) -> InForceCounters:
        """Make it from a record. In records of older versions, all counts are attributed to the order at their end."""
        rows = record.rows if record.rows_in_force is None else record.rows_in_force
        evaluated, passed = record.evaluated_in_force, record.passed_in_force
        if not evaluated or not passed:
            evaluated, passed = record.evaluated, record.passed
        return cls(record.order, rows, evaluated, passed, record.switched)

    def then(self, later: InForceCounters) -> InForceCounters:
        """Return the sum with what the same worker counted later."""
        if later.order != self.order or later.switched:
            return replace(later, switched=True)
        both = total([self, later], self.order, len(self.evaluated))
        return replace(both, switched=self.switched)


def total(workers: Iterable[InForceCounters], order: tuple[str, ...], n: int) -> InForceCounters:
    """Return the sums over the workers that use this order; `n` is the number of predicates."""
    rows, evaluated, passed = 0, [0] * n, [0] * n
    for worker in workers:
        if worker.order == order:
            rows += worker.rows
            evaluated = [a + b for a, b in zip(evaluated, worker.evaluated, strict=True)]
            passed = [a + b for a, b in zip(passed, worker.passed, strict=True)]
    return InForceCounters(order, rows, tuple(evaluated), tuple(passed), False)


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


SUMS_BY_PREDICATE = ("evaluated", "passed", "profiled", "profile_errors", "raised")
SUMS = ("rows", "kept", "failed", "profile_tuples", "total_ns", "profiling_ns", "reoptimizing_ns", "trials",
        "trial_rows", "trial_ns", "trial_loss_ns", "compiling_ns", "routing_ns")  # fmt: skip
"""Fields that `Observed` and `Section` have in common."""


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
        return cls(verdict.batch, verdict.worker, verdict.at_row, verdict.before, verdict.after, verdict.reason)


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


@dataclass(frozen=True, slots=True)
class FilterRound:
    """What was counted in one micro-batch by all workers, or between two reports of a local pass. Tuples are by
    predicate, as in the record."""

    batch: int | None
    rows: int
    total_ns: int
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    shares: tuple[float, ...] = ()
    """The shares of all rows that predicates pass, as estimated at the end; empty if there is no chart."""

    def then(self, later: FilterRound) -> FilterRound:
        """Return the sum with what another worker counted in the same micro-batch."""
        evaluated, passed = (
            tuple(a + b for a, b in zip(getattr(self, name), getattr(later, name), strict=True))
            for name in ("evaluated", "passed")
        )
        return FilterRound(
            self.batch, self.rows + later.rows, self.total_ns + later.total_ns, evaluated, passed,
            later.shares or self.shares,
        )  # fmt: skip


@dataclass(slots=True)
class Section:
    """The section of one query or run."""

    run: str
    kind: str
    policy: str
    names: tuple[str, ...]
    order: tuple[str, ...] = ()
    rows: int = 0
    kept: int = 0
    evaluated: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    profiled: list[int] = field(default_factory=list)
    profile_errors: list[int] = field(default_factory=list)
    cost_ns: list[float | None] = field(default_factory=list)
    profile_tuples: int = 0
    total_ns: int = 0
    profiling_ns: int = 0
    reoptimizing_ns: int = 0
    switch_count: int = 0
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=LATEST_SWITCHES))
    workers: set[str] = field(default_factory=set)
    first_batch: int | None = None
    last_batch: int | None = None
    failed: int = 0
    """The number of rows that failed and were set aside."""
    raised: list[int] = field(default_factory=list)
    native: NativePart | None = None
    """The predicates evaluated in the JVM before the others; `rows` counts the rows that passed them."""
    query_name: str | None = None
    """The name that the user gave to the streaming query."""
    orders: dict[str, tuple[int | None, tuple[str, ...]]] = field(default_factory=dict)
    """The latest order of each worker, and the micro-batch in which it reported that order."""
    in_force_by_worker: dict[str, InForceCounters] = field(default_factory=dict)
    """The counters of each worker since it last changed its order."""
    reported_standing: str = ""
    """Why the order is kept, according to the policy of the worker that reported last; empty if it gave no reason."""
    just_switched: bool = False
    """Whether that worker changed its order since its previous report."""
    trials: int = 0
    """Slices run in another order to measure it; they are not switches."""
    trial_rows: int = 0
    trial_ns: int = 0
    trial_loss_ns: int = 0
    compiling_ns: int = 0
    """Time in which numba compiled; not part of `total_ns`."""
    fixed_ns: list[float | None] = field(default_factory=list)
    """The latest estimate of the fixed cost of a call of each predicate; None if unknown."""
    rounds: deque[FilterRound] = field(default_factory=lambda: deque(maxlen=LATEST_ROUNDS))
    """The latest micro-batches, or reports of a local pass."""
    routing_ns: int = 0
    """Time of classifying rows and of moving them between predicates; part of the processing time."""
    meshes: WorkerMeshes = field(default_factory=WorkerMeshes)
    """The latest mesh of each worker that has had one."""
    chart: ChartCounts = field(default_factory=ChartCounts)
    """How the filters followed their chart, with the policy `chart`."""

    @property
    def mesh(self) -> MeshView | None:
        """The mesh of the worker that reported last; None if all rows take one route there."""
        known = self.meshes.of(self.names)
        return known[0][1].view(self.names) if known else None

    @property
    def in_force(self) -> InForceCounters:
        """The counters of the order shown since it is in force, over the workers that use it."""
        return total(self.in_force_by_worker.values(), self.order, len(self.names))

    @property
    def standing(self) -> str:
        """Why the order is kept: the policy's latest reason, which `auto` always gives, or else one derived from the
        counts. Empty if there is neither: the policy gives no reason, and the order changed so recently that most rows
        were processed in earlier orders."""
        lately = self.switch_count and self.just_switched and 2 * self.in_force.rows < self.rows
        if self.reported_standing or not self.order or lately:
            return self.reported_standing
        dropped = self.rows - self.kept - self.failed
        return derived(self.policy, len(self.names), dropped, self.profile_tuples)

    @property
    def processing_ns(self) -> int:
        """Time in the chain that is neither profiling nor re-optimizing."""
        return self.total_ns - self.profiling_ns - self.reoptimizing_ns

    @property
    def predicates(self) -> list[PredicateReport]:
        """The predicates in the latest order."""
        if not self.order:  # only the native predicates have reported so far
            return []
        place = {name: i for i, name in enumerate(self.order)}
        in_force = self.in_force
        rows = [
            PredicateReport(
                name, place[name] + 1, self.evaluated[k], self.passed[k], self.profiled[k], self.profile_errors[k],
                self.cost_ns[k], self.raised[k], in_force.evaluated[k], in_force.passed[k],
            )
            for k, name in enumerate(self.names)
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row.position)

    @property
    def latest_workers(self) -> int:
        """The number of workers that reported on the latest micro-batch; outside streaming, of all workers."""
        return len(self._latest_orders())

    @property
    def other_orders(self) -> int:
        """The number of these workers whose order differs from the one shown, which is that of the last to report."""
        return sum(1 for order in self._latest_orders() if order != self.order)

    def _latest_orders(self) -> list[tuple[str, ...]]:
        return [order for batch, order in self.orders.values() if batch == self.last_batch]

    @property
    def evaluations(self) -> int:
        """The number of evaluations of predicates on rows, including profiling."""
        return sum(self.evaluated) + sum(self.profiled)

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
                self.meshes.adopt(record.worker, record.mesh)

    def _observe(self, seen: Observed) -> None:
        self._sum(seen)
        self._add_round(FilterRound(seen.batch, seen.rows, seen.total_ns, seen.evaluated, seen.passed, seen.shares))
        if seen.rounds or seen.moves or seen.outside or seen.judged:  # the policy is `chart`
            self.chart.add(seen)
        self.switch_count += seen.omitted_switches
        if len(self.workers) < MOST_WORKERS:
            self.workers.add(seen.worker)
        self._remember_orders({seen.worker: (seen.batch, seen.order)}, {seen.worker: InForceCounters.of(seen)})
        if seen.mesh_version is not None or seen.policy == MESH or seen.worker in self.meshes.by_worker:
            self.meshes.observe(seen.worker, seen)
        self.reported_standing, self.just_switched = seen.standing, seen.switched
        self.query_name = seen.query_name or self.query_name
        self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, seen.batch)

    def take_in(self, later: Section) -> None:
        """Add what a later part of the same run holds."""
        self._sum(later)
        for each in later.rounds:
            self._add_round(each)
        if later.chart != ChartCounts():
            self.chart.take_in(later.chart)
        self.switch_count += later.switch_count
        self.switches.extend(later.switches)
        if later.native is not None:
            if self.native is None:
                self.native = NativePart(later.native.names)
            self.native.take_in(later.native)
        if len(self.workers) < MOST_WORKERS:
            self.workers.update(later.workers)
        self._remember_orders(later.orders, later.in_force_by_worker)
        if later.meshes.by_worker:
            self.meshes.take_in(later.meshes)
        if later.order:
            self.reported_standing, self.just_switched = later.reported_standing, later.just_switched
        self.query_name = later.query_name or self.query_name
        self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, later.first_batch, later.last_batch)

    def _remember_orders(
        self, latest: dict[str, tuple[int | None, tuple[str, ...]]], in_force: dict[str, InForceCounters]
    ) -> None:
        for worker, order in latest.items():
            self.orders.pop(worker, None)
            self.orders[worker] = order
        while len(self.orders) > MOST_WORKERS:
            del self.orders[next(iter(self.orders))]
        for worker, now in in_force.items():
            before = self.in_force_by_worker.pop(worker, None)
            self.in_force_by_worker[worker] = now if before is None else before.then(now)
        while len(self.in_force_by_worker) > MOST_WORKERS:
            del self.in_force_by_worker[next(iter(self.in_force_by_worker))]

    def _add_round(self, later: FilterRound) -> None:
        if self.rounds and later.batch is not None and self.rounds[-1].batch == later.batch:
            later = self.rounds.pop().then(later)
        self.rounds.append(later)

    def _sum(self, later: Observed | Section) -> None:
        """Add the sums, and replace costs and order by the later ones."""
        n = len(self.names)
        for name in SUMS_BY_PREDICATE:
            old, new = getattr(self, name) or [0] * n, getattr(later, name) or [0] * n
            setattr(self, name, [x + y for x, y in zip(old, new, strict=True)])
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for name in ("cost_ns", "fixed_ns"):
            costs = zip(getattr(self, name) or [None] * n, getattr(later, name) or [None] * n, strict=True)
            setattr(self, name, [new if new is not None else old for old, new in costs])
        self.order = later.order or self.order

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
        return {
            "run": self.run, "kind": self.kind, "policy": self.policy, "counted": self.counted,
            "order": list(self.order), "rows": self.rows, "kept": self.kept, "failed": self.failed,
            "predicates": [
                {
                    "name": p.name, "position": p.position, "evaluated": p.evaluated, "passed": p.passed,
                    "selectivity": p.selectivity, "cost_ns": p.cost_ns, "profiled": p.profiled,
                    "profile_errors": p.profile_errors, "raised": p.raised,
                    "evaluated_in_force": p.evaluated_in_force, "passed_in_force": p.passed_in_force,
                }
                for p in self.predicates
            ],
            "rows_in_force": self.in_force.rows,
            "evaluations": self.evaluations, "evaluations_of_all": self.evaluations_of_all,
            "profile_tuples": self.profile_tuples,
            "time_ns": {
                "processing": self.processing_ns, "profiling": self.profiling_ns, "reoptimizing": self.reoptimizing_ns,
                "compiling": self.compiling_ns,
            },
            "trials": self.trials, "trial_rows": self.trial_rows, "trial_ns": self.trial_ns,
            "trial_loss_ns": self.trial_loss_ns, "standing": self.standing,
            "switches": self.switch_count,
            "latest_switches": [
                {
                    "batch": s.batch, "worker": s.worker, "at_row": s.at_row, "before": list(s.before),
                    "after": list(s.after), "reason": s.reason,
                }
                for s in self.switches
            ],
            "workers": len(self.workers), "workers_with_another_order": self.other_orders,
            **({"query_name": self.query_name} if self.query_name is not None else {}),
            **({"native": self.native.to_dict()} if self.native is not None else {}),
            **({"mesh": mesh.to_dict()} if (mesh := self.mesh) is not None else {}),
            **({"chart": self.chart.to_dict()} if self.chart.rounds else {}),
        }  # fmt: skip
