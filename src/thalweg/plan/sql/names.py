"""Names of a query: sources by alias, columns by name, without regard to case; what is unknown gets a hint.

>>> find("ISROBOT", ["isRobot", "page"])
'isRobot'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.errors import nearest
from thalweg.plan.expression import Bound, Expression, Ref
from thalweg.plan.query import WINDOW_END, WINDOW_START, Source
from thalweg.plan.sql.source_text import SourceText, shown
from thalweg.plan.type_rules import plain_type

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode


def find(name: str, known: Iterable[str]) -> str | None:
    """In the spelling it has; None: there is none. Of several that differ in case alone, the one that is written so."""
    alike = [word for word in known if word.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else name if name in alike else None


class Names:
    """Looks names up; `outputs` are expressions of the select list by alias, for GROUP BY and HAVING."""

    def __init__(self, source: SourceText, sources: Sequence[Source]) -> None:
        self.text, self.sources = source, {s.alias: s for s in sources}
        self.bounds: pa.DataType | None = None
        """The type of a window's bounds, where they may be named."""
        self.outputs: dict[str, Expression] = {}

    def column(self, node: SqlNode) -> Expression:
        """A column of sqlglot's."""
        if type(node.this).__name__ == "Star":
            self.text.refuse(node, "* stands alone in SELECT or in count(*); write a column")
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            self.text.refuse(node, f"{shown(node)} has too many parts; write stream.column")
        if table := node.text("table"):
            return self._of(node, self.alias(node, table), node.name)
        written = node.name.lower()
        holders = [a for a, s in self.sources.items() if any(written == n.lower() for n in s.relation.schema.names)]
        if len(holders) > 1:
            ways = " or ".join(f"{alias}.{node.name}" for alias in holders)
            self.text.refuse(node, f"{node.name!r} may be a column of several; write {ways}")
        if holders:
            return self._of(node, holders[0], node.name)
        word = node.name.lower()
        if word in (WINDOW_START, WINDOW_END):
            if self.bounds is None:
                self.text.refuse(node, f"{word} belongs to an aggregate's window; write it in SELECT or HAVING")
            return Bound(word, self.bounds)
        for name, expression in self.outputs.items():
            if name.lower() == word:
                return expression
        known = [name for s in self.sources.values() for name in s.relation.schema.names]
        self.text.refuse(node, f"there is no column {node.name!r}{nearest(node.name, known)}; {self._told()}")

    def alias(self, node: SqlNode, name: str) -> str:
        """Of a source."""
        found = find(name, self.sources)
        if found is None:
            by_relation = [alias for alias, s in self.sources.items() if s.relation.name.lower() == name.lower()]
            hint = f" (it is called {by_relation[0]!r} here)" if by_relation else nearest(name, self.sources)
            self.text.refuse(node, f"{name!r} is not in FROM{hint}; there are {', '.join(self.sources)}")
        return found

    def _of(self, node: SqlNode, alias: str, name: str) -> Ref:
        schema = self.sources[alias].relation.schema
        found = find(name, schema.names)
        if found is None:
            several = [word for word in schema.names if word.lower() == name.lower()]
            if several:
                self.text.refuse(node, f"{alias} has {' and '.join(several)}; write one of them exactly, in backticks")
            has = ", ".join(schema.names)
            self.text.refuse(node, f"{alias} has no column {name!r}{nearest(name, schema.names)}; it has {has}")
        return Ref(alias, found, plain_type(schema.field(found).type))

    def _told(self) -> str:
        told = [f"{alias} has {', '.join(s.relation.schema.names)}" for alias, s in self.sources.items()]
        return "; ".join(told)
