"""A query's text, places in it and the nodes that sqlglot makes of it: errors say line and column, and show the line.

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
    """As the user wrote it."""

    text: str

    def error(self, offset: int, sentence: str) -> SqlError:
        """At a character."""
        before = self.text[: max(offset, 0)]
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        return SqlError(sentence, line, column, self.text.split("\n")[line - 1])

    def refuse(self, node: SqlNode, sentence: str) -> NoReturn:
        """At a node of sqlglot's."""
        raise self.error(offset_of(node), sentence)


def offset_of(node: SqlNode) -> int:
    """Where the node begins, as far as sqlglot tells: the first of its parts that has a place, or of what it stands in;
    else 0."""
    place: SqlNode | None = node
    while place is not None:
        if places := [part.meta["start"] for part in place.walk() if "start" in part.meta]:
            return int(min(places))
        place = place.parent
    return 0


def tokens_of(source: SourceText) -> Sequence[Token]:
    """Of sqlglot's; text that is no sequence of words is refused."""
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        found: Sequence[Token] = Spark().tokenize(source.text)
    except SqlglotError as error:
        # sqlglot says "Missing ' from 2:34": the line, and the place in the whole text
        if (found_open := re.fullmatch(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))) is not None:
            sign = found_open[1]
            raise source.error(int(found_open[2]), f"{sign} is never closed; write {sign} at the end of it") from None
        raise source.error(
            0, "this cannot be read: a text, a name or a comment in it is never closed; write its closing sign"
        ) from None
    return found


def shown(node: SqlNode) -> str:
    """A node as SQL, for a sentence."""
    from sqlglot.errors import ErrorLevel

    return str(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))


def conjuncts(tree: SqlNode) -> Iterator[SqlNode]:
    """What AND connects."""
    from sqlglot import exp

    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree
