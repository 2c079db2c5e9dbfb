"""The filter chain as the demo shows it: the counts of the latest micro-batch, not the sums over all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg.plan import Predicate
from thalweg.report import Section, SwitchReport

REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class Link:
    """One predicate of the chain, in the latest micro-batch."""

    name: str
    kind: str
    written: int
    """Its position in the order as written, starting at 1."""
    cost_ns: float | None = None
    passes: float | None = None
    """The share that passes of the rows that reached it; None if no row did."""
    reached: float | None = None
    """The share of the rows of the micro-batch on which it was evaluated; None if nothing has run yet."""


@dataclass(slots=True)
class ChainState:
    """The chain of one running query, updated from its report."""

    links: list[Link]
    """The predicates in the current order."""
    section: Section | None = None
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The latest switches, oldest first."""
    workers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, predicates: Sequence[Predicate]) -> ChainState:
        """Return the chain before anything has run, in the order as written."""
        return cls([Link(p.name, _kind(p), n) for n, p in enumerate(predicates, start=1)])

    def take(self, section: Section) -> None:
        """Update the chain from a newer report."""
        old = self.section
        n = len(section.names)
        was_evaluated, was_passed = (old.chain.evaluated, old.chain.passed) if old else ([0] * n, [0] * n)
        rows = section.rows - (old.rows if old else 0)
        by_name = {link.name: link for link in self.links}
        links = []
        for name in section.order:
            k = section.names.index(name)
            evaluated = section.chain.evaluated[k] - was_evaluated[k]
            passes = (section.chain.passed[k] - was_passed[k]) / evaluated if evaluated else None
            link = by_name[name]
            links.append(
                Link(name, link.kind, link.written, section.calls.cost_ns[k], passes, evaluated / rows if rows else 0.0)
            )
        new = section.switch_count - (old.switch_count if old else 0)
        if new:
            self.switches.extend(list(section.switches)[-new:])
        self.links = links
        self.section = section

    def worker_number(self, worker: str) -> int:
        """Return a number for a worker, which is shorter than host and process. Workers are numbered as they appear."""
        if worker not in self.workers:
            self.workers.append(worker)
        return self.workers.index(worker) + 1


def _kind(predicate: Predicate) -> str:
    kind = "Arrow" if predicate.vectorized else "Python"
    if predicate.after:
        kind += f", after {', '.join(predicate.after)}"
    if predicate.setup is not None:
        kind += ", with setup"
    if not predicate.profile:
        kind += ", paid: never profiled"
    return kind
