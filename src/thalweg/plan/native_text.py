"""What a Spark Column is called: its text, and a short name made of it. What it does is read in `native_uses`.

A Column prints itself as functions of functions, `>(size, 1024)`. Classic Spark puts literals between quotes, Connect
does not; here both give the same text, so that names and fingerprints do not depend on the way to Spark.
"""

from __future__ import annotations

import re
from typing import Any

MOST_NAME = 48
"""Letters of a name made from an expression."""

_BETWEEN = {
    "=", "<=>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "and", "or", "like", "ilike", "rlike", "contains",
    "startswith", "endswith",
}  # fmt: skip
_BEHIND = {"isnotnull": "is not null", "isnull": "is null", "isnan": "is nan"}
_NUMBERS = (int, float, bool, type(None))


def is_column(thing: object) -> bool:
    """Whether it is a Column of classic PySpark or of Connect, told without importing either."""
    return any(
        kind.__name__ == "Column" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]
        for kind in type(thing).__mro__
    )


def text_of(column: Any) -> str:
    """The expression as text, string literals between quotes."""
    text = str(column)
    if text.startswith("Column<'") and text.endswith("'>"):
        text = text[len("Column<'") : -len("'>")]
    literals = {
        repr(node)
        for node in nodes_of(column)
        if type(node).__name__ == "LiteralExpression" and not isinstance(getattr(node, "_value", None), _NUMBERS)
    }
    if literals:  # on Connect: they stand bare between a comma or a parenthesis and the next
        any_of = "|".join(re.escape(word) for word in sorted(literals, key=len, reverse=True))
        text = re.sub(rf"(?<=, )(?:{any_of})(?=[,)])|(?<=\()(?:{any_of})(?=,)", lambda m: f"'{m[0]}'", text)
    text = re.sub(r"CallFunction\('(\w+)'(?:, )?", r"\1(", text)
    text = re.sub(r"LambdaFunction\(", "lambda(", text)
    text = re.sub(r"\b([xyz])_\d+\b", r"\1", text)  # variables of lambdas are numbered through the whole session
    return text.replace("==(", "=(").replace("!(", "not(")


def nodes_of(column: Any) -> list[Any]:
    """Every part of a Connect expression; nothing for a classic one, which lives in the JVM."""
    found: list[Any] = []
    expression = vars(column).get("_expr")  # as an attribute, a classic Column would take it for a field of a struct
    if hasattr(expression, "foreach"):
        expression.foreach(found.append)
    return found


def short_name(text: str) -> str:
    """A name for an expression, as people write it.

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
    if low in _BETWEEN and len(inner) == 2:
        sides = [f"({w})" if low in ("and", "or") and re.search(r" (and|or) ", w) else w for w in inner]
        return f" {low} ".join(sides)
    if low in _BEHIND and len(inner) == 1:
        return f"{inner[0]} {_BEHIND[low]}"
    if low == "in" and len(inner) > 1:
        return f"{inner[0]} in ({', '.join(inner[1:])})"
    if low == "not" and len(inner) == 1:
        return inner[0].replace(" = ", " != ", 1) if arguments[0].startswith("=(") else f"not {inner[0]}"
    return f"{word}({', '.join(inner)})"


def _arguments(text: str) -> list[str] | None:
    """Split at the commas outside of parentheses and quotes; None when they do not match."""
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
