"""The records. They contain only names, numbers and sentences, so that JSON preserves every record exactly.

What was counted is in parts (`parts.py`), whose lists have one value per name: per predicate, in the order of
`predicates`, or per other stream, in the order of `others`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.events.parts import (
    CallCounts,
    ChainCounts,
    ChartCounts,
    InForceCounts,
    MatchCounts,
    NativeCounts,
    PlanCounts,
    PlanForecast,
    RouteCounts,
    StreamCounts,
    TimeCounts,
    TrialCounts,
    WindowCounts,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The run, micro-batch, worker, policy and query of a record. Its fields are keys of the record itself in JSON."""

    run: str
    """A streaming query's id and run id, a batch DataFrame, or a local pass."""
    kind: str
    """`stream`, `batch` or `local`."""
    batch: int | None = None
    """The number of the micro-batch; None outside streams."""
    worker: str = ""
    """The worker that did it, if one did. For a join on Spark it is the bucket, such as `bucket 3`, which stays the
    same if another process takes over."""
    policy: str = ""
    query: str | None = None
    """The streaming query's id, which stays the same after restarts."""
    start: str | None = None
    """The start of the query: after a crash a micro-batch is run again, and then only its last run counts."""
    query_name: str | None = None
    """The name that the user gave the streaming query."""


UNKNOWN_ORIGIN = Origin("", "")
"""The origin of a record in a worker: the driver knows it."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one task, or one local pass, did between two of its reports."""

    event: ClassVar[str] = "observed"

    origin: Origin
    predicates: tuple[str, ...]
    order: tuple[str, ...]
    """The order at the end of the report."""
    omitted_switches: int = 0
    """Switches that are not recorded one by one, because there were too many."""
    chain: ChainCounts = field(default_factory=ChainCounts)
    calls: CallCounts = field(default_factory=CallCounts)
    times: TimeCounts = field(default_factory=TimeCounts)
    in_force: InForceCounts = field(default_factory=InForceCounts)
    trials: TrialCounts = field(default_factory=TrialCounts)
    routes: RouteCounts | None = None
    """What was counted of the mesh at the end of the report; None if all rows took one route."""
    chart: ChartCounts = field(default_factory=ChartCounts)


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """A policy decided that another order is better, with the reason."""

    event: ClassVar[str] = "verdict"

    origin: Origin
    at_row: int
    """The number of rows that this worker's loop had seen."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str
    mesh: str = ""
    """The mesh from now on as JSON: its tree, its routes and its version; empty if it has not changed."""


@dataclass(frozen=True, slots=True)
class Switched:
    """The verdict was applied, from this row of the worker's loop on."""

    event: ClassVar[str] = "switched"

    origin: Origin
    at_row: int
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NativeObserved:
    """The native predicates of one run (in a stream, of one micro-batch): their order, the reason for it, and the
    outcomes of sampled rows."""

    event: ClassVar[str] = "native"

    origin: Origin
    chain: tuple[str, ...]
    """The Python predicates that run after them."""
    predicates: tuple[str, ...]
    fingerprint: str
    """A fingerprint of the expressions: what was learned is reused only for the same expressions."""
    kinds: tuple[str, ...]
    costs: tuple[float, ...]
    """The estimated costs by the kind of expression; a comparison is 1."""
    before: tuple[str, ...]
    """The order before this run."""
    order: tuple[str, ...]
    reason: str
    """Why this order was chosen."""
    counts: NativeCounts = field(default_factory=NativeCounts)
    masks: tuple[int, ...] = field(default=(), metadata={"most": float("inf")})
    """Outcomes of sampled rows: bit k is set if predicate k drops the row."""
    sampled: tuple[int, ...] = ()
    """How many sampled rows had that outcome."""


@dataclass(frozen=True, slots=True)
class JoinObserved:
    """What a join did with the rows of one of its streams between two of its reports, and what the stream's window
    holds."""

    event: ClassVar[str] = "joined"

    origin: Origin
    alias: str
    """The name of the stream, table or intermediate result."""
    others: tuple[str, ...] = ()
    """The streams that are probed with its rows."""
    order: tuple[str, ...] = ()
    """The order in which they are probed, at the end of the report."""
    table: bool = False
    """Whether this is a table, which is probed but never probes. Its record has rows and what is held of them."""
    inner: bool = False
    """Whether this is not a stream but an intermediate result of a join tree, from the streams named in `alias`, such
    as `(a b)`. Its record has rows, expired rows and what is held of them."""
    omitted_switches: int = 0
    stream: StreamCounts = field(default_factory=StreamCounts)
    matches: MatchCounts = field(default_factory=MatchCounts)
    window: WindowCounts = field(default_factory=WindowCounts)
    probes: ChainCounts = field(default_factory=ChainCounts)
    times: TimeCounts = field(default_factory=TimeCounts)
    in_force: InForceCounts = field(default_factory=InForceCounts)
    trials: TrialCounts = field(default_factory=TrialCounts)
    routes: RouteCounts | None = None


@dataclass(frozen=True, slots=True)
class PlanObserved:
    """The plan of a join in one worker between two of its reports: what was expected of it, and what was counted."""

    event: ClassVar[str] = "plan"

    origin: Origin
    plan: str
    """The plan in force, as `plan=` takes it."""
    counted: PlanCounts = field(default_factory=PlanCounts)
    expected: PlanForecast | None = None
    """None in the first reports, in which nothing is known yet."""
    elapsed: float | None = None
    """The event time from the first row to the last so far, in seconds; in units of the times if these are numbers."""
    next_plan: str = ""
    """The plan from now on, if it was changed at the end; empty if it was not."""
    reason: str = ""
    """Why the plan was changed, with the numbers that decided."""
    rates: tuple[float, ...] = ()
    """The estimated rates of the streams, in rows per second of all buckets; in the order in which the join names its
    streams, without tables."""
    chart: ChartCounts = field(default_factory=ChartCounts)
    standing: str = ""
    """Why plans are looked up in a chart although the policy is another one; empty if they are not."""


@dataclass(frozen=True, slots=True)
class BatchTimed:
    """A micro-batch of a query that was started by a session: when it began, its rows, and how long it took."""

    event: ClassVar[str] = "batch"

    origin: Origin
    rows: int
    """The rows that all sources have read."""
    seconds: float
    at: float
    """When it began, in seconds since 1970."""


Record = BatchTimed | JoinObserved | PlanObserved | Observed | VerdictGiven | Switched | NativeObserved
