"""What is known about relations, joins and predicates: one estimate per question, or None.

Answers: `about(question)`. A question is one of the small records below.
Guarantee: a Knowledge object never changes; `with_estimate` and `merged` return a new one. If two of them answer the
same question, `merged` keeps the answer of the stronger origin, of the same origin the newer one, and of the same age
that of its argument. An answer of unknown age counts as older than any other. The order in which several are merged
therefore matters only for equally good answers.

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
from dataclasses import dataclass, field
from typing import TypeAlias

from thalweg.plan.estimate import ORIGINS, Estimate
from thalweg.plan.relation import UserFunction


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
    that filters of `among` drop are not in its window.
    """

    of: tuple[str, str]
    among: tuple[str, str]


@dataclass(frozen=True)
class ShareKept:
    """The share of rows that a predicate keeps, by its name; in SQL, by its text."""

    predicate: str


@dataclass(frozen=True)
class CostUs:
    """The cost of a predicate or a function per row, in microseconds, by its name."""

    predicate: str


Question: TypeAlias = RowsPerSecond | Rows | DistinctValues | Partners | ShareKept | CostUs


@dataclass(frozen=True)
class Knowledge:
    """Immutable estimates, looked up by question."""

    facts: Mapping[Question, Estimate] = field(default_factory=dict)

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
        return Knowledge({**self.facts, question: estimate})

    def merged(self, other: Knowledge) -> Knowledge:
        """Return everything that either of the two knows."""
        facts = dict(self.facts)
        for question, estimate in other.facts.items():
            mine = facts.get(question)
            if mine is None or not _is_better(mine, estimate):
                facts[question] = estimate
        return Knowledge(facts)


NOTHING_KNOWN = Knowledge()


def _is_better(one: Estimate, other: Estimate) -> bool:
    if one.origin != other.origin:
        return ORIGINS.index(one.origin) < ORIGINS.index(other.origin)
    return one.as_of is not None and (other.as_of is None or one.as_of > other.as_of)
