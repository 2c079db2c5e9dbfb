"""A query's text and places in it: errors say line and column, and show the line.

>>> text = SourceText("SELECT x\\nFROM a")
>>> print(text.error(14, "no stream 'a'"))
line 2, column 6: no stream 'a'
  FROM a
       ^
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from thalweg.errors import SqlError


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

    def refuse(self, node: Any, sentence: str) -> NoReturn:
        """At a node of sqlglot's."""
        raise self.error(offset_of(node), sentence)


def offset_of(node: Any) -> int:
    """Where the node begins, as far as sqlglot tells: the first of its parts that has a place, else 0."""
    places = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(places, default=0)
