"""The records. They contain only names, numbers and sentences, so that JSON preserves every record exactly.

`run` identifies a run: a streaming query's id and run id, a batch DataFrame, or a local pass. `batch` is the number of
the micro-batch, None outside streams. `query` is the streaming query's id, which stays the same after restarts, and
`start` identifies one start of the query: after a crash a micro-batch is run again, and then only its last run counts.
Lists have one value per predicate, in the order of `predicates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Observed:
    """What one task, or one local pass, did between two of its reports."""

    event: ClassVar[str] = "observed"

    run: str
    kind: str
    """`stream`, `batch` or `local`."""
    batch: int | None
    worker: str
    policy: str
    predicates: tuple[str, ...]
    order: tuple[str, ...]
    """The order at the end of the report."""
    rows: int
    kept: int
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    busy_ns: tuple[int, ...]
    cost_ns: tuple[float | None, ...]
    """The cost of one more row; None if unknown."""
    profiled: tuple[int, ...]
    profile_busy_ns: tuple[int, ...]
    profile_errors: tuple[int, ...]
    """Rows on which the predicate raised while it was profiled."""
    profile_tuples: int
    total_ns: int
    profiling_ns: int
    reoptimizing_ns: int
    omitted_switches: int = 0
    """Switches that are not recorded one by one, because there were too many."""
    query: str | None = None
    start: str | None = None
    failed: int = 0
    """Rows set aside (`on_error="dead-letter"`)."""
    raised: tuple[int, ...] = ()
    """Rows on which each predicate raised in ordinary work, whether or not other predicates dropped them; empty in
    records of older versions."""
    query_name: str | None = None
    """The name that the user gave the streaming query."""
    fixed_ns: tuple[float | None, ...] = ()
    """The fixed cost of a call, besides its rows; None if unknown, empty in records of older versions."""
    switched: bool = False
    """Whether a switch was made since the previous report. If so, the next three fields count from the last switch."""
    rows_in_force: int | None = None
    """Rows processed in the order at the end, without those of trials; None in records of older versions."""
    evaluated_in_force: tuple[int, ...] = ()
    """Of these rows, those on which each predicate was evaluated; empty in records of older versions."""
    passed_in_force: tuple[int, ...] = ()
    """Of these rows, those that passed each predicate; empty in records of older versions."""
    standing: str = ""
    """Why the order has not changed lately, in one sentence; empty if the policy gives no reason."""
    trials: int = 0
    """Slices that were run in another order to measure it. They are neither verdicts nor switches."""
    trial_rows: int = 0
    trial_ns: int = 0
    """Time of those slices, which is part of the processing time."""
    trial_loss_ns: int = 0
    """How much longer they took than the order in force would have."""
    compiling_ns: int = 0
    """Time in which numba compiled or loaded functions; not part of `total_ns`."""
    mesh_version: int | None = None
    """The version of the mesh at the end of the report; None if all rows took one route. The next three fields count
    since it was adopted, or since the previous report, by route."""
    route_rows: tuple[int, ...] = ()
    route_evaluated: tuple[int, ...] = ()
    """Evaluations of all predicates on the rows of each route."""
    route_ns: tuple[int, ...] = ()
    """What these evaluations cost, by the cost of each predicate per row."""
    routing_ns: int = 0
    """Time of classifying rows and of moving them between predicates; part of the processing time."""
    predicted_saving_ns: int | None = None
    """What the mesh was expected to save per row when it was adopted; None without a mesh."""
    realized_saving_ns: int | None = None
    """What it saves per row according to rows that were profiled since; None if that is not known."""
    rounds: int = 0
    """With the policy `chart`: how often the order was looked up."""
    moves: int = 0
    """How often the shares and rows per call have moved to another region of the chart."""
    outside: int = 0
    """How often they were outside the chart, so that the nearest region was used."""
    judged: int = 0
    """In how many rounds the order in force was compared with the best one for the observed numbers."""
    hits: int = 0
    """Of these, in how many it was that one."""
    regret: float | None = None
    """By how many times the order in force was worse than that one, on average; None if no round was judged."""
    shares: tuple[float, ...] = ()
    """By predicate, the share of all rows that it passes, as estimated in the last round; empty with other policies."""
    mesh: str = ""
    """That mesh as JSON, as in `VerdictGiven`, if no verdict of this worker in this run has it: the worker began with
    what another one had found; empty otherwise."""


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """A policy decided that another order is better, with the reason."""

    event: ClassVar[str] = "verdict"

    run: str
    batch: int | None
    worker: str
    policy: str
    at_row: int
    """The number of rows that this worker's loop had seen."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str
    query: str | None = None
    start: str | None = None
    mesh: str = ""
    """The mesh from now on as JSON: its tree, its routes and its version; empty if it has not changed."""


@dataclass(frozen=True, slots=True)
class Switched:
    """The verdict was applied, from this row of the worker's loop on."""

    event: ClassVar[str] = "switched"

    run: str
    batch: int | None
    worker: str
    at_row: int
    order: tuple[str, ...]
    query: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True)
class NativeObserved:
    """The native predicates of one run (in a stream, of one micro-batch): their order, the reason for it, and the
    outcomes of sampled rows. Lists have one value per predicate, in the order of `predicates`."""

    event: ClassVar[str] = "native"

    run: str
    kind: str
    """`stream` or `batch`."""
    batch: int | None
    policy: str
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
    tested: tuple[int, ...]
    """Sampled rows whose guards held; 0 if the predicate runs before the sample is taken."""
    passed: tuple[int, ...]
    masks: tuple[int, ...]
    """Outcomes of sampled rows: bit k is set if predicate k drops the row."""
    counts: tuple[int, ...]
    """How many sampled rows had that outcome."""
    query: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True)
class JoinObserved:
    """What a join did with the rows of one of its streams between two of its reports, and what the stream's window
    holds. Lists have one value per stream in `others`, the streams that are probed with its rows."""

    event: ClassVar[str] = "joined"

    run: str
    kind: str
    """`stream`, `batch` or `local`."""
    batch: int | None
    worker: str
    """On Spark the bucket, such as `bucket 3`, which stays the same if another process takes over."""
    policy: str
    stream: str
    others: tuple[str, ...]
    order: tuple[str, ...]
    """The order in which they are probed, at the end of the report."""
    rows: int
    late: int
    """Rows older than the query's watermark, which are not joined."""
    no_time: int
    no_key: int
    """Rows with a null among their keys, or with a value that equals nothing."""
    kept: int
    """Rows with a partner in every window."""
    results: int
    """Results that these rows produced."""
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    profiled: tuple[int, ...]
    profile_tuples: int
    looked: int
    """Entries of hash indexes that were compared, including profiling."""
    total_ns: int
    profiling_ns: int
    reoptimizing_ns: int
    expired: int
    window_rows: int
    """Rows that the window holds now."""
    window_bytes: int
    watermark: int | None
    """The stream's watermark, in ticks of its time."""
    most_matches: int
    """The most matches that one row had by its keys so far."""
    hottest: str
    """The keys of that row; empty with `redact`."""
    limit: int
    """The most matches that one row may have."""
    omitted_switches: int = 0
    query: str | None = None
    start: str | None = None
    most_late: int = 0
    """The most ticks by which a row was late so far."""
    filtered: int = 0
    """Rows dropped by a condition on this stream alone."""
    most_rows: int = 0
    """The most rows that the window held at once so far."""
    most_bytes: int = 0
    ahead: int = 0
    """Rows further in the future than is plausible. They are joined, but do not advance the watermark."""
    state_bytes: int = 0
    """The current size of this stream's chunks in the state store."""
    state_chunks: int = 0
    reloaded: int = 0
    """Chunks read back from the state store."""
    query_name: str | None = None
    """The name that the user gave the streaming query."""
    replicated: bool = False
    """Whether every bucket holds its rows; one of the buckets counts them."""
    table: bool = False
    """Whether this is a table, which is probed but never probes. Its record has rows and what is held of them; the
    rest is zero."""
    tick_ns: int | None = None
    """The length of a tick of time; None if times are integers of unknown unit."""
    switched: bool = False
    """This field and the following ones are as in `Observed`."""
    rows_in_force: int | None = None
    evaluated_in_force: tuple[int, ...] = ()
    passed_in_force: tuple[int, ...] = ()
    standing: str = ""
    trials: int = 0
    trial_rows: int = 0
    trial_ns: int = 0
    trial_loss_ns: int = 0
    compiling_ns: int = 0
    inner: bool = False
    """Whether this is not a stream but an intermediate result of a join tree, from the streams named in `stream`, such
    as `(a b)`. Its record has rows, expired rows and what is held of them; the rest is zero."""
    sampled: tuple[int, ...] = ()
    """How many rows of this stream were looked up in the window of each of the others, to count their partners; empty
    in records of older versions. In the window of a stream that it shares no column with, none."""
    partners: tuple[int, ...] = ()
    """How many partners these rows found there, in total; as many as in a full window, if it was still filling."""
    partnered: tuple[int, ...] = ()
    """How many of these rows found at least one."""
    first_time: int | None = None
    """The smallest time of these rows, in ticks; None if no row had a time."""
    last_time: int | None = None
    """The largest time of these rows, in ticks."""
    routing_ns: int = 0
    """Time of classifying rows and of moving them between probes; part of the time."""
    mesh_version: int | None = None
    """This field and the following ones are as in `Observed`, of the routes of this stream's rows."""
    route_rows: tuple[int, ...] = ()
    route_evaluated: tuple[int, ...] = ()
    route_ns: tuple[int, ...] = ()
    predicted_saving_ns: int | None = None
    realized_saving_ns: int | None = None
    mesh: str = ""


@dataclass(frozen=True, slots=True)
class PlanObserved:
    """The plan of a join in one worker between two of its reports: what was expected of it, and what was counted.

    What was expected is None in the first reports, in which nothing is known yet."""

    event: ClassVar[str] = "plan"

    run: str
    kind: str
    batch: int | None
    worker: str
    policy: str
    plan: str
    """The plan in force, as `plan=` takes it."""
    rows: int
    """Rows of all streams that were joined."""
    work_ns: int
    results: int
    held_rows: int
    """Rows of all windows and kept sub-joins at the end."""
    held_bytes: int
    elapsed: float | None = None
    """The event time from the first row to the last so far, in seconds; in units of the times if these are numbers."""
    expected_ns: float | None = None
    expected_results: float | None = None
    expected_rows: float | None = None
    """The expected number of held rows."""
    expected_bytes: float | None = None
    next_plan: str = ""
    """The plan from now on, if it was changed at the end; empty if it was not."""
    reason: str = ""
    """Why the plan was changed, with the numbers that decided."""
    query: str | None = None
    start: str | None = None
    rates: tuple[float, ...] = ()
    """The estimated rates of the streams, in rows per second of all buckets; in the order in which the join names its
    streams, without tables."""
    rounds: int = 0
    """With the policy `chart`: how often the plan was looked up."""
    moves: int = 0
    """How often the rates have moved to another region of the chart."""
    outside: int = 0
    """How often the rates were outside the chart, so that the nearest region was used."""
    hit: bool | None = None
    """Whether the plan in force was the best one for the observed numbers; None if there was no time to find out."""
    regret: float | None = None
    """By how many times the plan in force is worse than that one."""
    standing: str = ""
    """Why plans are looked up in a chart although the policy is another one; empty if they are not."""


@dataclass(frozen=True, slots=True)
class BatchTimed:
    """A micro-batch of a query that was started by a session: when it began, its rows, and how long it took."""

    event: ClassVar[str] = "batch"

    run: str
    batch: int
    rows: int
    """The rows that all sources have read."""
    seconds: float
    at: float
    """When it began, in seconds since 1970."""
    query: str | None = None
    start: str | None = None
    query_name: str | None = None


Record = BatchTimed | JoinObserved | PlanObserved | Observed | VerdictGiven | Switched | NativeObserved
