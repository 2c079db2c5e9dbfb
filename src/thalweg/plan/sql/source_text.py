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
from itertools import accumulate
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
        """Raise an error at a node of sqlglot: at its keyword or the name of its function, if it begins with one."""
        raise self.error(self.begin_of(node), sentence)

    def refuse_clause(self, node: SqlNode, words: tuple[str, ...], sentence: str) -> NoReturn:
        """Raise an error at the keyword of a clause. The nearest of these words before the clause's first part is its
        keyword; if no part has a position, the last one in the text."""
        before = offset_of(node) if _positions(node) else len(self.text)
        raise self.error(self.word_before(before, words), sentence)

    def word_before(self, offset: int, words: tuple[str, ...]) -> int:
        """Return the offset of the last of these words before an offset, or the offset itself if there is none."""
        found = [token.start for token in tokens_of(self) if token.start < offset and _word(token) in words]
        return found[-1] if found else offset

    def begin_of(self, node: SqlNode) -> int:
        """Return the offset at which a node begins in the text. sqlglot records those of names and literals, not those
        of keywords and of many functions."""
        name, offset = type(node).__name__, offset_of(node)
        if "start" in node.meta:
            return offset
        if not _positions(node):
            words = (*_KEYWORDS.get(name, ()), *((node.sql_name(),) if hasattr(node, "sql_name") else ()))
            found = [token.start for token in tokens_of(self) if _word(token) in words]
            return min(found, key=lambda start: (start < offset, abs(start - offset)), default=offset)
        if name in _KEYWORDS:
            return self.word_before(offset, _KEYWORDS[name])
        return self._call_of(node, offset) if hasattr(node, "sql_name") else offset

    def _call_of(self, node: SqlNode, offset: int) -> int:
        """Return the offset of a function's name, from the offset of its first argument; that offset if there is no
        name with a parenthesis before it."""
        inner = [part for part in node.walk() if hasattr(part, "sql_name") and "start" not in part.meta]
        calls = sum(offset_of(part) == offset for part in inner)  # max_by(percentile(x, 0.5), y) begins with two
        before = [token for token in tokens_of(self) if token.start < offset]
        while len(before) > 1 and (before[-1].text == "(" or _word(before[-1]) == "DISTINCT"):
            opening, name = before.pop(), before[-1]
            if opening.text == "(" and name.end + 1 == opening.start and name.text.isidentifier():
                calls -= 1
                if not calls:
                    return name.start
                before.pop()
        return offset

    def written(self, node: SqlNode) -> str:
        """Return a node as the user wrote it, for error messages, or as sqlglot writes it if its end is unknown."""
        made = shown(node)
        begin = self.begin_of(node)
        letters = [n for n, letter in enumerate(self.text) if n >= begin and not letter.isspace()]
        sought = [letter.upper() for letter in made if not letter.isspace()]
        if [self.text[n].upper() for n in letters[: len(sought)]] == sought:
            return self.text[begin : letters[len(sought) - 1] + 1]
        ends = [part.meta["end"] for part in node.walk() if "end" in part.meta]
        if not ends or (len(ends) == 1 and begin == offset_of(node) and "start" not in node.meta):
            return made  # the end of one part is known, and it may not be the last
        text, rest = self.text[begin : max(ends) + 1], self.text[max(ends) + 1 :]
        depths = list(accumulate((letter in "([") - (letter in ")]") for letter in text))
        missing = depths[-1]
        for letter in rest:
            if missing <= 0:
                break
            text += letter
            missing += (letter in "([") - (letter in ")]")
        return made if min(depths) < 0 or missing > 0 else text


_KEYWORDS: dict[str, tuple[str, ...]] = {
    "Exists": ("EXISTS",), "Any": ("ANY", "SOME"), "All": ("ALL",), "Extract": ("EXTRACT",), "Subquery": ("(",),
    "Tuple": ("(",), "Distinct": ("DISTINCT",), "Interval": ("INTERVAL",), "Case": ("CASE",), "If": ("IF", "WHEN"),
    "Neg": ("-",), "BitwiseNot": ("~",), "Placeholder": (":", "?"), "Parameter": ("@", "$"), "Array": ("[",),
    "Trim": ("TRIM",), "Values": ("VALUES",), "Lateral": ("LATERAL",), "Cube": ("CUBE",), "Rollup": ("ROLLUP",),
    "GroupingSets": ("GROUPING",),
}  # fmt: skip
"""The words, or signs, with which nodes of a class begin."""


def _word(token: Token) -> str:
    """Return the first word of a token, in capitals; empty for strings and quoted names."""
    quoted = token.token_type.name in ("STRING", "IDENTIFIER")
    return "" if quoted else token.text.upper().split(" ")[0]


def _positions(node: SqlNode) -> list[int]:
    return [part.meta["start"] for part in node.walk() if "start" in part.meta]


def offset_of(node: SqlNode) -> int:
    """Return the offset at which a node begins, as far as sqlglot records it: the offset of the first of its parts that
    has one, else that of the nearest enclosing node, else 0."""
    place: SqlNode | None = node
    while place is not None:
        if places := _positions(place):
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


def is_in_parentheses(source: SourceText, node: SqlNode, operators: tuple[str, ...]) -> bool:
    """Whether an operand of one of these operators has the parentheses in the text that it has in sqlglot's tree, which
    adds some. Those with which it begins are counted in both."""
    operator = source.word_before(offset_of(node), operators)
    begin, tree = node, 0
    while type(begin).__name__ == "Paren" or hasattr(begin, "left") or type(begin).__name__ in _POSTFIX:
        tree += type(begin).__name__ == "Paren"
        begin = begin.this
    after = [token.text for token in tokens_of(source) if token.start > operator]
    return tree == next((n for n, text in enumerate(after) if text != "("), len(after))


_POSTFIX = ("In", "Between", "Escape")
"""Classes of nodes that begin with their first operand, apart from those of binary operators."""


def shown(node: SqlNode) -> str:
    """Return a node as SQL, for error messages."""
    from sqlglot.errors import ErrorLevel

    try:
        return str(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))
    except ValueError:  # Spark's FLOAT(x) with an x that is no number
        return str(node.sql(unsupported_level=ErrorLevel.IGNORE))


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
