"""The functions and operators that a native expression uses, each with the literals among its arguments.

A Column of classic Spark or of Connect is a tree, and the tree is read, never its text: in text, a column named
`rlike(` or `it's` looks like a call or the end of a literal. Only `F.expr` has nothing but text. It is read by the
rules of Spark's lexer, and whatever these rules do not decide counts as an unknown function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Argument = tuple[str, ...] | int | None
"""A text literal, as all its possible values; a whole number; or None for anything else."""
UNKNOWN_PART = "?"
"""The word of a part that is not understood. No function has this name."""


@dataclass(frozen=True, slots=True)
class Use:
    """A function, operator or keyword, in lower case, and its arguments."""

    word: str
    arguments: tuple[Argument, ...] = ()


class _Part(NamedTuple):
    """One node of a tree, in a form that is the same for both kinds of Columns."""

    word: str | None = None
    """The function; None: the node calls none, such as a name, an alias or a field of a struct."""
    children: tuple[Any, ...] = ()
    literal: Argument = None
    text: str | None = None
    """The text that was passed to `F.expr`."""


def uses_of(column: Any) -> tuple[Use, ...] | None:
    """Return the functions that a Column uses, or None if it is neither kind of Column. A Connect Column is read
    without calling Spark."""
    known = vars(column)  # a classic Column would treat the attribute as a field of a struct
    if "_jc" in known:
        return _of_tree(known["_jc"].node(), _classic)[1]
    if hasattr(known.get("_expr"), "foreach"):
        return _of_tree(known["_expr"], _connect)[1]
    return None


def _of_tree(node: Any, part_of: Callable[[Any], _Part]) -> tuple[Argument, tuple[Use, ...]]:
    part = part_of(node)
    if part.text is not None:
        return None, tuple(uses_in(part.text))
    inner = [_of_tree(child, part_of) for child in part.children]
    uses = tuple(use for _, uses in inner for use in uses)
    if part.word is None:
        return part.literal, uses
    return None, (Use(part.word, tuple(literal for literal, _ in inner)), *uses)


def _literal(value: Any) -> Argument:
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_SAME = {"==": "=", "!": "not"}
"""Connect and classic Spark have different names for these."""


def _call(name: str, arguments: tuple[Any, ...]) -> _Part:
    word = name.lower()
    return _Part(_SAME.get(word, word), arguments)


def _at(child: Any, extraction: Any, literal: Argument) -> _Part:
    """Return the node of `a[b]`. A field of a struct or a key of a map cannot fail, an index of an array can."""
    return _Part(None, (child,)) if isinstance(literal, tuple) else _Part("[", (child, extraction))


def _classic(node: Any) -> _Part:
    """Return the node of a `ColumnNode` in the JVM."""
    kind = node.productPrefix()
    if kind == "UnresolvedFunction":
        return _call(node.functionName(), _sequence(node.arguments()))
    if kind in ("UnresolvedAttribute", "UnresolvedNamedLambdaVariable"):
        return _Part()
    if kind == "Literal":
        return _Part(literal=_literal(node.value()))
    if kind == "SqlExpression":
        return _Part(text=node.expression())
    if kind == "Cast":
        return _Part("try_cast" if "Try" in node.evalMode().toString() else "cast", (node.child(),))
    if kind == "CaseWhenOtherwise":
        return _Part("case", _sequence(node.children()))
    if kind == "UnresolvedExtractValue":
        extraction = node.extraction()
        return _at(node.child(), extraction, _classic(extraction).literal)
    if kind in ("Alias", "LambdaFunction"):
        return _Part(None, (node.child() if kind == "Alias" else node.function(),))
    return _Part(UNKNOWN_PART)


def _sequence(found: Any) -> tuple[Any, ...]:
    return tuple(found.apply(n) for n in range(found.size()))


def _connect(node: Any) -> _Part:
    """Return the node of an `Expression` of the Spark Connect client."""
    kind = type(node).__name__
    if kind in ("UnresolvedFunction", "CallFunction"):
        return _call(node._name, tuple(node._args))
    if kind in ("ColumnReference", "UnresolvedNamedLambdaVariable"):
        return _Part()
    if kind == "LiteralExpression":
        plain = type(node._dataType).__name__ in ("StringType", "IntegerType", "LongType")
        return _Part(literal=_literal(node._value) if plain else None)  # a date is stored as a number too
    if kind == "SQLExpression":
        return _Part(text=node._expr)
    if kind == "CastExpression":
        return _Part("try_cast" if node._eval_mode == "try" else "cast", (node._expr,))
    if kind == "CaseWhen":
        return _Part("case", tuple(node.children))
    if kind == "UnresolvedExtractValue":
        return _at(node._child, node._extraction, _connect(node._extraction).literal)
    if kind in ("ColumnAlias", "LambdaFunction"):
        return _Part(None, (node._child if kind == "ColumnAlias" else node._function,))
    return _Part(UNKNOWN_PART)


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
                yield Use(_SAME.get(token.text, token.text))
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
