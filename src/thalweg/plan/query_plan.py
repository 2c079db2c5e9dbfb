"""How a query will run, before an engine is chosen: what is read, filtered where, joined how, grouped and put out.

A plan is a tree with one shape: scans, each with filters and computed columns; a join of several; filters over joined
rows; groups; outputs. Rules (`optimizer`) make new plans of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from thalweg.plan.expression import Aggregate, Bound, Call, Expression, Ref, UserCall, refs, structure
from thalweg.plan.group_spec import key_name, result_name
from thalweg.plan.query import Condition, Output, Query, Source

Key = tuple[str, str]
"""alias, column."""


@dataclass(frozen=True)
class Scan:
    """A source: the columns that are read, what its rows must fulfil, what is computed of them for the join."""

    source: Source
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    computed: tuple[tuple[str, Expression], ...] = ()
    """Name and expression of what another stream is compared with."""

    @property
    def alias(self) -> str:
        """Of the source."""
        return self.source.alias


@dataclass(frozen=True)
class Equality:
    """Two columns, of two sources, that must be equal."""

    one: Key
    other: Key
    text: str


@dataclass(frozen=True)
class JoinStep:
    """All sources joined at once."""

    equalities: tuple[Equality, ...]
    residuals: tuple[Condition, ...] = ()
    """Checked where rows are put together."""
    order: tuple[str, ...] = ()
    """Sources in the order that is tried first."""
    why: str = "as written, since nothing is known"
    operator: str = "adaptive"
    """Who joins: "adaptive", or "spark": Spark's own join."""


@dataclass(frozen=True)
class QueryPlan:
    """See above. `conditions` are over joined rows, or, of a plan that no rule has seen, all there are."""

    query: Query
    scans: tuple[Scan, ...]
    join: JoinStep | None = None
    conditions: tuple[Condition, ...] = ()
    notes: tuple[str, ...] = ()
    """What rules did that a reader may wonder about."""
    estimates: Mapping[str, str] = field(default_factory=dict)
    """What is thought of a part, with its origin, by the part's name."""
    engine: str = "local"
    """Or "spark"."""
    policy: str = "auto"

    @classmethod
    def of(cls, query: Query, engine: str = "local", policy: str = "auto") -> QueryPlan:
        """As it is written."""
        scans = tuple(Scan(source) for source in query.sources)
        return cls(query, scans, None, query.conditions, engine=engine, policy=policy)

    def noting(self, *sentences: str) -> QueryPlan:
        """With more to tell."""
        return replace(self, notes=(*self.notes, *sentences))

    def scan(self, alias: str) -> Scan:
        """By its alias."""
        return next(scan for scan in self.scans if scan.alias == alias)

    def with_scan(self, scan: Scan) -> QueryPlan:
        """In place of the one of its alias."""
        return replace(self, scans=tuple(scan if s.alias == scan.alias else s for s in self.scans))

    @property
    def behind(self) -> tuple[Expression, ...]:
        """Expressions that are evaluated behind the join: filters, groups, outputs."""
        grouping = self.query.grouping
        made = [condition.expression for condition in self.conditions]
        if grouping is None:
            return (*made, *(output.expression for output in self.query.outputs))
        arguments = [a.argument for a in grouping.aggregates if a.argument is not None]
        return (*made, *grouping.keys, *arguments)

    @property
    def fingerprint(self) -> str:
        """Of what holds state: another plan cannot go on from its checkpoint."""
        join = self.join
        held = {
            "query": self.query.fingerprint,
            "scans": [
                [
                    scan.alias,
                    [structure(c.expression) for c in sorted(scan.conditions, key=lambda c: c.place)],
                    [n for n, _ in scan.computed],
                ]
                for scan in self.scans
            ],
            "join": join and [[list(e.one), list(e.other)] for e in join.equalities],
        }
        return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def column_of(ref: Ref, joined: bool) -> str:
    """Its name in rows: of one source as it is, of joined ones with the source's name."""
    return f"{ref.alias}_{ref.column}" if joined and ref.alias else ref.column


def of_groups(expression: Expression, plan: QueryPlan) -> Expression:
    """An output or HAVING in terms of the columns that groups have."""
    grouping = plan.query.grouping
    assert grouping is not None
    if expression in grouping.keys:
        return Ref("", key_name(grouping.keys.index(expression)), expression.type)
    if isinstance(expression, Aggregate):
        return Ref("", result_name(grouping.aggregates.index(expression)), expression.type)
    if isinstance(expression, Bound):
        return Ref("", expression.name, expression.type)
    if not isinstance(expression, Call | UserCall):
        return expression
    return replace(expression, arguments=tuple(of_groups(part, plan) for part in expression.arguments))


def group_outputs(plan: QueryPlan) -> tuple[Output, ...]:
    """Over the columns that groups have."""
    return tuple(Output(o.name, of_groups(o.expression, plan)) for o in plan.query.outputs)


def needed(expressions: tuple[Expression, ...], alias: str) -> tuple[str, ...]:
    """Columns of a source, each once."""
    return tuple(dict.fromkeys(ref.column for e in expressions for ref in refs(e) if ref.alias == alias))
