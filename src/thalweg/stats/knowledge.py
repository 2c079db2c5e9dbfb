"""What is known about relations, joins and predicates: one estimate per question, or None.

Answers: `about(question)`. A question is one of the small records below.
Guarantee: a Knowledge object never changes; `with_estimate` and `merged` return a new one. If two of them answer the
same question, `merged` keeps the answer of the stronger origin, of the same origin the newer one, and of the same age
that of its argument. An answer of unknown age counts as older than any other. The order in which several are merged
therefore matters only for equally good answers. `pooled` combines both answers instead, weighted by their variances,
and `faded` lets old answers count for less: `known.faded(now).pooled(counted)` is what is known after a round.

The partners of a join belong to a directed edge: the number of rows of b that one row of a finds has little to do with
the number of rows of a that one row of b finds, nor with the rows of b that a row of another stream finds by another
column.

>>> known = Knowledge.declared("tcp", rows_per_second=20, distinct={"host": 5})
>>> known.about(DistinctValues("tcp", "host"))
Estimate(value=5.0, origin='declared', variance=None, low=1.0, high=inf, as_of=None)
>>> known = known.with_estimate(Partners(("t", "host"), ("u", "host")), Estimate(30, "counted", 0, low=0, as_of=8))
>>> known.about(Partners(("u", "host"), ("t", "host"))) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from thalweg.plan.estimate import LIFETIME_S, Estimate
from thalweg.plan.joins.limits import Limits
from thalweg.plan.query.relation import UserFunction


@dataclass(frozen=True)
class RowsPerSecond:
    """The rate of a stream, by the name it is registered with."""

    relation: str


@dataclass(frozen=True)
class Rows:
    """The number of rows of a table, by the name it is registered with."""

    relation: str


@dataclass(frozen=True)
class DistinctValues:
    """The number of different values in a column of a relation."""

    relation: str
    column: str


@dataclass(frozen=True)
class Partners:
    """The number of rows in the window of one source that one row of another finds, by columns that must be equal.

    Both are (alias, column): a window belongs to a source of a query, and one relation may be several of them. Rows
    that filters of `among` drop are not in its window. A column is the first one of its source in the class of equal
    columns. If several columns of the two must be equal, the least of their numbers counts.
    """

    of: tuple[str, str]
    among: tuple[str, str]


@dataclass(frozen=True)
class ShareKept:
    """The share of rows that a predicate keeps, by its name; in SQL, by its text."""

    predicate: str


@dataclass(frozen=True)
class SourceKept:
    """The share of the rows of one source of a query that its own filters keep, all of them together, by its alias."""

    source: str


@dataclass(frozen=True)
class BytesPerRow:
    """The memory of a row in the window of a source, with its part of the hash indexes, by the alias of the source."""

    source: str


@dataclass(frozen=True)
class BatchTime:
    """The time of a micro-batch in seconds: what it takes whatever its size is, and what each row adds."""

    part: Literal["fixed", "per row"]


@dataclass(frozen=True)
class CostUs:
    """The cost of a predicate or a function per row, in microseconds, by its name."""

    predicate: str


Question: TypeAlias = (
    RowsPerSecond | Rows | DistinctValues | Partners | ShareKept | SourceKept | BytesPerRow | BatchTime | CostUs
)


@dataclass(frozen=True)
class Knowledge:
    """Immutable estimates, looked up by question, and the limits of the place where a query will run."""

    facts: Mapping[Question, Estimate] = field(default_factory=dict)
    limits: Limits | None = None
    """The limits of a join; None: they are not known yet."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", dict(self.facts))  # the caller may change the original

    @classmethod
    def declared(
        cls,
        relation: str,
        rows_per_second: float | None = None,
        rows: float | None = None,
        distinct: Mapping[str, float] | None = None,
    ) -> Knowledge:
        """Return what a user declares about a relation, without a variance or a time."""
        facts: dict[Question, Estimate] = {}
        if rows_per_second is not None:
            facts[RowsPerSecond(relation)] = Estimate(rows_per_second, "declared", low=0)
        if rows is not None:
            facts[Rows(relation)] = Estimate(rows, "declared", low=0)
        for column, values in (distinct or {}).items():
            facts[DistinctValues(relation, column)] = Estimate(values, "declared", low=1)
        return cls(facts)

    @classmethod
    def declared_costs(cls, functions: Iterable[UserFunction]) -> Knowledge:
        """Return what a user declares about the costs of functions."""
        return cls({CostUs(f.name): Estimate(f.cost_us, "declared", low=0) for f in functions if f.cost_us is not None})

    def about(self, question: Question) -> Estimate | None:
        """Return the answer to a question; None if unknown."""
        return self.facts.get(question)

    def with_estimate(self, question: Question, estimate: Estimate) -> Knowledge:
        """Return a copy with this answer, whatever was known before."""
        return replace(self, facts={**self.facts, question: estimate})

    def merged(self, other: Knowledge) -> Knowledge:
        """Return everything that either of the two knows."""
        facts = dict(self.facts)
        for question, estimate in other.facts.items():
            mine = facts.get(question)
            if mine is None or not mine.is_better_than(estimate):
                facts[question] = estimate
        return replace(self, facts=facts)

    def updated(self, other: Knowledge) -> Knowledge:
        """Return everything that either of the two knows. If both answer a question, the answer of `other` is kept,
        whatever its origin."""
        return replace(self, facts={**self.facts, **other.facts})

    def pooled(self, other: Knowledge) -> Knowledge:
        """Return everything that either of the two knows, which must be independent of each other. If both answer a
        question, the answers are weighted by the inverse of their variances (`Estimate.pooled`)."""
        facts = dict(self.facts)
        for question, estimate in other.facts.items():
            facts[question] = facts[question].pooled(estimate) if question in facts else estimate
        return replace(self, facts=facts)

    def faded(self, now: float, lifetime: float = LIFETIME_S) -> Knowledge:
        """Return the same for a later time: variances grow with age (`Estimate.faded`). `now` is in seconds."""
        return replace(self, facts={q: estimate.faded(now, lifetime) for q, estimate in self.facts.items()})


NOTHING_KNOWN = Knowledge()
