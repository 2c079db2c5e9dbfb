"""Resolve the names in a query: sources by alias and columns by name, ignoring case. Errors suggest a similar name.

>>> find("ISROBOT", ["isRobot", "page"])
'isRobot'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.errors import nearest
from thalweg.plan.expressions.expression import Bound, Expression, Ref
from thalweg.plan.expressions.type_rules import plain_type
from thalweg.plan.query.query import WINDOW_END, WINDOW_START, QuerySource
from thalweg.plan.sql.source_text import SourceText

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode


def find(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that matches, in its own spelling, or None. If several names differ only in case, only an
    exact match counts."""
    matches = [word for word in known if word.lower() == name.lower()]
    return matches[0] if len(matches) == 1 else name if name in matches else None


class Names:
    """Looks up names. `outputs` holds the expressions of the SELECT list by alias, for GROUP BY and HAVING."""

    def __init__(self, source: SourceText, sources: Sequence[QuerySource]) -> None:
        self.text, self.sources = source, {s.alias: s for s in sources}
        self.bounds: pa.DataType | None = None
        """The type of a window's bounds; None: they may not be used here."""
        self.outputs: dict[str, Expression] = {}

    def column(self, node: SqlNode) -> Expression:
        """Return the expression that a column node of sqlglot refers to."""
        if type(node.this).__name__ == "Star":
            self.text.refuse(node, "* is allowed only by itself in SELECT and in count(*); write a column")
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            self.text.refuse(node, f"{self.text.written(node)} has too many parts; write stream.column")
        if table := node.text("table"):
            return self._of(node, self.alias(node, table), node.name)
        written = node.name.lower()
        holders = [a for a, s in self.sources.items() if any(written == n.lower() for n in s.relation.schema.names)]
        if len(holders) > 1:
            ways = " or ".join(f"{alias}.{node.name}" for alias in holders)
            self.text.refuse(node, f"the column {node.name!r} is ambiguous; write {ways}")
        if holders:
            return self._of(node, holders[0], node.name)
        word = node.name.lower()
        if word in (WINDOW_START, WINDOW_END):
            if self.bounds is None:
                self.text.refuse(node, f"{word} is a bound of an aggregate's window; write it in SELECT or HAVING")
            return Bound(word, self.bounds)
        for name, expression in self.outputs.items():
            if name.lower() == word:
                return expression
        known = [name for s in self.sources.values() for name in s.relation.schema.names]
        self.text.refuse(node, f"there is no column {node.name!r}{nearest(node.name, known)}; {self._columns()}")

    def alias(self, node: SqlNode, name: str) -> str:
        """Return the alias of the source that a name refers to."""
        found = find(name, self.sources)
        if found is None:
            by_relation = [alias for alias, s in self.sources.items() if s.relation.name.lower() == name.lower()]
            hint = f" (its alias is {by_relation[0]!r})" if by_relation else nearest(name, self.sources)
            self.text.refuse(node, f"{name!r} is not in FROM{hint}; FROM has {', '.join(self.sources)}")
        return found

    def _of(self, node: SqlNode, alias: str, name: str) -> Ref:
        schema = self.sources[alias].relation.schema
        found = find(name, schema.names)
        if found is None:
            several = [word for word in schema.names if word.lower() == name.lower()]
            if several:
                self.text.refuse(
                    node,
                    f"the column {name!r} is ambiguous, because {alias} has {' and '.join(several)}; write one of them "
                    "exactly, in backticks",
                )
            has = ", ".join(schema.names)
            self.text.refuse(node, f"{alias} has no column {name!r}{nearest(name, schema.names)}; it has {has}")
        return Ref(alias, found, plain_type(schema.field(found).type))

    def _columns(self) -> str:
        """Return the columns of all sources, for error messages."""
        return "; ".join(f"{alias} has {', '.join(s.relation.schema.names)}" for alias, s in self.sources.items())
