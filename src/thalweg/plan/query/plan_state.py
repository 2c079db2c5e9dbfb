"""The identity of the state that a plan keeps between micro-batches, as stored in a checkpoint.

There are three separate identities. The *question* (`Query.question`) is what the query asks: a checkpoint of another
question is refused. The *state* is how this plan stores rows: parts that another plan of the same question may choose
freely (`spread_by`, `buckets`) are taken from the checkpoint, as are the places of conditions that cost chooses
(`QueryPlan.filter_places`), and the others must be equal. Both identities are the same in every process. The
*fingerprint* of a node (`node_fingerprint`) is used for sharing within one session and is never written. The first
order in which windows are probed is part of none of them.

Only a window join stores rows itself; what Spark's own aggregates keep follows from the question.

A part is a field. The default of a new field describes what plans did before the field existed: a checkpoint without
the part is read as this default.

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
from thalweg.plan.expressions.expression import refs, text_of
from thalweg.plan.query.nodes import SourceColumn, WindowJoin, sources_of
from thalweg.plan.query.query_plan import Branch, QueryPlan

ByStream = tuple[tuple[str, tuple[str, ...]], ...]
"""Texts, by the alias of a stream."""


@dataclass(frozen=True)
class PlanState:
    """The state of one plan. Texts are canonical: they come from expressions, not from what the user wrote."""

    graph: tuple[str, ...] = ()
    """The equalities of columns by which rows are joined, or of the expressions that compute these columns."""
    windows: tuple[tuple[str, str], ...] = ()
    """The windows of streams, by alias."""
    stored: ByStream = ()
    """The columns that windows store, with their types, except those that the graph compares."""
    conditions: ByStream = ()
    """The conditions that are evaluated before rows are stored."""
    spread_by: tuple[SourceColumn, ...] = ()
    """The columns of the class that spreads rows over buckets. Taken from the checkpoint."""
    buckets: int | None = None
    """The number of buckets. Taken from the checkpoint."""

    @classmethod
    def of(cls, plan: QueryPlan, buckets: int | None = None) -> PlanState:
        """Return the state of a plan whose join has this number of buckets."""
        join = plan.join
        if not isinstance(join, WindowJoin):
            return cls()
        branches = [branch for branch in map(Branch.of, join.inputs) if branch.source.relation.is_stream]
        computed = {(b.alias, name): text_of(e) for b in map(Branch.of, join.inputs) for name, e in b.computed}

        def side(key: SourceColumn) -> str:
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
        """The parts of the state by name, as plain values for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, parts: Mapping[str, Any]) -> PlanState:
        """Return the state that `parts` describes. Parts that this version does not know are refused."""
        names = {field.name for field in fields(cls)}
        if unknown := sorted(set(parts) - names):
            raise CheckpointError(
                f"its state has parts that this version does not know ({', '.join(unknown)}): a later version of "
                "Thalweg wrote it; start the query with that version"
            )
        return cls(**{name: _frozen(value) for name, value in parts.items()})

    def differences(self, now: PlanState) -> Iterator[str]:
        """Yield a sentence for each part that keeps a plan from continuing from this state."""
        if self.graph != now.graph:
            yield f"it joined by {_listed(self.graph)}; the plan now joins by {_listed(now.graph)}"
        if self.windows != now.windows:
            yield f"its windows were {_windows(self.windows)}; they are now {_windows(now.windows)}"
        for alias, then, present in _changed(self.stored, now.stored):
            yield f"its windows stored {_listed(then)} of {alias}; the plan now stores {_listed(present)}"
        for alias, then, present in _changed(self.conditions, now.conditions):
            yield f"it stored {_rows(alias, then)}; the plan now stores {_rows(alias, present)}"


def _rows(alias: str, conditions: tuple[str, ...]) -> str:
    return f"only rows of {alias} with {' AND '.join(conditions)}" if conditions else f"all rows of {alias}"


def _stored(branch: Branch, join: WindowJoin) -> tuple[str, ...]:
    """Return the columns that nodes above the join and conditions on joined rows read, in the order of the schema."""
    read = {column for alias, column in join.keeps if alias == branch.alias}
    read |= {ref.column for c in join.residuals for ref in refs(c.expression) if ref.alias == branch.alias}
    return tuple(f"{field.name} {field.type}" for field in branch.node.schema if field.name in read)


def _conditions(branch: Branch) -> tuple[str, ...]:
    """Return the conditions in the written order, regardless of the first order."""
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
    """Turn the lists that JSON gives back into tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
