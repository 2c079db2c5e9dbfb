"""The parts of records: what loops count, and what reports add."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from thalweg.events.counts import Counts, largest, latest, smallest, total


@dataclass(slots=True)
class ChainCounts(Counts):
    """What the predicates of a chain, or the probes of a stream's rows, did."""

    rows: int = total()
    kept: int = total()
    evaluated: list[int] = total(by="predicates")
    """Rows on which each was evaluated by regular processing, in all orders and in trials."""
    passed: list[int] = total(by="predicates")
    """Of these, rows that it did not drop."""
    profiled: list[int] = total(by="predicates")
    """Rows on which it was evaluated only for profiling."""
    profile_tuples: int = total()
    """Dropped rows that were profiled."""


@dataclass(slots=True)
class CallCounts(Counts):
    """What the functions of predicates did, and what they cost."""

    failed: int = total()
    """Rows set aside (`on_error="dead-letter"`)."""
    raised: list[int] = total(by="predicates")
    """Rows on which each raised in regular processing, whether or not other predicates dropped them."""
    profile_errors: list[int] = total(by="predicates")
    """Profiled rows on which it raised."""
    busy_ns: list[int] = total(by="predicates", key="")
    profile_busy_ns: list[int] = total(by="predicates", key="")
    cost_ns: list[float | None] = latest(by="predicates")
    """The cost of one more row; None if unknown."""
    fixed_ns: list[float | None] = latest(by="predicates", key="")
    """The fixed cost of a call, besides its rows; None if unknown."""


@dataclass(slots=True)
class TimeCounts(Counts):
    """Times of a loop, in nanoseconds."""

    total_ns: int = total()
    profiling_ns: int = total()
    reoptimizing_ns: int = total()
    compiling_ns: int = total()
    """Time in which numba compiled or loaded functions; no other time includes it."""
    routing_ns: int = total()
    """Time of classifying rows, of deciding, and of moving rows between operators; part of the processing time."""

    @property
    def processing_ns(self) -> int:
        """Time that is neither profiling nor re-optimizing."""
        return self.total_ns - self.profiling_ns - self.reoptimizing_ns


@dataclass(slots=True)
class InForceCounts(Counts):
    """Counts of the order in force, without rows of trials: since the last switch, or since the previous report.

    The share of rows that a predicate passes depends on its place in the order, so sums over several orders give the
    share of none of them.

    >>> now = InForceCounts(rows=100, evaluated=[100, 40], passed=[40, 10])
    >>> now.add(InForceCounts(rows=50, evaluated=[50, 20], passed=[20, 5]))
    >>> now.add(InForceCounts(switched=True, rows=5, evaluated=[2, 5], passed=[1, 2]))
    >>> now
    InForceCounts(switched=True, rows=5, evaluated=[2, 5], passed=[1, 2], standing='')
    """

    switched: bool = largest(False, key="")
    """Whether the order was switched while this was counted."""
    rows: int = total(key="")
    evaluated: list[int] = total(by="predicates", key="evaluated_in_force")
    passed: list[int] = total(by="predicates", key="passed_in_force")
    standing: str = latest("", key="")
    """Why the order has not changed lately, in one sentence; empty if the policy gives no reason."""

    def add(self, later: Self) -> None:
        """Add what the same worker counted later. If it switched, only that counts."""
        if later.switched:
            self.rows, self.evaluated, self.passed = 0, [], []
        Counts.add(self, later)


@dataclass(slots=True)
class TrialCounts(Counts):
    """Slices that were run in another order to measure it. They are neither verdicts nor switches."""

    trials: int = total()
    rows: int = total(key="trial_rows")
    ns: int = total(key="trial_ns")
    """Time of these slices; part of the processing time."""
    loss_ns: int = total(key="trial_loss_ns")
    """How much longer they took than they would have in the order in force; never negative."""


@dataclass(slots=True)
class RouteCounts(Counts):
    """What was counted of a mesh by route since it was adopted, or since the previous report."""

    version: int = latest()
    rows: list[int] = total(by="routes")
    evaluated: list[int] = total(by="routes")
    """Evaluations of all predicates on the rows of each route."""
    ns: list[int] = total(by="routes")
    """What these evaluations cost, by the cost of each predicate per row."""
    decisions: int = total(key="")
    """How often a lottery decided which predicate is next."""
    predicted_saving_ns: int | None = latest(None, signed=True)
    """What the mesh was expected to save per row when it was adopted."""
    realized_saving_ns: int | None = latest(None, signed=True)
    """What it saves per row according to rows that were profiled since; None if that is not known."""
    mesh: str = latest("")
    """The mesh as JSON, as in `VerdictGiven`, if no verdict of this worker in this run has it: the worker began with
    what another one had found; empty otherwise."""


@dataclass(slots=True)
class ChartCounts(Counts):
    """How filters or a join followed their chart. In a round, one worker looks its plan up: that of a join, or the
    order of filters.

    Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams,
    section 5.1, which defines moves and fidelity.

    >>> counts = ChartCounts()
    >>> counts.look_up(moved=True, is_outside=False)
    >>> counts.judge(hit=False, regret=1.5)
    >>> counts.judge(hit=True, regret=1.0)
    >>> counts.to_dict()
    {'rounds': 1, 'moves': 1, 'outside': 0, 'judged': 2, 'fidelity': 0.5, 'regret': 1.25}
    """

    rounds: int = total()
    moves: int = total()
    """Rounds in which the values were in another region than before."""
    outside: int = total()
    """Rounds in which they were outside the chart, so that the nearest region was used."""
    judged: int = total()
    """Rounds in which the plan in force was compared with the best one for what was observed."""
    hits: int = total(key="")
    """Of these, rounds in which it was that one."""
    regret: float = total(key="")
    """The sum over these of by how many times it was worse; at least 1 each."""
    shares: list[float] = latest(by="predicates", most=1.0, key="")
    """Of filters, the share of all rows that each passes, as estimated in the last round; empty with other policies."""

    def look_up(self, *, moved: bool, is_outside: bool, shares: Iterable[float] = ()) -> None:
        """Count a look-up, and whether it was in another region than the one before, or outside the chart. `shares`: of
        filters, the shares that were looked up."""
        self.rounds += 1
        self.shares = list(shares)
        self.moves += moved
        self.outside += is_outside

    def judge(self, *, hit: bool, regret: float) -> None:
        """Count a comparison of the plan in force with the best one."""
        self.judged += 1
        self.hits += hit
        self.regret += regret

    @property
    def fidelity(self) -> float | None:
        """The share of rounds in which the plan in force was the best one; None if none was judged."""
        return self.hits / self.judged if self.judged else None

    @property
    def mean_regret(self) -> float | None:
        """By how many times the plan in force was worse than the best one, on average; 1 is the best."""
        return self.regret / self.judged if self.judged else None

    def wrong(self, names: int) -> str | None:
        """As in `Counts`; and no more rounds can be hits than were judged."""
        if (wrong := Counts.wrong(self, names)) is not None:
            return wrong
        if self.hits > self.judged:
            return f"hits is {self.hits}, more than the {self.judged} rounds that were judged"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, with the means."""
        return {**Counts.to_dict(self), "fidelity": self.fidelity, "regret": self.mean_regret}


@dataclass(slots=True)
class NativeCounts(Counts):
    """The sampled rows that native predicates were evaluated on."""

    tested: list[int] = total(by="predicates", key="sampled")
    """Sampled rows whose guards held; 0 if the predicate runs before the sample is taken."""
    passed: list[int] = total(by="predicates")


@dataclass(slots=True)
class StreamCounts(Counts):
    """The rows of a stream or table that arrived."""

    rows: int = total()
    late: int = total()
    """Rows older than the query's watermark, which are not joined."""
    most_late: int = largest()
    """The most ticks by which a row was late."""
    no_time: int = total()
    no_key: int = total()
    """Rows that cannot be in a result because a key is null or a value that no partner can have."""
    filtered: int = total()
    """Rows dropped by a condition on this stream alone."""
    ahead: int = total()
    """Rows further in the future than is plausible. They are joined, but do not advance the watermark."""
    batches: int = total(key="")
    first_time: int | None = smallest(signed=True, key="")
    """The smallest time of its rows, in ticks, without rows that are late or too far ahead: one wrong time must not
    determine how many rows there are per second."""
    last_time: int | None = largest(None, signed=True, key="")
    tick_ns: int | None = largest(None)
    """The length of a tick of time; None if times are integers of unknown unit."""
    replicated: bool = largest(False)
    """Whether every bucket holds its rows; one of the buckets counts them."""

    @property
    def joined(self) -> int:
        """The number of rows that were joined."""
        return self.rows - self.late - self.no_time - self.no_key - self.filtered


@dataclass(slots=True)
class MatchCounts(Counts):
    """The results that rows of a stream completed, and their partners."""

    results: int = total()
    looked: int = total()
    """Entries of hash indexes that were compared, including profiling."""
    most_matches: int = largest()
    """The most matches that one row had by its keys so far."""
    hottest: str = latest("")
    """The keys of that row; empty with `redact`."""
    limit: int = largest()
    """The most matches that one row may have."""
    sampled: list[int] = total(by="others", key="")
    """How many rows of this stream were looked up in the window of each of the others, to count their partners. In the
    window of a stream that it shares no column with, none."""
    partners: list[int] = total(by="others", key="")
    """How many partners these rows found there, in total; as many as in a full window, if it was still filling."""
    partnered: list[int] = total(by="others", key="")
    """How many of these rows found at least one."""

    def add(self, later: Self) -> None:
        """Add what was counted later. The keys are those of the row with the most matches."""
        hottest = later.hottest or self.hottest if later.most_matches >= self.most_matches else self.hottest
        Counts.add(self, later)
        self.hottest = hottest

    def taken(self) -> Self:
        """Return the counts, and begin anew. The row with the most matches so far is kept."""
        taken = Counts.taken(self)
        self.most_matches, self.hottest = taken.most_matches, taken.hottest
        return taken


@dataclass(slots=True)
class WindowCounts(Counts):
    """What a window, or a kept sub-join, holds at the end of a report."""

    rows: int = latest(key="window_rows")
    bytes: int = latest(key="window_bytes")
    most_rows: int = largest()
    """The most rows that it held at once so far."""
    most_bytes: int = largest()
    expired: int = total()
    watermark: int | None = latest(None, signed=True)
    """The stream's watermark, in ticks of its time; None if there is none yet, or the stream has ended."""
    state_bytes: int = latest()
    """The size of its chunks in the state store."""
    state_chunks: int = latest()
    reloaded: int = total()
    """Chunks read back from the state store."""

    def measure(self, rows: int, size: int) -> None:
        """Count what is held now."""
        self.most_rows, self.most_bytes = max(self.most_rows, rows), max(self.most_bytes, size)

    def taken(self) -> Self:
        """Return the counts, and begin anew. The maxima so far are kept."""
        taken = Counts.taken(self)
        self.measure(taken.most_rows, taken.most_bytes)
        return taken

    @classmethod
    def of_buckets(cls, windows: Iterable[WindowCounts]) -> WindowCounts:
        """Return what all buckets hold: sums, and the smallest watermark. Maxima are upper bounds, because they need
        not have been reached at the same time."""
        whole = cls()
        for one in windows:
            for name in (each.name for each in fields(cls) if each.name != "watermark"):
                setattr(whole, name, getattr(whole, name) + getattr(one, name))
            if one.watermark is not None:
                whole.watermark = one.watermark if whole.watermark is None else min(one.watermark, whole.watermark)
        return whole


@dataclass(slots=True)
class JoinedCounts(Counts):
    """What a join did with the rows of one stream, without its probes."""

    stream: StreamCounts = field(default_factory=StreamCounts)
    matches: MatchCounts = field(default_factory=MatchCounts)
    window: WindowCounts = field(default_factory=WindowCounts)
    times: TimeCounts = field(default_factory=TimeCounts)


@dataclass(slots=True)
class PlanCounts(Counts):
    """What a join did under one plan."""

    rows: int = total(key="")
    """Rows of all streams that were joined."""
    work_ns: int = total()
    results: int = total()
    held_rows: int = total()
    """Rows of all windows and kept sub-joins at the end."""
    held_bytes: int = total()


@dataclass(slots=True)
class PlanForecast(Counts):
    """What is expected of the next report of a plan, in the units of `PlanCounts`."""

    ns: float = total(key="expected_ns")
    results: float = total(key="expected_results")
    rows: float = total(key="expected_rows")
    """Held rows."""
    bytes: float = total(key="expected_bytes")
