"""The plans of a join while it ran: which plan each worker uses, when and why it changed, and what was expected."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg.events import PlanObserved
from thalweg.formatting import byte_size, few_digits, in_seconds, percent, plural

LATEST_CHANGES = 20
"""The number of changes of the plan that are kept; earlier ones are counted."""
LATEST_BATCHES = 20
"""The number of micro-batches, or of reports of a local pass, for which expected and counted numbers are kept."""
COMPARED = (
    ("expected_ns", "work_ns"), ("expected_results", "results"), ("expected_rows", "held_rows"),
    ("expected_bytes", "held_bytes"),
)  # fmt: skip


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
    expected_ns: float = 0.0
    work_ns: int = 0
    expected_results: float = 0.0
    results: int = 0
    expected_rows: float = 0.0
    held_rows: int = 0
    expected_bytes: float = 0.0
    held_bytes: int = 0


@dataclass(slots=True)
class PlanHistory:
    """The plans of one run."""

    plans: dict[str, str] = field(default_factory=dict)
    """The plan of each worker now."""
    changes: deque[PlanChangeReport] = field(default_factory=lambda: deque(maxlen=LATEST_CHANGES))
    all_changes: int = 0
    forecasts: deque[BatchForecast] = field(default_factory=lambda: deque(maxlen=LATEST_BATCHES))
    bytes_held: dict[str, int] = field(default_factory=dict)
    """The most bytes that the windows and kept sub-joins of each worker had at the end of a report."""

    def add(self, record: PlanObserved) -> None:
        """Add the plan of one worker between two of its reports."""
        self.plans[record.worker] = record.next_plan or record.plan
        self.bytes_held[record.worker] = max(record.held_bytes, self.bytes_held.get(record.worker, 0))
        if record.next_plan:
            self.all_changes += 1
            self.changes.append(
                PlanChangeReport(record.batch, record.worker, record.plan, record.next_plan, record.reason)
            )
        if record.expected_ns is not None:
            if not self.forecasts or record.batch is None or self.forecasts[-1].batch != record.batch:
                self.forecasts.append(BatchForecast(record.batch))
            one = self.forecasts[-1]
            for expected, counted in COMPARED:
                setattr(one, expected, getattr(one, expected) + (getattr(record, expected) or 0.0))
                setattr(one, counted, getattr(one, counted) + getattr(record, counted))

    def take_in(self, later: PlanHistory) -> None:
        """Add what a later part of the same run holds."""
        self.plans |= later.plans
        self.changes.extend(later.changes)
        self.all_changes += later.all_changes
        self.forecasts.extend(later.forecasts)
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
            "forecasts": [asdict(forecast) for forecast in self.forecasts],
        }  # fmt: skip


def _compared(one: BatchForecast) -> Iterator[str]:
    """Yield what was expected of the last report, beside what was counted."""
    yield f"expected of the last micro-batch: {in_seconds(int(one.expected_ns))}, counted {in_seconds(one.work_ns)}"
    yield f"results {few_digits(one.expected_results)}, counted {one.results:,}"
    off = f" ({percent(one.held_rows / one.expected_rows)})" if one.expected_rows else ""
    yield f"held rows {few_digits(one.expected_rows)}, counted {one.held_rows:,}{off}"
    yield f"memory {byte_size(round(one.expected_bytes))}, counted {byte_size(one.held_bytes)}"
