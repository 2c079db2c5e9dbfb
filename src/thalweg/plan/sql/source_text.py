"""The text of a query, and positions in it. Errors give line and column, and show the line.

>>> text = SourceText("SELECT x\\nFROM a")
>>> print(text.error(14, "no stream 'a'"))
line 2, column 6: no stream 'a'
  FROM a
       ^
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from thalweg.errors import SqlError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode
    from sqlglot.tokenizer_core import Token


@dataclass(frozen=True)
class SourceText:
    """The text of a query, as the user wrote it."""

    text: str

    def error(self, offset: int, sentence: str) -> SqlError:
        """Return an error at the character with this offset."""
        before = self.text[: max(offset, 0)]
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        return SqlError(sentence, line, column, self.text.split("\n")[line - 1])

    def refuse(self, node: SqlNode, sentence: str) -> NoReturn:
        """Raise an error at a node of sqlglot."""
        raise self.error(offset_of(node), sentence)


def offset_of(node: SqlNode) -> int:
    """Return the offset at which a node begins, as far as sqlglot records it: the offset of the first of its parts that
    has one, else that of the nearest enclosing node, else 0."""
    place: SqlNode | None = node
    while place is not None:
        if places := [part.meta["start"] for part in place.walk() if "start" in part.meta]:
            return int(min(places))
        place = place.parent
    return 0


def tokens_of(source: SourceText) -> Sequence[Token]:
    """Return sqlglot's tokens of a text. Text that cannot be split into tokens, such as an open quote, is refused."""
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        found: Sequence[Token] = Spark().tokenize(source.text)
    except SqlglotError as error:
        # sqlglot says "Missing ' from 2:34": the line, and the offset in the whole text
        if (found_open := re.fullmatch(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))) is not None:
            sign = found_open[1]
            raise source.error(int(found_open[2]), f"{sign} is never closed; write {sign} where it ends") from None
        raise source.error(
            0, "this cannot be parsed: a string, a name or a comment is never closed; write its closing character"
        ) from None
    return found


def shown(node: SqlNode) -> str:
    """Return a node as SQL, for error messages."""
    from sqlglot.errors import ErrorLevel

    return str(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))


def conjuncts(tree: SqlNode) -> Iterator[SqlNode]:
    """Yield the conditions that AND connects."""
    from sqlglot import exp

    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree
