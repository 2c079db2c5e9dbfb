"""Find parts of queries that do the same work: nodes with the same fingerprint give the same rows, under any names.

Answers: can the rows of one node be used instead of those of another, within one session?
How: relations and functions are identified by their registration, so two closures of one factory differ, and so does
anything that is registered again under the same name. Aliases do not count, nor does anything that changes no row: the
first order, who evaluates a condition, and how it is spelled. Conditions that cannot raise count as a set; a condition
that can raise counts together with those written before it, because they decide on which rows it may raise.
Guarantee: equal fingerprints, equal rows. Different ones prove nothing: `a > 1 AND a > 2` is not compared with `a > 2`.
It holds within one process and is never written to a checkpoint.

>>> import pyarrow as pa
>>> from thalweg.plan.query.query import QuerySource
>>> from thalweg.plan.query.relation import Relation
>>> stock = Relation("stock", pa.schema({"price": pa.int64()}), registration=1)
>>> one, other = (Scan(QuerySource(alias, stock), ("price",)) for alias in ("s", "t"))
>>> fingerprint(one, {}) == fingerprint(other, {})
True
>>> again = Scan(QuerySource("s", Relation("stock", stock.schema, registration=2)), ("price",))
>>> fingerprint(one, {}) == fingerprint(again, {})
False
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from thalweg.plan.expressions.expression import Call, Expression, Ref, UserCall, rewritten, structure
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Node,
    Output,
    Product,
    Scan,
    TableJoin,
    WindowJoin,
    sources_of,
)
from thalweg.plan.query.query import Condition
from thalweg.plan.query.relation import UserFunction


def fingerprint(node: Node, functions: Mapping[str, UserFunction], *, sets_aside: bool = False) -> str:
    """Return the fingerprint of the rows that a node gives. `functions`: those of the query, by name in lower case.
    `sets_aside`: that of its plan; if a row fails the query, there are no rows."""
    names = {source.alias: f"source {n}" for n, source in enumerate(sources_of(node))}
    shape = [sets_aside, _Shape(names, functions).of(node)]
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


class _Shape:
    """A node as nested lists of plain values."""

    def __init__(self, names: Mapping[str, str], functions: Mapping[str, UserFunction]) -> None:
        self._names, self._functions = names, functions

    def of(self, node: Node) -> list[Any]:
        inputs = [self.of(child) for child in node.inputs]
        return [type(node).__name__, inputs, *self._details(node)]

    def _details(self, node: Node) -> list[Any]:
        match node:
            case Scan():
                source, relation = node.source, node.source.relation
                kept = [str(source.window), relation.time, relation.lateness_us, node.judges_lateness]
                return [relation.registration, list(node.columns), *kept]
            case Filter():
                return [bool(node.errors), *self._conditions(node.conditions)]
            case Fail():
                return [self._key(key) for key in node.columns]
            case Compute() | Output():
                return [[name, self._expression(expression)] for name, expression in node.columns]
            case Product():
                return []
            case WindowJoin() | TableJoin():
                equalities = [sorted([self._key(e.one), self._key(e.other)]) for e in node.equalities]
                keeps = [self._key(key) for key in node.keeps]
                return [sorted(equalities), keeps, *self._conditions(node.residuals)]
            case Aggregate():
                grouping = node.grouping
                keys = [self._expression(key) for key in grouping.keys]
                return [str(grouping.window), keys, [self._expression(each) for each in grouping.aggregates]]

    def _conditions(self, conditions: tuple[Condition, ...]) -> list[Any]:
        """Return the conditions that cannot raise as a set, then each that can raise with those before it."""
        texts = {c.place: json.dumps(self._expression(c.expression)) for c in conditions}
        raising = sorted(c.place for c in conditions if can_raise(c.expression))
        safe = {text for place, text in texts.items() if place not in raising}
        return [sorted(safe), [[texts[at], sorted(texts[p] for p in texts if p < at)] for at in raising]]

    def _key(self, key: tuple[str, str]) -> list[str]:
        return [self._names.get(key[0], ""), key[1]]

    def _expression(self, expression: Expression) -> Any:
        return structure(rewritten(expression, self._anonymous))

    def _anonymous(self, part: Expression) -> Expression:
        """Replace the names of sources by their position, and those of functions by their registration."""
        if isinstance(part, Ref) and part.alias:
            return Ref(self._names[part.alias], part.column, part.type)
        if isinstance(part, UserCall):
            function = self._functions[part.function.lower()]
            return Call(f"function {function.registration}", part.arguments, part.type)
        return part
