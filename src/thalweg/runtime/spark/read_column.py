"""What a Spark Column says: its text, a short name made from it, and the functions that it uses.

A Column of classic Spark or of Connect prints itself as nested functions, `>(size, 1024)`. Classic Spark quotes
literals, Connect does not; here both give the same text, so that names and fingerprints do not depend on how Spark is
reached. The functions are read from the tree that a Column is, never from its text: in text, a column named `rlike(` or
`it's` looks like a call or the end of a literal. Only `F.expr` has nothing but text, which
`plan/filters/native_uses.py` reads. pyspark is not imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg.plan.filters.native_uses import SYNONYMS, UNKNOWN_PART, Argument, Use, uses_in

MOST_NAME = 48
"""The maximum length of a name that is made from an expression."""

_INFIX = {
    "=", "<=>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "and", "or", "like", "ilike", "rlike", "contains",
    "startswith", "endswith",
}  # fmt: skip
_POSTFIX = {"isnotnull": "is not null", "isnull": "is null", "isnan": "is nan"}
_NUMBERS = (int, float, bool, type(None))


def text_of(column: Any) -> str:
    """Return an expression as text, with its string literals in quotes."""
    text = str(column)
    if text.startswith("Column<'") and text.endswith("'>"):
        text = text[len("Column<'") : -len("'>")]
    literals = {
        repr(node)
        for node in _nodes_of(column)
        if type(node).__name__ == "LiteralExpression" and not isinstance(getattr(node, "_value", None), _NUMBERS)
    }
    if literals:  # on Connect they are not quoted: each is between two commas or parentheses
        any_of = "|".join(re.escape(word) for word in sorted(literals, key=len, reverse=True))
        text = re.sub(rf"(?<=, )(?:{any_of})(?=[,)])|(?<=\()(?:{any_of})(?=,)", lambda m: f"'{m[0]}'", text)
    text = re.sub(r"CallFunction\('(\w+)'(?:, )?", r"\1(", text)
    text = re.sub(r"LambdaFunction\(", "lambda(", text)
    text = re.sub(r"\b([xyz])_\d+\b", r"\1", text)  # variables of lambdas are numbered across the whole session
    return text.replace("==(", "=(").replace("!(", "not(")


def _nodes_of(column: Any) -> list[Any]:
    """Return every part of a Connect expression, or nothing for a classic one, which is in the JVM."""
    found: list[Any] = []
    expression = vars(column).get("_expr")  # a classic Column would treat the attribute as a field of a struct
    if hasattr(expression, "foreach"):
        expression.foreach(found.append)
    return found


def short_name(text: str) -> str:
    """Return a short, readable name for an expression.

    >>> short_name(">(size, 1024)"), short_name("isNotNull(payload)"), short_name("rlike(lower(line), 'a, b')")
    ('size > 1024', 'payload is not null', "lower(line) rlike 'a, b'")
    >>> short_name("in(a, 1, 2)"), short_name("not(=(a, 1))")
    ('a in (1, 2)', 'a != 1')
    """
    name = " ".join(_written(text).split())
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 3] + "..."


def _written(text: str) -> str:
    call = re.fullmatch(r"([A-Za-z_]\w*|[^\w\s(),'\"]+)\((.*)\)", text, flags=re.DOTALL)
    arguments = _arguments(call[2]) if call else None
    if call is None or arguments is None:
        return text
    word, low = call[1], call[1].lower()
    inner = [_written(argument) for argument in arguments]
    if low in _INFIX and len(inner) == 2:
        sides = [f"({w})" if low in ("and", "or") and re.search(r" (and|or) ", w) else w for w in inner]
        return f" {low} ".join(sides)
    if low in _POSTFIX and len(inner) == 1:
        return f"{inner[0]} {_POSTFIX[low]}"
    if low == "in" and len(inner) > 1:
        return f"{inner[0]} in ({', '.join(inner[1:])})"
    if low == "not" and len(inner) == 1:
        return inner[0].replace(" = ", " != ", 1) if arguments[0].startswith("=(") else f"not {inner[0]}"
    return f"{word}({', '.join(inner)})"


def _arguments(text: str) -> list[str] | None:
    """Split a text at the commas outside of parentheses and quotes. Return None if these do not match."""
    parts, depth, quoted, begin = [], 0, False, 0
    for i, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted and letter == "(":
            depth += 1
        elif not quoted and letter == ")":
            depth -= 1
            if depth < 0:
                return None
        elif not quoted and depth == 0 and letter == ",":
            parts.append(text[begin:i].strip())
            begin = i + 1
    return None if quoted or depth else [*parts, text[begin:].strip()]


def python_udf_in(column: Any, text: str) -> str | None:
    """Return the name of a Python UDF that a Column with this text calls, or an empty text if it is not known; None if
    the Column calls none."""
    bare = re.sub(r"'[^']*'", "", text)
    # classic Spark prints the arguments of a UDF as internals of its parser
    if "columnnodeexpression(" in bare or "<lambda>(" in bare:
        called = re.search(r"([\w<>]+)\(columnnodeexpression", text)
        return called[1] if called else ""
    is_called = any(type(node).__name__.endswith("InlineUserDefinedFunction") for node in _nodes_of(column))
    return "" if is_called else None


class _Part(NamedTuple):
    """One node of a tree, in a form that is the same for both kinds of Columns."""

    word: str | None = None
    """The function; None: the node calls none, such as a name, an alias or a field of a struct."""
    children: tuple[Any, ...] = ()
    literal: Argument = None
    text: str | None = None
    """The text that was passed to `F.expr`."""


def uses_of(column: Any) -> tuple[Use, ...]:
    """Return the functions that a Column uses. A Connect Column is read without calling Spark."""
    known = vars(column)  # a classic Column would treat the attribute as a field of a struct
    if "_jc" in known:
        return _of_tree(known["_jc"].node(), _classic)[1]
    return _of_tree(known["_expr"], _connect)[1]


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


def _call(name: str, arguments: tuple[Any, ...]) -> _Part:
    word = name.lower()
    return _Part(SYNONYMS.get(word, word), arguments)


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
