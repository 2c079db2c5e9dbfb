"""The plans of a join while it ran: which plan each worker uses, when and why it changed, and what was expected."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any

from thalweg.events import PlanObserved
from thalweg.events.parts import ChartCounts, PlanCounts, PlanForecast
from thalweg.formatting import byte_size, few_digits, in_seconds, percent, plural
from thalweg.report.chart_sentence import chart_sentence

LATEST_CHANGES = 20
"""The number of changes of the plan that are kept; earlier ones are counted."""
LATEST_BATCHES = 20
"""The number of micro-batches, or of reports of a local pass, for which expected and counted numbers are kept."""
LATEST_ROUNDS = 200
"""The number of micro-batches, or of reports of a local pass, whose rates are kept."""
LATEST_PROGRESS = 500
"""The number of reports whose results are kept one by one."""


@dataclass(frozen=True, slots=True)
class PlanChangeReport:
    """A change of the plan in one worker."""

    batch: int | None
    worker: str
    before: str
    after: str
    reason: str


@dataclass(slots=True)
class BatchForecast:
    """What was expected of one micro-batch, or of the time between two reports, and what was counted, over all workers
    that expected something."""

    batch: int | None
    expected: PlanForecast = field(default_factory=PlanForecast)
    counted: PlanCounts = field(default_factory=PlanCounts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"batch": self.batch, **self.expected.to_dict(), **self.counted.to_dict()}


@dataclass(slots=True)
class Progress:
    """The results of one micro-batch, or of the time between two reports, and the event time that had passed then."""

    batch: int | None
    elapsed: float
    results: int


@dataclass(slots=True)
class RoundRates:
    """The estimated rates of the streams after one micro-batch, after a run over finished DataFrames, or after one
    report of a local pass. Each bucket estimates the rates of whole streams from its own rows, so their mean is what
    all buckets have counted together."""

    batch: int | None
    kind: str
    """`stream`, `batch` or `local`, as in the record."""
    rates: tuple[float, ...]
    buckets: int = 1
    """The number of buckets that this is the mean of."""

    def take_in(self, later: RoundRates) -> None:
        """Add what other buckets estimated at the same time."""
        both = self.buckets + later.buckets
        pairs = zip(self.rates, later.rates, strict=True)
        self.rates = tuple((one * self.buckets + other * later.buckets) / both for one, other in pairs)
        self.buckets = both


@dataclass(slots=True)
class PlanHistory:
    """The plans of one run."""

    plans: dict[str, str] = field(default_factory=dict)
    """The plan of each worker now."""
    changes: deque[PlanChangeReport] = field(default_factory=lambda: deque(maxlen=LATEST_CHANGES))
    all_changes: int = 0
    forecasts: deque[BatchForecast] = field(default_factory=lambda: deque(maxlen=LATEST_BATCHES))
    progress: deque[Progress] = field(default_factory=lambda: deque(maxlen=LATEST_PROGRESS))
    results_before: int = 0
    """The results of micro-batches that are no longer in `progress`."""
    bytes_held: dict[str, int] = field(default_factory=dict)
    """The most bytes that the windows and kept sub-joins of each worker had at the end of a report."""

    chart: ChartCounts = field(default_factory=ChartCounts)
    standing: str = ""
    """Why plans are looked up in a chart although the policy is another one; empty if they are not."""
    rates: deque[RoundRates] = field(default_factory=lambda: deque(maxlen=LATEST_ROUNDS))
    """The estimated rates of the streams, round by round."""

    def add(self, record: PlanObserved) -> None:
        """Add a record of a worker to the plans, changes and forecasts."""
        batch, worker = record.origin.batch, record.origin.worker
        if record.origin.policy == "chart":
            self.chart.add(record.chart)
        self.standing = record.standing or self.standing
        if record.rates:
            self._end_round(RoundRates(batch, record.origin.kind, record.rates))
        self.plans[worker] = record.next_plan or record.plan
        self.bytes_held[worker] = max(record.counted.held_bytes, self.bytes_held.get(worker, 0))
        if record.next_plan:
            self.all_changes += 1
            self.changes.append(PlanChangeReport(batch, worker, record.plan, record.next_plan, record.reason))
        if record.elapsed is not None:
            self._advance(Progress(batch, record.elapsed, record.counted.results))
        if record.expected is not None:
            if not self.forecasts or batch is None or self.forecasts[-1].batch != batch:
                self.forecasts.append(BatchForecast(batch))
            self.forecasts[-1].expected.add(record.expected)
            self.forecasts[-1].counted.add(record.counted)

    def _end_round(self, one: RoundRates) -> None:
        last = self.rates[-1] if self.rates else None
        # each bucket reports once in a micro-batch, and once in a run over finished DataFrames
        if last is not None and one.kind != "local" and last.batch == one.batch:
            last.take_in(one)
        else:
            self.rates.append(one)

    def _advance(self, one: Progress) -> None:
        last = self.progress[-1] if self.progress else None
        if last is not None and one.batch is not None and last.batch == one.batch:
            last.elapsed, last.results = max(last.elapsed, one.elapsed), last.results + one.results
            return
        if len(self.progress) == LATEST_PROGRESS:
            self.results_before += self.progress[0].results
        self.progress.append(one)

    def measured(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Return the event time that had passed after each report, and the results until then; None if unknown."""
        if not self.progress:
            return None
        times = tuple(accumulate((one.elapsed for one in self.progress), max))
        results = tuple(accumulate((float(one.results) for one in self.progress), initial=float(self.results_before)))
        return times, results[1:]

    def take_in(self, later: PlanHistory) -> None:
        """Add what a later part of the same run holds."""
        self.results_before += later.results_before
        for one in later.progress:
            self._advance(Progress(one.batch, one.elapsed, one.results))
        self.plans |= later.plans
        self.changes.extend(later.changes)
        self.all_changes += later.all_changes
        self.forecasts.extend(later.forecasts)
        self.chart.add(later.chart)
        self.standing = later.standing or self.standing
        for each in later.rates:
            self._end_round(replace(each))  # a copy, since others may be added to it
        for worker, size in later.bytes_held.items():
            self.bytes_held[worker] = max(size, self.bytes_held.get(worker, 0))

    @property
    def plan(self) -> str:
        """The plan that most workers use now; empty if it was not watched."""
        return Counter(self.plans.values()).most_common(1)[0][0] if self.plans else ""

    @property
    def most_bytes(self) -> int:
        """The most bytes that windows and kept sub-joins had, as the sum over the workers."""
        return sum(self.bytes_held.values())

    def sentences(self, kind: str) -> Iterator[str]:
        """Yield sentences for a report of a run of this kind. The reports of a local pass differ in length, so only
        those of streams are compared with what was expected."""
        if not self.plans:
            return
        others = Counter(plan for plan in self.plans.values() if plan != self.plan)
        more = "".join(f", {plan} in {plural(count, 'bucket')}" for plan, count in others.items())
        if self.all_changes or self.plan != "multiway":
            yield f"plan: {self.plan}{more}; changed {plural(self.all_changes, 'time')}"
        if self.chart.rounds:
            yield chart_sentence(self.chart)
        if self.standing:
            yield self.standing
        if self.forecasts and kind == "stream":
            yield "; ".join(_compared(self.forecasts[-1]))

    def change_lines(self) -> list[str]:
        """Return one line per change of the plan."""
        return [
            f"{'' if change.batch is None else f'batch {change.batch}, '}{change.worker}: plan {change.before} changed "
            f"to {change.after}: {change.reason}"
            for change in self.changes
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain values, ready for JSON."""
        return {
            "plan": self.plan, "plans": dict(self.plans), "changes": self.all_changes,
            "latest_changes": [asdict(change) for change in self.changes],
            "forecasts": [forecast.to_dict() for forecast in self.forecasts],
            **({"chart": self.chart.to_dict()} if self.chart.rounds else {}),
        }  # fmt: skip


def _compared(one: BatchForecast) -> Iterator[str]:
    """Yield what was expected of the last report, beside what was counted."""
    expected, counted = one.expected, one.counted
    yield f"expected of the last micro-batch: {in_seconds(int(expected.ns))}, counted {in_seconds(counted.work_ns)}"
    yield f"results {few_digits(expected.results)}, counted {counted.results:,}"
    off = f" ({percent(counted.held_rows / expected.rows)})" if expected.rows else ""
    yield f"held rows {few_digits(expected.rows)}, counted {counted.held_rows:,}{off}"
    yield f"memory {byte_size(round(expected.bytes))}, counted {byte_size(counted.held_bytes)}"
