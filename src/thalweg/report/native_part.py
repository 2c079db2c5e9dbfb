"""The native predicates of a run in a report: their order and its reason, kinds, and results on sampled rows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from thalweg.events import NativeObserved
from thalweg.events.parts import NativeCounts
from thalweg.formatting import tenths_of_percent, whole_number

LATEST_REORDERS = 20


@dataclass(frozen=True, slots=True)
class NativeReport:
    """The counts of one native predicate in one run."""

    name: str
    position: int
    """Its position in the order of the run, starting at 1."""
    kind: str
    """The most expensive kind of expression in it."""
    cost: float
    """A weight that depends on the kind; a comparison has 1."""
    sampled: int
    """Sampled rows it was evaluated on; 0 if a data source may evaluate it, because rows are sampled after that."""
    passed: int

    @property
    def selectivity(self) -> float | None:
        """The share of the sampled rows that pass; None if no row was sampled."""
        return self.passed / self.sampled if self.sampled else None


@dataclass(slots=True)
class NativePart:
    """The native predicates of one run, folded from its records."""

    names: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    costs: tuple[float, ...] = ()
    order: tuple[str, ...] = ()
    reason: str = ""
    counts: NativeCounts = field(default_factory=NativeCounts)
    reorders: deque[str] = field(default_factory=lambda: deque(maxlen=LATEST_REORDERS))

    def add(self, seen: NativeObserved) -> None:
        """Add a record of the same run."""
        if not self.order and seen.before != seen.order:  # a run keeps the order it started with
            self.reorders.append(f"{', '.join(seen.order)}: {seen.reason}")
        self._sum(seen)

    def take_in(self, later: NativePart) -> None:
        """Add what a later part of the same run holds."""
        if not self.order:
            self.reorders.extend(later.reorders)
        self._sum(later)

    def _sum(self, later: NativeObserved | NativePart) -> None:
        self.counts.add(later.counts)
        self.kinds, self.costs, self.order, self.reason = later.kinds, later.costs, later.order, later.reason

    @property
    def predicates(self) -> list[NativeReport]:
        """The predicates in the order in which they are evaluated."""
        return [
            NativeReport(name, place, self.kinds[k], self.costs[k], self.counts.tested[k], self.counts.passed[k])
            for place, (k, name) in enumerate(self._in_order(), start=1)
        ]

    def _in_order(self) -> list[tuple[int, str]]:
        """Return the predicates in their order, with their places as written."""
        return [(self.names.index(name), name) for name in self.order]

    def lines(self) -> list[str]:
        """Return lines of text for the report."""
        lines = []
        for p in self.predicates:
            share = (
                "not sampled"
                if p.selectivity is None
                else f"passes {tenths_of_percent(p.selectivity)} of {p.sampled:,} sampled"
            )
            lines.append(f"{p.position}. {p.name}: {p.kind}, cost {whole_number(p.cost)}, {share}")
        return [*lines, f"reason for this order: {self.reason}"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "order": list(self.order), "reason": self.reason,
            "predicates": [
                {
                    "name": p.name, "position": p.position, "kind": p.kind, "cost": p.cost,
                    **self.counts.of_name(k), "selectivity": p.selectivity,
                }
                for p, (k, _) in zip(self.predicates, self._in_order(), strict=True)
            ],
            "reorders": list(self.reorders),
        }  # fmt: skip
