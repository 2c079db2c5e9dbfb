"""The filter chain as the demo shows it: the latest micro-batch told apart from the sum over all of them."""

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
    """Where the user wrote it, from 1."""
    cost_ns: float | None = None
    passes: float | None = None
    """Share of the rows that reached it; None: none did."""
    reached: float | None = None
    """Share of the micro-batch's rows on which it was evaluated; None: nothing ran yet."""


@dataclass(slots=True)
class ChainState:
    """Follows the report of one running query."""

    links: list[Link]
    """In the current order."""
    section: Section | None = None
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The latest, oldest first."""
    workers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, predicates: Sequence[Predicate]) -> ChainState:
        """Before anything ran: as written."""
        return cls([Link(p.name, _kind(p), n) for n, p in enumerate(predicates, start=1)])

    def take(self, section: Section) -> None:
        """A report that is newer than the last."""
        old = self.section
        n = len(section.names)
        was_evaluated, was_passed = (old.evaluated, old.passed) if old else ([0] * n, [0] * n)
        rows = section.rows - (old.rows if old else 0)
        by_name = {link.name: link for link in self.links}
        links = []
        for name in section.order:
            k = section.names.index(name)
            evaluated = section.evaluated[k] - was_evaluated[k]
            passes = (section.passed[k] - was_passed[k]) / evaluated if evaluated else None
            link = by_name[name]
            links.append(
                Link(name, link.kind, link.written, section.cost_ns[k], passes, evaluated / rows if rows else 0.0)
            )
        new = section.switch_count - (old.switch_count if old else 0)
        if new:
            self.switches.extend(list(section.switches)[-new:])
        self.links = links
        self.section = section

    def worker_number(self, worker: str) -> int:
        """Workers by when they were first seen, from 1: shorter than host and process."""
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
