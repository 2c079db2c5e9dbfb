"""The records. Names, numbers and sentences only, so that every record survives JSON unchanged.

`run` tells runs apart: a streaming query's id and run id, a batch DataFrame, or a local pass. `batch` is the
micro-batch, None outside streams. `query` is the streaming query's id, which outlives restarts, and `start` tells one
start of it from the next: a micro-batch is run again after a crash, and then only its last time counts. Lists go with
`predicates`, index by index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Observed:
    """What one task, or one local pass, did between two reports of it."""

    event: ClassVar[str] = "observed"

    run: str
    kind: str
    """`stream`, `batch` or `local`."""
    batch: int | None
    worker: str
    policy: str
    predicates: tuple[str, ...]
    order: tuple[str, ...]
    """The order at the end."""
    rows: int
    kept: int
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    busy_ns: tuple[int, ...]
    cost_ns: tuple[float | None, ...]
    """What one more row costs; None where nobody knows."""
    profiled: tuple[int, ...]
    profile_busy_ns: tuple[int, ...]
    profile_errors: tuple[int, ...]
    """Rows it raised on when it was evaluated only to learn something."""
    profile_tuples: int
    total_ns: int
    profiling_ns: int
    reoptimizing_ns: int
    omitted_switches: int = 0
    """Switches that were made but are not recorded one by one, because there were too many."""
    query: str | None = None
    start: str | None = None
    failed: int = 0
    """Rows set aside (`on_error="dead-letter"`)."""
    raised: tuple[int, ...] = ()
    """Rows each predicate raised on in ordinary work, dropped by others or not; empty in records of older versions."""
    query_name: str | None = None
    """What the user called the streaming query."""
    fixed_ns: tuple[float | None, ...] = ()
    """What a call costs besides its rows; None where nobody knows, empty in records of older versions."""
    switched: bool = False
    """A switch was made since the report before: the following three begin with the last one."""
    rows_in_force: int | None = None
    """Rows that went through the order at the end, without those of trials; None in records of older versions."""
    evaluated_in_force: tuple[int, ...] = ()
    """Rows of those that each predicate was evaluated on; empty in records of older versions, like the next."""
    passed_in_force: tuple[int, ...] = ()
    standing: str = ""
    """Why the order has not changed lately, in one sentence; empty where the policy does not say."""
    trials: int = 0
    """Slices that were run in another order to measure it. Neither verdicts nor switches."""
    trial_rows: int = 0
    trial_ns: int = 0
    """Time of those slices, a part of the processing time."""
    trial_loss_ns: int = 0
    """How much longer they took than the order in force would have."""
    compiling_ns: int = 0
    """Time in which numba compiled or loaded functions; not a part of `total_ns`."""


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """A policy said that another order is better, and why."""

    event: ClassVar[str] = "verdict"

    run: str
    batch: int | None
    worker: str
    policy: str
    at_row: int
    """Rows this worker's loop had seen."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str
    query: str | None = None
    start: str | None = None


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
    """The native predicates of one run (in a stream, of one micro-batch): their order and why, and what sampled rows
    showed. Lists go with `predicates`."""

    event: ClassVar[str] = "native"

    run: str
    kind: str
    """`stream` or `batch`."""
    batch: int | None
    policy: str
    chain: tuple[str, ...]
    """The Python predicates behind them."""
    predicates: tuple[str, ...]
    fingerprint: str
    """Of the expressions: what was learned is used again only for the same ones."""
    kinds: tuple[str, ...]
    costs: tuple[float, ...]
    """By the kind of expression; a comparison is 1."""
    before: tuple[str, ...]
    """The order before this run."""
    order: tuple[str, ...]
    reason: str
    """Why this order."""
    tested: tuple[int, ...]
    """Sampled rows whose guards held; 0: it stands before the sample is taken."""
    passed: tuple[int, ...]
    masks: tuple[int, ...]
    """Outcomes of sampled rows: bit k is set where predicate k drops the row."""
    counts: tuple[int, ...]
    """How many sampled rows had that outcome."""
    query: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True)
class JoinObserved:
    """What a join did with the rows of one of its streams between two reports of it, and what its window holds. Lists
    go with `others`, the streams that its rows are probed for."""

    event: ClassVar[str] = "joined"

    run: str
    kind: str
    """`stream`, `batch` or `local`."""
    batch: int | None
    worker: str
    """On Spark the bucket, such as `bucket 3`, which outlives the processes that serve it."""
    policy: str
    stream: str
    others: tuple[str, ...]
    order: tuple[str, ...]
    """In which they are probed, at the end."""
    rows: int
    late: int
    """Older than the query's watermark: not joined."""
    no_time: int
    no_key: int
    """With a null among their keys, or a value nothing can equal."""
    kept: int
    """With a partner in every window."""
    results: int
    """That came with these rows."""
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    profiled: tuple[int, ...]
    profile_tuples: int
    looked: int
    """Entries of hash indexes compared, profiling included."""
    total_ns: int
    profiling_ns: int
    reoptimizing_ns: int
    expired: int
    window_rows: int
    """Held now."""
    window_bytes: int
    watermark: int | None
    """Of the stream, in ticks of its time."""
    most_matches: int
    """That one row had by its keys, at most so far."""
    hottest: str
    """The keys of that row; empty with `redact`."""
    limit: int
    """Matches one row may have."""
    omitted_switches: int = 0
    query: str | None = None
    start: str | None = None
    most_late: int = 0
    """Ticks by which a row was late, at most so far."""
    filtered: int = 0
    """Dropped by a condition on the stream alone."""
    most_rows: int = 0
    """That its window held at once so far."""
    most_bytes: int = 0
    ahead: int = 0
    """Further in the future than is believed: joined, but the watermark did not follow."""
    state_bytes: int = 0
    """Of this stream's chunks in the state store, now."""
    state_chunks: int = 0
    reloaded: int = 0
    """Chunks read back from the state store."""
    query_name: str | None = None
    """What the user called the streaming query."""
    replicated: bool = False
    """Its rows are held by every bucket, and counted by one of them."""
    table: bool = False
    """A table is probed and never probes: it has rows and what is held of them, the rest is zero."""
    tick_ns: int | None = None
    """How long a tick of time is; None: times are whole numbers, and nobody knows."""
    switched: bool = False
    """This and the following: as in `Observed`."""
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
    """Not a stream, but what a tree of joins has put together from those named in `stream`, such as `(a b)`: it has
    rows, those that expired and what is held of them, the rest is zero."""


Record = JoinObserved | Observed | VerdictGiven | Switched | NativeObserved
