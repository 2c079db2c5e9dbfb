"""One native predicate: a Spark expression that the JVM evaluates before any row is sent to Python.

Its name is its text, or a short name made from it; `native_uses` finds the functions it uses. A Column prints itself as
nested functions, `>(size, 1024)`. Classic Spark quotes literals, Connect does not; here both give the same text, so
that names and fingerprints do not depend on how Spark is reached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from thalweg.errors import PlanError
from thalweg.plan.expression_kind import may_raise
from thalweg.plan.native_uses import Use, uses_in, uses_of

MOST_NAME = 48
"""The maximum length of a name that is made from an expression."""

_INFIX = {
    "=", "<=>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "and", "or", "like", "ilike", "rlike", "contains",
    "startswith", "endswith",
}  # fmt: skip
_POSTFIX = {"isnotnull": "is not null", "isnull": "is null", "isnan": "is nan"}
_NUMBERS = (int, float, bool, type(None))
_RANDOM = frozenset({"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr", "uniform"})


def text_of(column: Any) -> str:
    """Return an expression as text, with its string literals in quotes."""
    text = str(column)
    if text.startswith("Column<'") and text.endswith("'>"):
        text = text[len("Column<'") : -len("'>")]
    literals = {
        repr(node)
        for node in nodes_of(column)
        if type(node).__name__ == "LiteralExpression" and not isinstance(getattr(node, "_value", None), _NUMBERS)
    }
    if literals:  # on Connect they are not quoted: each is between two commas or parentheses
        any_of = "|".join(re.escape(word) for word in sorted(literals, key=len, reverse=True))
        text = re.sub(rf"(?<=, )(?:{any_of})(?=[,)])|(?<=\()(?:{any_of})(?=,)", lambda m: f"'{m[0]}'", text)
    text = re.sub(r"CallFunction\('(\w+)'(?:, )?", r"\1(", text)
    text = re.sub(r"LambdaFunction\(", "lambda(", text)
    text = re.sub(r"\b([xyz])_\d+\b", r"\1", text)  # variables of lambdas are numbered across the whole session
    return text.replace("==(", "=(").replace("!(", "not(")


def nodes_of(column: Any) -> list[Any]:
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


@dataclass(frozen=True, slots=True)
class NativePredicate:
    """Made by `tw.predicate(column)`, or from a bare Column among the arguments of `tw.filters`."""

    name: str
    text: str
    """The expression as Spark prints it."""
    uses: tuple[Use, ...] = field(repr=False)
    """The functions and operators in it."""
    raises: bool = field(repr=False)
    """Whether it can fail on a row."""
    column: Any = field(compare=False, repr=False)
    after: tuple[str, ...] = ()
    named: bool = field(default=True, compare=False)
    """Whether the user gave the name. If not, it was made from the expression and may be changed to be unique."""

    def structure(self) -> tuple[object, ...]:
        """Return the content of a fingerprint: nothing in it differs between two processes."""
        return (self.name, self.text, self.after)

    def __call__(self, *_: object) -> NoReturn:
        """Refuse `df.transform(predicate)`, a common mistake."""
        raise PlanError(f"predicate {self.name!r} cannot be applied by itself: write df.transform(tw.filters(...))")


def native_predicate(
    column: Any, name: str | None = None, after: tuple[str, ...] = (), known: tuple[tuple[Use, ...], bool] | None = None
) -> NativePredicate:
    """Describe a native predicate. An expression that is not native, or not deterministic, is refused.

    `known`: what it uses and whether it can fail, if the Column was made from an expression with known types."""
    text = text_of(column)
    label = name if name is not None else short_name(text)
    if _calls_python(column, text):
        # classic Spark prints the arguments of the UDF as internals of its parser
        called = re.search(r"([\w<>]+)\(columnnodeexpression", text) if name is None else None
        raise PlanError(
            f"predicate {called[1] if called else label!r} is a Python UDF, which Spark runs in Python on every row: "
            "pass its function instead, tw.predicate(f, 'column')"
        )
    if known is None:
        found = uses_of(column)
        uses = tuple(uses_in(text)) if found is None else found
        known = uses, may_raise(uses)
    uses, raises = known
    if random := _RANDOM.intersection(use.word for use in uses):
        raise PlanError(
            f"predicate {label!r} calls {min(random)}(), so its result would depend on the order: "
            "apply it before or after tw.filters"
        )
    return NativePredicate(label, text, uses, raises, column, after, named=name is not None)


def _calls_python(column: Any, text: str) -> bool:
    if any(type(node).__name__.endswith("InlineUserDefinedFunction") for node in nodes_of(column)):
        return True
    bare = re.sub(r"'[^']*'", "", text)
    return "columnnodeexpression(" in bare or "<lambda>(" in bare
