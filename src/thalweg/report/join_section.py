"""A section of a join report: for each stream, the sums over event records and what is held now."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, PlanObserved, Record, VerdictGiven
from thalweg.events.counts import Counts, largest, latest
from thalweg.events.parts import (
    ChainCounts,
    InForceCounts,
    MatchCounts,
    StreamCounts,
    TimeCounts,
    TrialCounts,
    WindowCounts,
)
from thalweg.report.kept_order_reason import derived
from thalweg.report.mesh_counts import WorkerMeshes
from thalweg.report.mesh_tree import MeshWords
from thalweg.report.mesh_view import MeshView
from thalweg.report.plan_history import PlanHistory
from thalweg.report.section import LATEST_SWITCHES, MESH, SwitchReport, add_in_order, span, total_in_order


@dataclass(slots=True)
class BucketState:
    """The latest state of one stream in one bucket, or in a local pass."""

    order: tuple[str, ...] = ()
    window: WindowCounts = field(default_factory=WindowCounts)
    in_force: InForceCounts = field(default_factory=InForceCounts)
    """The counters since the order of probes last changed."""

    def add(self, later: BucketState) -> None:
        """Add what the same bucket did later, and replace its state."""
        self.window.add(later.window)
        add_in_order(self, later)
        self.order = later.order


@dataclass(slots=True)
class StreamReport:
    """The counts of one stream. Lists are by `others`, the streams whose windows its rows probe."""

    alias: str
    others: tuple[str, ...]
    stream: StreamCounts = field(default_factory=StreamCounts)
    matches: MatchCounts = field(default_factory=MatchCounts)
    probes: ChainCounts = field(default_factory=ChainCounts)
    times: TimeCounts = field(default_factory=TimeCounts)
    trials: TrialCounts = field(default_factory=TrialCounts)
    standing: str = ""
    """Why the order is kept, according to the policy of the bucket that reported last; empty if it gave no reason."""
    buckets: dict[str, BucketState] = field(default_factory=dict)
    """The latest state by worker; at most as many as the join has buckets."""

    def add(self, record: JoinObserved) -> None:
        """Add to the sums, and replace the current state."""
        if record.others != self.others:
            raise ThalwegError(
                f"run {record.origin.run}: {self.alias} is joined with {self.others} and with {record.others}: not one "
                "run. The file was changed, or files of several runs were put together; report each by itself"
            )
        now = BucketState(record.order, record.window, record.in_force)
        self._fold(record, {record.origin.worker: now}, record.in_force.standing)

    def take_in(self, later: StreamReport) -> None:
        """Add what a later part of the same run holds."""
        self._fold(later, later.buckets, later.standing)

    def _fold(self, later: JoinObserved | StreamReport, held: Mapping[str, BucketState], standing: str) -> None:
        self.stream.add(later.stream)
        self.matches.add(later.matches)
        self.probes.add(later.probes)
        self.times.add(later.times)
        self.trials.add(later.trials)
        self.standing = standing
        for worker, now in held.items():
            self.buckets.setdefault(worker, BucketState()).add(now)

    @property
    def window(self) -> WindowCounts:
        """What the windows of all buckets hold now."""
        return WindowCounts.of_buckets(held.window for held in self.buckets.values())

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
    def in_force(self) -> InForceCounts:
        """The counters of the order shown since it is in force, over the buckets that use it."""
        return total_in_order(self.buckets.values(), self.order, len(self.others))

    @property
    def fullest(self) -> tuple[str, int]:
        """The bucket that holds the most rows now, and their number."""
        held = ((worker, bucket.window.rows) for worker, bucket in self.buckets.items())
        return max(held, key=lambda bucket: bucket[1], default=("", 0))

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
        return {
            "stream": self.alias, "others": list(self.others), **self.probes.to_dict(), **self.stream.to_dict(),
            **self.matches.to_dict(), **self.times.to_dict(), **self.trials.to_dict(), **self.window.to_dict(),
            **self.in_force.to_dict(), "standing": self.standing, "order": list(self.order),
            "buckets": len(self.buckets), "buckets_with_another_order": self.other_orders,
            "fullest_bucket_rows": self.fullest[1],
        }  # fmt: skip


@dataclass(slots=True)
class TableReport(Counts):
    """The counts of one table. Every worker holds all of it and every bucket reports it, so nothing is summed."""

    table: str = latest("")
    rows: int = largest()
    window_rows: int = largest()
    """The number of rows that are held."""
    window_bytes: int = largest()
    no_key: int = largest()
    filtered: int = largest()

    @classmethod
    def of(cls, seen: JoinObserved) -> TableReport:
        """Make it from a record."""
        rows, held = seen.stream, seen.window
        return cls(seen.alias, rows.rows, held.rows, held.bytes, rows.no_key, rows.filtered)


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
        buckets = {f"{bucket} {stream.alias}": bucket for bucket in stream.buckets}
        known = self.worker_meshes.of(stream.others, buckets)
        if not known:
            return None
        worker, latest = known[0]
        where = f" in {buckets[worker]}" if len(stream.buckets) > 1 else ""
        return latest.view(stream.others, MeshWords(stream.alias + where, "probe"))

    @property
    def results(self) -> int:
        """The number of results so far."""
        return sum(stream.matches.results for stream in self.streams.values())

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
        dropped = sum(stream.probes.evaluated) - sum(stream.probes.passed)
        return derived(self.policy, len(stream.others), dropped, stream.probes.profile_tuples)

    @property
    def buckets(self) -> int:
        """The number of buckets that have reported; 1 for a local pass."""
        return max((len(stream.buckets) for stream in self.streams.values()), default=0)

    def add(self, record: Record) -> None:
        """Add a record of this run."""
        if isinstance(record, JoinObserved):
            alias, origin = record.alias, record.origin
            if record.table:
                self.tables.setdefault(alias, TableReport(alias)).add(TableReport.of(record))
            elif record.inner:
                self.inner.setdefault(alias, StreamReport(alias, ())).add(record)
            else:
                self._stream(alias, record.others).add(record)
                if record.routes is not None or origin.policy == MESH:
                    self.worker_meshes.observe(record)
            self.all_switches += record.omitted_switches
            self.query_name = origin.query_name or self.query_name
            self.first_batch, self.last_batch = span(self.first_batch, self.last_batch, origin.batch)
        elif isinstance(record, VerdictGiven):
            self.all_switches += 1
            self.switches.append(SwitchReport.of(record))
            if record.mesh:
                self.worker_meshes.adopt(record.origin.worker, record.mesh)
        elif isinstance(record, PlanObserved):
            self.plans.add(record)

    def take_in(self, later: JoinSection) -> None:
        """Add what a later part of the same run holds."""
        for alias, stream in later.streams.items():
            self._stream(alias, stream.others).take_in(stream)
        for alias, table in later.tables.items():
            self.tables.setdefault(alias, TableReport(alias)).add(table)
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
            "tables": {alias: table.to_dict() for alias, table in self.tables.items()},
            **({"inner": {name: _inner_dict(inner) for name, inner in self.inner.items()}} if self.inner else {}),
            "buckets": self.buckets, "first_batch": self.first_batch, "last_batch": self.last_batch,
            "switches": self.all_switches,
            "latest_switches": [switch.to_dict() for switch in self.switches],
            **({"query_name": self.query_name} if self.query_name is not None else {}),
            **({"plan": self.plans.to_dict()} if self.plans.plans else {}),
        }  # fmt: skip


def _inner_dict(inner: StreamReport) -> dict[str, int]:
    """Return the counters that an inner result has; the other counters of a stream are zero."""
    window = inner.window.to_dict()
    names = ("expired", "window_rows", "window_bytes", "most_rows", "most_bytes")
    return {"rows": inner.stream.rows, **{name: window[name] for name in names}}
