"""Show expressions as readable text, in Spark's SQL.

>>> from thalweg.plan.expressions.expression import Ref, Value, call
>>> x = call("add", (Ref("s", "x", pa.int64()), Value(1, pa.int64())), pa.int64())
>>> e = call("and", (call("gt", (x, Value(5, pa.int64())), pa.bool_()), call("is_null", (x,), pa.bool_())), pa.bool_())
>>> text(e)
's.x + 1 > 5 AND s.x + 1 IS NULL'
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa

from thalweg.formatting import time_span
from thalweg.plan.expressions.expression import AggregateCall, Bound, Call, Expression, Ref, UserCall, Value
from thalweg.plan.expressions.functions import COMPARISONS, SIGNS
from thalweg.plan.expressions.type_rules import sql_name

_PRECEDENCE = {
    "or": 1, "and": 2, "not": 3, "eq": 4, "ne": 4, "lt": 4, "le": 4, "gt": 4, "ge": 4, "same": 4, "is_null": 4,
    "in": 4, "like": 4, "rlike": 4, "add": 5, "subtract": 5, "multiply": 6, "divide": 6, "int_divide": 6, "mod": 6,
    "negate": 7,
}  # fmt: skip
"""The precedence of operators: a higher number binds more tightly."""
_ATOM = 9


def text(expression: Expression) -> str:
    """Return an expression as readable text."""
    return _text(expression)[0]


def _text(expression: Expression) -> tuple[str, int]:
    if isinstance(expression, Ref):
        prefix = f"{_quoted(expression.alias)}." if expression.alias else ""
        return prefix + _quoted(expression.column), _ATOM
    if isinstance(expression, Value):
        return _shown(expression), _ATOM
    if isinstance(expression, Bound):
        return expression.name, _ATOM
    if isinstance(expression, AggregateCall):
        inner = "*" if expression.argument is None else text(expression.argument)
        return f"{expression.function}({'DISTINCT ' if expression.distinct else ''}{inner})", _ATOM
    if isinstance(expression, UserCall):
        return f"{expression.function}({', '.join(map(text, expression.arguments))})", _ATOM
    return _call_text(expression)


def _call_text(expression: Call) -> tuple[str, int]:
    name, args = expression.function, expression.arguments
    if name == "widen":
        return _text(args[0])
    if name == "cast":
        return f"CAST({text(args[0])} AS {sql_name(expression.type)})", _ATOM
    if name == "case":
        whens = " ".join(f"WHEN {text(c)} THEN {text(v)}" for c, v in zip(args[:-1:2], args[1::2], strict=True))
        return f"CASE {whens} ELSE {text(args[-1])} END", _ATOM
    if name not in _PRECEDENCE:
        return f"{name}({', '.join(map(text, args))})", _ATOM
    binds = _PRECEDENCE[name]

    def parenthesized(argument: Expression, at_least: int) -> str:
        inner, precedence = _text(argument)
        return inner if precedence >= at_least else f"({inner})"

    if name in ("not", "negate"):
        if name == "not" and isinstance(args[0], Call) and args[0].function in ("is_null", "like", "in"):
            return _predicate_text(args[0], "NOT "), 4
        inner = parenthesized(args[0], binds)
        if name == "not":
            return f"NOT {inner}", binds
        return f"-({inner})" if inner.startswith("-") else f"-{inner}", binds  # two minus signs start a comment
    if name in ("is_null", "in", "like", "rlike"):
        return _predicate_text(expression), binds
    left = parenthesized(args[0], binds + (name in COMPARISONS))  # a = b < c is ambiguous
    return f"{left} {SIGNS[name]} {parenthesized(args[1], binds + (name not in ('and', 'or')))}", binds


def _predicate_text(expression: Call, negated: str = "") -> str:
    """Return the text of IS NULL, IN, LIKE or RLIKE, or with "NOT " that of its negation."""
    name, args = expression.function, expression.arguments
    value, precedence = _text(args[0])
    if precedence <= _PRECEDENCE[name]:
        value = f"({value})"
    if name == "is_null":
        return f"{value} IS {negated}NULL"
    if name == "in":
        return f"{value} {negated}IN ({', '.join(map(text, args[1:]))})"
    escape = f" ESCAPE {text(args[2])}" if len(args) > 2 else ""
    return f"{value} {negated}{name.upper()} {text(args[1])}{escape}"


def _shown(value: Value) -> str:
    given = value.value
    if given is None:
        return "NULL"
    if isinstance(given, bool):
        return str(given).upper()
    if isinstance(given, str):
        # on one line, because the checks of a join parse it again
        return _string(given).replace("\n", "\\n").replace("\r", "\\r")
    if isinstance(given, timedelta):
        return f"INTERVAL '{time_span(given // timedelta(microseconds=1), 1000)}'"
    if isinstance(given, datetime):
        return f"'{given.replace(tzinfo=None)}'"
    return f"'{given!s}'" if pa.types.is_date(value.type) else str(given)


def _string(given: str) -> str:
    return "'" + given.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quoted(name: str) -> str:
    """Return a name, in backticks if it needs them."""
    plain = name.replace("_", "a").isalnum() and not name[:1].isdigit() and name.isascii()
    return name if plain else "`" + name.replace("`", "``") + "`"
