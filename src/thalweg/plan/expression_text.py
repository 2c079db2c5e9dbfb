"""Expressions as text: for people, and for Spark, which is told every type.

>>> from thalweg.plan.expression import Ref, Value, call
>>> x = call("add", (Ref("s", "x", pa.int64()), Value(1, pa.int64())), pa.int64())
>>> e = call("and", (call("gt", (x, Value(5, pa.int64())), pa.bool_()), call("is_null", (x,), pa.bool_())), pa.bool_())
>>> text(e)
's.x + 1 > 5 AND s.x + 1 IS NULL'
>>> spark_text(e, lambda ref: f"`{ref.column}`")
'((`x` + 1L) > 5L) AND ((`x` + 1L) IS NULL)'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from thalweg.plan.expression import Aggregate, Bound, Call, Expression, Ref, UserCall, Value
from thalweg.plan.functions import COMPARISONS, SIGNS
from thalweg.plan.type_rules import sql_name

_BINDS = {"or": 1, "and": 2, "not": 3, "eq": 4, "ne": 4, "lt": 4, "le": 4, "gt": 4, "ge": 4, "same": 4, "is_null": 4,
          "in": 4, "like": 4, "rlike": 4, "add": 5, "subtract": 5, "multiply": 6, "divide": 6, "int_divide": 6,
          "mod": 6, "negate": 7}  # fmt: skip
"""How firmly operators hold what stands beside them."""
_ATOM = 9
NameOf = Callable[[Ref], str]


def text(expression: Expression) -> str:
    """For people."""
    return _text(expression)[0]


def _text(expression: Expression) -> tuple[str, int]:
    if isinstance(expression, Ref):
        prefix = f"{_quoted(expression.alias)}." if expression.alias else ""
        return prefix + _quoted(expression.column), _ATOM
    if isinstance(expression, Value):
        return _shown(expression), _ATOM
    if isinstance(expression, Bound):
        return expression.name, _ATOM
    if isinstance(expression, Aggregate):
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
    if name not in _BINDS:
        return f"{name}({', '.join(map(text, args))})", _ATOM
    binds = _BINDS[name]

    def held(argument: Expression, at_least: int) -> str:
        inner, firmness = _text(argument)
        return inner if firmness >= at_least else f"({inner})"

    if name in ("not", "negate"):
        if name == "not" and isinstance(args[0], Call) and args[0].function in ("is_null", "like", "in"):
            return _predicate_text(args[0], "NOT "), 4
        inner = held(args[0], binds)
        if name == "not":
            return f"NOT {inner}", binds
        return f"-({inner})" if inner.startswith("-") else f"-{inner}", binds  # two signs begin a comment
    if name in ("is_null", "in", "like", "rlike"):
        return _predicate_text(expression), binds
    left = held(args[0], binds + (name in COMPARISONS))  # a = b < c is read in two ways
    return f"{left} {SIGNS[name]} {held(args[1], binds + (name not in ('and', 'or')))}", binds


def _predicate_text(expression: Call, negated: str = "") -> str:
    """IS NULL, IN, LIKE, RLIKE, and with "NOT " their negations."""
    name, args = expression.function, expression.arguments
    value, firmness = _text(args[0])
    if firmness <= _BINDS[name]:
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
        return _string(given).replace("\n", "\\n").replace("\r", "\\r")  # one line, and read again by the join's checks
    if isinstance(given, timedelta):
        from thalweg.plan.window_length import in_words

        return f"INTERVAL '{in_words(given // timedelta(microseconds=1), 1000)}'"
    if isinstance(given, datetime):
        return f"'{given.replace(tzinfo=None)}'"
    return f"'{given!s}'" if pa.types.is_date(value.type) else str(given)


def spark_text(expression: Expression, name_of: NameOf) -> str:
    """For Spark's parser; `name_of` gives a column's name, quoted. User functions and aggregates are not told here."""

    def inner(part: Expression) -> str:
        made = spark_text(part, name_of)
        return f"({made})" if isinstance(part, Call) and part.function in _BINDS else made

    if isinstance(expression, Ref):
        return name_of(expression)
    if isinstance(expression, Value):
        return spark_literal(expression)
    if isinstance(expression, Bound):
        return _quoted(expression.name)
    assert isinstance(expression, Call), expression
    name, args = expression.function, expression.arguments
    if name in ("cast", "widen"):
        return f"CAST({spark_text(args[0], name_of)} AS {sql_name(expression.type)})"
    if name == "case":
        pairs = zip(args[:-1:2], args[1::2], strict=True)
        whens = " ".join(f"WHEN {spark_text(c, name_of)} THEN {spark_text(v, name_of)}" for c, v in pairs)
        return f"(CASE {whens} ELSE {spark_text(args[-1], name_of)} END)"
    if name == "is_null":
        return f"{inner(args[0])} IS NULL"
    if name == "in":
        return f"{inner(args[0])} IN ({', '.join(spark_text(a, name_of) for a in args[1:])})"
    if name in ("like", "rlike"):
        escape = f" ESCAPE {spark_text(args[2], name_of)}" if len(args) > 2 else ""
        return f"{inner(args[0])} {name.upper()} {spark_text(args[1], name_of)}{escape}"
    if name in ("not", "negate"):
        return f"{'NOT' if name == 'not' else '-'} {inner(args[0])}"
    if name in SIGNS:
        return f"{inner(args[0])} {SIGNS[name]} {inner(args[1])}"
    if name == "date_trunc" and expression.type.tz is None:  # Spark would give it the session's zone
        return f"CAST(date_trunc({', '.join(spark_text(a, name_of) for a in args)}) AS TIMESTAMP_NTZ)"
    return f"{name}({', '.join(spark_text(a, name_of) for a in args)})"


def spark_literal(value: Value) -> str:
    """With its type."""
    given, kind = value.value, value.type
    if given is None:
        return "NULL" if pa.types.is_null(kind) else f"CAST(NULL AS {sql_name(kind)})"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, str):
        return _string(given)
    if isinstance(given, timedelta):
        return _interval(given)
    if pa.types.is_timestamp(kind):
        assert isinstance(given, datetime)
        if kind.tz is None:
            return f"TIMESTAMP_NTZ'{given.isoformat(sep=' ')}'"
        return f"TIMESTAMP_LTZ'{given.replace(tzinfo=None).isoformat(sep=' ')}+00:00'"
    if pa.types.is_date(kind):
        return f"DATE'{given!s}'"
    return _number(given, kind)


def _number(given: Any, kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        if not math.isfinite(given):
            return f"CAST('{given}' AS {sql_name(kind)})"
        written = f"{float(given)!r}D"
        return written if pa.types.is_float64(kind) else f"CAST({written} AS FLOAT)"
    if pa.types.is_decimal(kind):
        return f"CAST({Decimal(given):f} AS {sql_name(kind)})"
    if pa.types.is_int64(kind):
        # the least has no positive counterpart to put a minus before
        return f"{given}L" if given > -(2**63) else f"CAST('{given}' AS BIGINT)"
    return str(given) if pa.types.is_int32(kind) else f"CAST({given} AS {sql_name(kind)})"


def _interval(given: timedelta) -> str:
    micros = given // timedelta(microseconds=1)
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    seconds, rest = divmod(micros, 10**6)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    return f"INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{rest:06}' DAY TO SECOND"


def _string(given: str) -> str:
    return "'" + given.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quoted(name: str) -> str:
    """In backticks where it must be."""
    plain = name.replace("_", "a").isalnum() and not name[:1].isdigit() and name.isascii()
    return name if plain else "`" + name.replace("`", "``") + "`"
