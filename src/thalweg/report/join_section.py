"""A section of a join report: for each stream, the sums over event records and what is held now."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, PlanObserved, Record, VerdictGiven
from thalweg.report.kept_order_reason import derived
from thalweg.report.mesh_counts import WorkerMeshes
from thalweg.report.mesh_tree import MeshWords
from thalweg.report.mesh_view import MeshView
from thalweg.report.plan_history import PlanHistory
from thalweg.report.section import LATEST_SWITCHES, MESH, InForceCounters, SwitchReport, span, total

SUMS = ("rows", "late", "no_time", "no_key", "kept", "results", "profile_tuples", "looked", "total_ns", "profiling_ns",
        "reoptimizing_ns", "expired", "filtered", "ahead", "reloaded", "trials", "trial_rows", "trial_ns",
        "trial_loss_ns", "compiling_ns", "routing_ns")  # fmt: skip
SUMS_BY_OTHER = ("evaluated", "passed", "profiled")
"""Fields that `JoinObserved` and `StreamReport` have in common."""
_NOW = ("order", "window_rows", "window_bytes", "state_bytes", "state_chunks", "most_rows", "most_bytes", "watermark")


@dataclass(frozen=True, slots=True)
class BucketState:
    """The latest state of one stream in one bucket, or in a local pass."""

    order: tuple[str, ...]
    window_rows: int
    window_bytes: int
    state_bytes: int
    state_chunks: int
    most_rows: int
    most_bytes: int
    watermark: int | None
    in_force: InForceCounters
    """The counters since the order of probes last changed."""

    @classmethod
    def of(cls, record: JoinObserved) -> BucketState:
        """Return the state at the end of a record."""
        return cls(**{name: getattr(record, name) for name in _NOW}, in_force=InForceCounters.of(record))

    def before(self, later: BucketState) -> BucketState:
        """Return the later state with the larger maxima of both, because a new process does not know earlier maxima."""
        values = {name: getattr(later, name) for name in _NOW}
        values |= {name: max(getattr(self, name), values[name]) for name in ("most_rows", "most_bytes")}
        return BucketState(**values, in_force=self.in_force.then(later.in_force))


@dataclass(slots=True)
class StreamReport:
    """The counts of one stream. Lists are by `others`, the streams whose windows its rows probe."""

    stream: str
    others: tuple[str, ...]
    rows: int = 0
    late: int = 0
    no_time: int = 0
    no_key: int = 0
    kept: int = 0
    results: int = 0
    evaluated: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    profiled: list[int] = field(default_factory=list)
    profile_tuples: int = 0
    looked: int = 0
    total_ns: int = 0
    profiling_ns: int = 0
    reoptimizing_ns: int = 0
    expired: int = 0
    filtered: int = 0
    ahead: int = 0
    reloaded: int = 0
    most_late: int = 0
    most_matches: int = 0
    hottest: str = ""
    limit: int = 0
    tick_ns: int | None = None
    """The length of a tick of its time; None if unknown."""
    replicated: bool = False
    """Whether every bucket holds its rows; one of them counts them."""
    buckets: dict[str, BucketState] = field(default_factory=dict)
    """The latest state by worker; at most as many as the join has buckets."""
    trials: int = 0
    trial_rows: int = 0
    trial_ns: int = 0
    trial_loss_ns: int = 0
    compiling_ns: int = 0
    """Time in which numba compiled; not part of `total_ns`."""
    routing_ns: int = 0
    """Time of classifying rows and of moving them between probes; part of `total_ns`."""
    standing: str = ""
    """Why the order is kept, according to the policy of the bucket that reported last; empty if it gave no reason."""

    def add(self, record: JoinObserved) -> None:
        """Add to the sums, and replace the current state."""
        if record.others != self.others:
            raise ThalwegError(
                f"run {record.run}: {self.stream} is joined with {self.others} and with {record.others}: not one run. "
                "The file was changed, or files of several runs were put together; report each by itself"
            )
        self._fold(record, {record.worker: BucketState.of(record)})

    def take_in(self, later: StreamReport) -> None:
        """Add what a later part of the same run holds."""
        self._fold(later, later.buckets)

    def _fold(self, later: JoinObserved | StreamReport, held: Mapping[str, BucketState]) -> None:
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(later, name))
        none = [0] * len(self.others)
        for name in SUMS_BY_OTHER:
            sums = zip(getattr(self, name) or none, getattr(later, name) or none, strict=True)
            setattr(self, name, [a + b for a, b in sums])
        self.most_late = max(self.most_late, later.most_late)
        if later.most_matches >= self.most_matches:
            self.most_matches, self.hottest = later.most_matches, later.hottest or self.hottest
        self.limit, self.tick_ns = later.limit or self.limit, later.tick_ns or self.tick_ns
        self.replicated = self.replicated or later.replicated
        self.standing = later.standing
        for worker, now in held.items():
            self.buckets[worker] = self.buckets[worker].before(now) if worker in self.buckets else now

    def _sum(self, name: str) -> int:
        return sum(getattr(held, name) for held in self.buckets.values())

    @property
    def window_rows(self) -> int:
        """The number of rows that all buckets hold now."""
        return self._sum("window_rows")

    @property
    def window_bytes(self) -> int:
        """The number of bytes of memory that the windows use now."""
        return self._sum("window_bytes")

    @property
    def state_bytes(self) -> int:
        """The number of bytes of its chunks in the state store now."""
        return self._sum("state_bytes")

    @property
    def state_chunks(self) -> int:
        """The number of its chunks in the state store now."""
        return self._sum("state_chunks")

    @property
    def most_rows(self) -> int:
        """An upper bound on the rows held at one time: the sum of the maxima of all buckets."""
        return self._sum("most_rows")

    @property
    def most_bytes(self) -> int:
        """An upper bound on the bytes of memory used at one time: the sum of the maxima of all buckets."""
        return self._sum("most_bytes")

    @property
    def watermark(self) -> int | None:
        """The smallest watermark of the buckets; None if there is none yet, or the stream has ended."""
        return min((h.watermark for h in self.buckets.values() if h.watermark is not None), default=None)

    @property
    def order(self) -> tuple[str, ...]:
        """The order in which most buckets probe now."""
        orders = Counter(held.order for held in self.buckets.values())
        return orders.most_common(1)[0][0] if orders else ()

    @property
    def other_orders(self) -> int:
        """The number of buckets that probe in another order."""
        order = self.order
        return sum(1 for held in self.buckets.values() if held.order != order)

    @property
    def in_force(self) -> InForceCounters:
        """The counters of the order shown since it is in force, over the buckets that use it."""
        return total((held.in_force for held in self.buckets.values()), self.order, len(self.others))

    @property
    def fullest(self) -> tuple[str, int]:
        """The bucket that holds the most rows now, and their number."""
        return max(((w, held.window_rows) for w, held in self.buckets.items()), key=lambda b: b[1], default=("", 0))

    @property
    def probes(self) -> int:
        """The number of probes by regular processing and by profiling."""
        return sum(self.evaluated) + sum(self.profiled)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t")
        >>> rows = pa.table({"k": ["x", "y"], "t": [1, 2]})
        >>> results = list(j.over(a=rows, b=rows))
        >>> j.report().sections[0].streams["a"].to_dict()["rows"]
        2
        """
        whole = asdict(self)
        whole["others"], whole["buckets"] = list(self.others), len(self.buckets)
        now = self.in_force
        return {
            **whole, **{name: getattr(self, name) for name in _NOW}, "order": list(self.order),
            "evaluated_in_force": list(now.evaluated), "passed_in_force": list(now.passed),
            "buckets_with_another_order": self.other_orders, "fullest_bucket_rows": self.fullest[1],
        }  # fmt: skip


@dataclass(slots=True)
class TableReport:
    """The counts of one table. Every worker holds all of it and every bucket reports it, so nothing is summed."""

    table: str
    rows: int = 0
    window_rows: int = 0
    """The number of rows that are held."""
    window_bytes: int = 0
    no_key: int = 0
    filtered: int = 0

    def take_in(self, later: JoinObserved | TableReport) -> None:
        """Keep the largest value of each field."""
        for name in ("rows", "window_rows", "window_bytes", "no_key", "filtered"):
            setattr(self, name, max(getattr(self, name), getattr(later, name)))


@dataclass(slots=True)
class JoinSection:
    """The section of one pass or query."""

    run: str
    kind: str
    policy: str
    streams: dict[str, StreamReport] = field(default_factory=dict)
    tables: dict[str, TableReport] = field(default_factory=dict)
    inner: dict[str, StreamReport] = field(default_factory=dict)
    """Inner results of a tree of joins, such as `(a b)`: their rows, and what is held of them."""
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=LATEST_SWITCHES))
    all_switches: int = 0
    first_batch: int | None = None
    last_batch: int | None = None
    query_name: str | None = None
    """The name that the user gave to the streaming query."""
    plans: PlanHistory = field(default_factory=PlanHistory)
    """Which sub-joins are kept, when and why that changed, and what was expected."""
    worker_meshes: WorkerMeshes = field(default_factory=WorkerMeshes)
    """The latest mesh of each bucket and stream that has had one, by names such as `bucket 3 a`."""

    @property
    def meshes(self) -> dict[str, MeshView]:
        """The meshes of the streams whose rows probe along several routes, or did so until lately, by stream. Each
        bucket has its own; this is that of the bucket that reported last."""
        if not self.worker_meshes.by_worker:
            return {}
        found = {alias: self._mesh(stream) for alias, stream in self.streams.items()}
        return {alias: mesh for alias, mesh in found.items() if mesh is not None}

    def _mesh(self, stream: StreamReport) -> MeshView | None:
        buckets = {f"{bucket} {stream.stream}": bucket for bucket in stream.buckets}
        known = self.worker_meshes.of(stream.others, buckets)
        if not known:
            return None
        worker, latest = known[0]
        where = f" in {buckets[worker]}" if len(stream.buckets) > 1 else ""
        return latest.view(stream.others, MeshWords(stream.stream + where, "probe"))

    @property
    def results(self) -> int:
        """The number of results so far."""
        return sum(stream.results for stream in self.streams.values())

    def standing(self, stream: StreamReport) -> str:
        """Return why the order of a stream's probes is kept.

        Parameters
        ----------
        stream
            A stream of this section.

        Returns
        -------
        str
            The policy's latest reason, or else one derived from the counts. Empty if the policy gives no reason and
            there were switches.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t")
        >>> rows = pa.table({"k": ["x", "y"], "t": [1, 2]})
        >>> results = list(j.over(a=rows, b=rows))
        >>> section = j.report().sections[0]
        >>> section.standing(section.streams["a"])
        'there is nothing to order'
        """
        if stream.standing or self.all_switches:
            return stream.standing
        dropped = sum(stream.evaluated) - sum(stream.passed)
        return derived(self.policy, len(stream.others), dropped, stream.profile_tuples)

    @property
    def buckets(self) -> int:
        """The number of buckets that have reported; 1 for a local pass."""
        return max((len(stream.buckets) for stream in self.streams.values()), default=0)

    def add(self, record: Record) -> None:
        """Add a record of this run."""
        if isinstance(record, JoinObserved):
            if record.table:
                self.tables.setdefault(record.stream, TableReport(record.stream)).take_in(record)
            elif record.inner:
                self.inner.setdefault(record.stream, StreamReport(record.stream, ())).add(record)
            else:
                self._stream(record.stream, record.others).add(record)
                if record.mesh_version is not None or record.policy == MESH:
                    self.worker_meshes.observe(f"{record.worker} {record.stream}", record)
            self.all_switches += record.omitted_switches
            self.query_name = record.query_name or self.query_name
            self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, record.batch)
        elif isinstance(record, VerdictGiven):
            self.all_switches += 1
            self.switches.append(SwitchReport.of(record))
            if record.mesh:
                self.worker_meshes.adopt(record.worker, record.mesh)
        elif isinstance(record, PlanObserved):
            self.plans.add(record)

    def take_in(self, later: JoinSection) -> None:
        """Add what a later part of the same run holds."""
        for alias, stream in later.streams.items():
            self._stream(alias, stream.others).take_in(stream)
        for alias, table in later.tables.items():
            self.tables.setdefault(alias, TableReport(alias)).take_in(table)
        for name, inner in later.inner.items():
            self.inner.setdefault(name, StreamReport(name, ())).take_in(inner)
        self.all_switches += later.all_switches
        self.switches.extend(later.switches)
        self.plans.take_in(later.plans)
        if later.worker_meshes.by_worker:
            self.worker_meshes.take_in(later.worker_meshes)
        self.query_name = later.query_name or self.query_name
        self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, later.first_batch, later.last_batch)

    def _stream(self, alias: str, others: tuple[str, ...]) -> StreamReport:
        return self.streams.setdefault(alias, StreamReport(alias, others))

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> j = tw.join(on="a.k = b.k", window=10, time="t")
        >>> rows = pa.table({"k": ["x", "y"], "t": [1, 2]})
        >>> results = list(j.over(a=rows, b=rows))
        >>> j.report().sections[0].to_dict()["results"]
        2
        """
        meshes = {alias: {"mesh": mesh.to_dict()} for alias, mesh in self.meshes.items()}
        return {
            "run": self.run, "kind": self.kind, "policy": self.policy, "results": self.results,
            "streams": {
                alias: stream.to_dict() | {"standing": self.standing(stream)} | meshes.get(alias, {})
                for alias, stream in self.streams.items()
            },
            "tables": {alias: asdict(table) for alias, table in self.tables.items()},
            **({"inner": {name: _inner_dict(inner) for name, inner in self.inner.items()}} if self.inner else {}),
            "buckets": self.buckets, "first_batch": self.first_batch, "last_batch": self.last_batch,
            "switches": self.all_switches,
            "latest_switches": [
                {**asdict(s), "before": list(s.before), "after": list(s.after)} for s in self.switches
            ],
            **({"query_name": self.query_name} if self.query_name is not None else {}),
            **({"plan": self.plans.to_dict()} if self.plans.plans else {}),
        }  # fmt: skip


def _inner_dict(inner: StreamReport) -> dict[str, int]:
    """Return the counters that an inner result has; the other counters of a stream are zero."""
    names = ("rows", "expired", "window_rows", "window_bytes", "most_rows", "most_bytes")
    return {name: getattr(inner, name) for name in names}
