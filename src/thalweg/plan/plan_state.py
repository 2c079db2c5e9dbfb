"""What a plan keeps between micro-batches: the identity of the state in a checkpoint.

Three identities are kept apart. The *question* (`Query.question`) is what is asked: a checkpoint of another question is
refused. The *state* is how this plan stores rows: parts that another plan of the same question may choose freely
(`spread_by`, `buckets`) are taken from the checkpoint, and the others must be equal. Both identities are the same in
every process. The *fingerprint* of a node (`node_fingerprint`) serves sharing within one session and is never written.
The order in which windows are probed first is part of none of them.

Only a window join stores rows itself; what Spark's own aggregates keep follows from the question.

A part is a field. A field that is added gets a default which says what plans did before it existed: that is what a
checkpoint without the part is read as.

>>> import json
>>> from dataclasses import replace
>>> began = PlanState(graph=("a.k = b.k",), conditions=(("a", ("a.x > 1",)), ("b", ())))
>>> now = replace(began, conditions=(("a", ()), ("b", ())), buckets=8)
>>> PlanState.read(json.loads(json.dumps(began.parts))) == began
True
>>> list(began.differences(now))
['it stored only rows of a with a.x > 1; the plan now stores all rows of a']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from thalweg.errors import CheckpointError
from thalweg.plan.expression import refs, text_of
from thalweg.plan.nodes import Key, WindowJoin, sources_of
from thalweg.plan.query_plan import Branch, QueryPlan

ByStream = tuple[tuple[str, tuple[str, ...]], ...]
"""Texts by alias."""


@dataclass(frozen=True)
class PlanState:
    """Of one plan. Texts are canonical: they come from expressions, not from what the user wrote."""

    graph: tuple[str, ...] = ()
    """Equalities of columns by which rows are joined, or of the expressions they are computed from."""
    windows: tuple[tuple[str, str], ...] = ()
    """By alias."""
    stored: ByStream = ()
    """Columns that windows hold, with their types, beyond those that the graph compares."""
    conditions: ByStream = ()
    """Those that are evaluated before rows are stored."""
    spread_by: tuple[Key, ...] = ()
    """Columns of the class that spreads rows over buckets. Taken from the checkpoint."""
    buckets: int | None = None
    """How many there are. Taken from the checkpoint."""

    @classmethod
    def of(cls, plan: QueryPlan, buckets: int | None = None) -> PlanState:
        """Of a plan that is joined in so many buckets."""
        join = plan.join
        if not isinstance(join, WindowJoin):
            return cls()
        branches = [branch for branch in map(Branch.of, join.inputs) if branch.source.relation.is_stream]
        computed = {(b.alias, name): text_of(e) for b in map(Branch.of, join.inputs) for name, e in b.computed}

        def side(key: Key) -> str:
            return computed.get(key, ".".join(key))

        return cls(
            tuple(f"{side(e.one)} = {side(e.other)}" for e in join.equalities),
            tuple((source.alias, str(source.window)) for source in sources_of(join) if source.relation.is_stream),
            tuple((branch.alias, _stored(branch, join)) for branch in branches),
            tuple((branch.alias, _conditions(branch)) for branch in branches),
            () if join.spread_by is None else join.spread_by.columns,
            buckets,
        )

    @property
    def parts(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, parts: Mapping[str, Any]) -> PlanState:
        """As `parts` wrote it. Refuses parts that this version does not know."""
        names = {field.name for field in fields(cls)}
        if unknown := sorted(set(parts) - names):
            raise CheckpointError(
                f"its state has parts that this version does not know ({', '.join(unknown)}): a later version of "
                "Thalweg began it; start the query with that version"
            )
        return cls(**{name: _frozen(value) for name, value in parts.items()})

    def differences(self, now: PlanState) -> Iterator[str]:
        """Sentences about the parts in which a plan cannot go on from this state."""
        if self.graph != now.graph:
            yield f"it joined by {_listed(self.graph)}, and now by {_listed(now.graph)}"
        if self.windows != now.windows:
            yield f"its windows were {_windows(self.windows)}, and now they are {_windows(now.windows)}"
        for alias, then, present in _changed(self.stored, now.stored):
            yield f"its windows held {_listed(then)} of {alias}; they would hold {_listed(present)} now"
        for alias, then, present in _changed(self.conditions, now.conditions):
            yield f"it stored {_rows(alias, then)}; the plan now stores {_rows(alias, present)}"


def _rows(alias: str, conditions: tuple[str, ...]) -> str:
    return f"only rows of {alias} with {' AND '.join(conditions)}" if conditions else f"all rows of {alias}"


def _stored(branch: Branch, join: WindowJoin) -> tuple[str, ...]:
    """What nodes above the join and conditions on joined rows read, in the order of the schema."""
    read = {column for alias, column in join.keeps if alias == branch.alias}
    read |= {ref.column for c in join.residuals for ref in refs(c.expression) if ref.alias == branch.alias}
    return tuple(f"{field.name} {field.type}" for field in branch.node.schema if field.name in read)


def _conditions(branch: Branch) -> tuple[str, ...]:
    """In the order they are written, whichever is tried first."""
    return tuple(text_of(c.expression) for c in sorted(branch.conditions, key=lambda c: c.place))


def _changed(then: ByStream, now: ByStream) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    old, new = dict(then), dict(now)
    for alias in dict.fromkeys([*old, *new]):
        if old.get(alias, ()) != new.get(alias, ()):
            yield alias, old.get(alias, ()), new.get(alias, ())


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(texts) or "nothing"


def _windows(windows: tuple[tuple[str, str], ...]) -> str:
    return _listed(tuple(f"{alias} {window}" for alias, window in windows))


def _frozen(value: Any) -> Any:
    """JSON has lists where there were tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
