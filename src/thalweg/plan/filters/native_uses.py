"""The functions and operators that a native expression uses, each with the literals among its arguments.

The text of an expression is read by the rules of Spark's lexer, and whatever these rules do not decide counts as an
unknown function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Argument = tuple[str, ...] | int | None
"""A text literal, as all its possible values; a whole number; or None for anything else."""
UNKNOWN_PART = "?"
"""The word of a part that is not understood. No function has this name."""


@dataclass(frozen=True, slots=True)
class Use:
    """A function, operator or keyword, in lower case, and its arguments."""

    word: str
    arguments: tuple[Argument, ...] = ()


SYNONYMS = {"==": "=", "!": "not"}
"""Connect and classic Spark have different names for these."""

_TOKENS = re.compile(
    r"""(?P<space>\s+)
    |(?P<raw>[rR]'[^']*')
    |(?P<text>'(?:[^'\\]|\\.|'')*')
    |(?P<name>`(?:[^`]|``)*`)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[A-Za-z]{0,2}\b)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>--|/\*|<=>|->|::|<=|>=|<>|!=|==|\|\||&&|.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = {"and", "or", "not", "in", "between", "is", "like", "ilike", "rlike", "regexp", "case", "div"}
_SILENT = {"when", "then", "else", "end", "escape", "as"}
"""Keywords that have no effect by themselves."""
_TYPED = {"date", "timestamp", "timestamp_ntz", "timestamp_ltz"}
"""Words that turn the text literal after them into a time. An invalid time fails before any row is read."""
_ENDS = {")", ",", "and", "or", "then", "when", "else", "end", "&&"}
"""What may follow the pattern of an infix LIKE or RLIKE; operators would belong to the pattern."""


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind in ("word", "sign") else ""

    @property
    def literal(self) -> Argument:
        if self.kind == "number":
            return int(self.text) if self.text.isdigit() else None
        if self.kind == "raw":
            return (self.text[2:-1],)
        return _values(self.text[1:-1]) if self.kind == "text" else None


def _values(inner: str) -> Argument:
    r"""Return the possible values of a text literal: a Spark setting decides whether `\` escapes."""
    if "''" in inner or re.search(r"\\[uU0-9]", inner):
        return None
    known = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
    escaped = re.sub(r"\\(.)", lambda m: known.get(m[1], m[1]), inner, flags=re.DOTALL)
    return (escaped,) if escaped == inner else (escaped, inner)


def uses_in(text: str) -> Iterator[Use]:
    """Yield the functions that an SQL expression uses.

    >>> [use.word for use in uses_in("size > -10 AND cast(t AS int) + 1 < 7")]
    ['>', 'and', 'cast', '+', '<']
    >>> [*uses_in("line RLIKE 'a+' and startswith(line, 'b')")]
    [Use(word='rlike', arguments=(None, ('a+',))), Use(word='and', arguments=()), \
Use(word='startswith', arguments=(None, ('b',)))]
    """
    found = [_Token(m.lastgroup or "", m[0]) for m in _TOKENS.finditer(text) if m.lastgroup != "space"]
    tokens = [*found, *[_Token("sign", ")")] * 4]  # so that there is always a next token
    if "${" in text:  # Spark replaces it before it parses the text
        yield Use(UNKNOWN_PART)
    at, operand = 0, False  # operand: whether the previous token ends a value
    while at < len(found):
        token, after = tokens[at], tokens[at + 1]
        before = tokens[at - 1] if at else _Token("sign", "(")
        at += 1
        if token.kind in ("raw", "text", "number", "name"):
            called = token.kind == "name" and after.text == "("  # a function in backticks
            if called or (operand and not (token.kind == "text" and before.word in _TYPED)):
                yield Use(UNKNOWN_PART)
            operand = True
        elif token.kind == "sign":
            if token.text == "[" and after.kind == "text" and tokens[at + 1].text == "]":
                at, operand = at + 2, True
            elif token.text == "-" and not operand and after.kind == "number":
                pass
            elif token.text not in ("(", ")", ",", ".", "->", "]"):
                yield Use(SYNONYMS.get(token.text, token.text))
                operand = False
            else:
                operand = token.text in (")", "]")
        elif before.word == "as":  # a type
            operand = True
        elif token.word in _SILENT:
            operand = token.word == "end"
        elif token.word in _KEYWORDS and (operand or after.text != "("):
            yield Use(token.word, _between(tokens, at))
            operand = False
        elif after.text == "(":
            yield Use(token.word if before.text != "." and not operand else UNKNOWN_PART, _arguments(tokens, at))
            operand = False
        else:
            if operand:
                yield Use(UNKNOWN_PART)
            operand = True


def _between(tokens: list[_Token], at: int) -> tuple[Argument, ...]:
    """Return the arguments of an infix operator whose right side begins here."""
    if tokens[at + 1].word in _ENDS:
        return None, tokens[at].literal
    if tokens[at + 1].word == "escape" and tokens[at + 3].word in _ENDS:
        return None, tokens[at].literal, tokens[at + 2].literal
    return ()


def _arguments(tokens: list[_Token], at: int) -> tuple[Argument, ...]:
    """Return the arguments of a call whose parenthesis opens here."""
    given: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens[at:]:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth <= 0:
            break
        if token.text == "," and depth == 1:
            given.append([])
        else:
            given[-1].append(token)
    given[0] = given[0][1:]  # the parenthesis
    return tuple(map(_of_tokens, given))


def _of_tokens(argument: list[_Token]) -> Argument:
    if len(argument) == 2 and argument[0].text == "-" and isinstance(number := argument[1].literal, int):
        return -number
    return argument[0].literal if len(argument) == 1 else None
