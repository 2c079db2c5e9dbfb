"""A model of expressions in plain Python, one row at a time: the meaning of Spark's ANSI mode, from its documentation.

It has no decimals and no FLOATs. `UnmodelledError` says that an expression has such a part."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from thalweg.plan.expressions.expression import Call, Expression, Ref, Value

is_ = pa.types
SPACES = "".join(map(chr, range(33)))
"""What CAST ignores around a text: Java's String.trim removes all characters up to the blank."""


class UnmodelledError(Exception):
    """The model does not know what an expression means."""


class RowError(Exception):
    """The expression raises on this row."""


def value_of(expression: Expression, row: Mapping[str, Any]) -> Any:
    """Return the value of an expression on a row, or raise `RowError`."""
    kind = expression.type
    if is_.is_decimal(kind) or is_.is_float32(kind):
        raise UnmodelledError(str(kind))
    if isinstance(expression, Ref):
        return row[expression.column]
    if isinstance(expression, Value):
        return expression.value
    if not isinstance(expression, Call):
        raise UnmodelledError(str(expression))
    if expression.function in _LAZY:
        return _LAZY[expression.function](expression, row)
    if expression.function not in _STRICT:
        raise UnmodelledError(expression.function)
    # one argument after the other, and none after a NULL; a divisor is the first
    arguments = expression.arguments
    values = []
    for argument in reversed(arguments) if expression.function in ("divide", "int_divide", "mod") else arguments:
        values.append(value_of(argument, row))
        if values[-1] is None:
            return None
    if expression.function in ("divide", "int_divide", "mod"):
        values.reverse()
    try:
        return _STRICT[expression.function](kind, *values)
    except OverflowError:  # a time after the year 9999
        raise UnmodelledError("times that Python does not have") from None


def _fitting(kind: pa.DataType, number: Any) -> Any:
    if is_.is_integer(kind) and not -(2 ** (kind.bit_width - 1)) <= number < 2 ** (kind.bit_width - 1):
        raise RowError(f"{number} is no {kind}")
    return number


def _whole(kind: pa.DataType, number: Any, round_it: Callable[[Any], int]) -> int:
    if isinstance(number, float) and not math.isfinite(number):
        raise RowError(f"{number} is no whole number")
    return int(_fitting(kind, round_it(number)))


def _divided(kind: pa.DataType, one: Any, other: Any, how: Callable[[Any, Any], Any]) -> Any:
    if other == 0:
        raise RowError("division by zero")
    return _fitting(kind, how(one, other))


def _quotient(one: int, other: int) -> int:
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)


def _remainder(one: Any, other: Any) -> Any:
    if isinstance(one, int):
        return one - _quotient(one, other) * other
    return math.nan if math.isinf(one) or math.isnan(one) or math.isnan(other) else math.fmod(one, other)


def _times(one: float, other: float) -> float:
    return one * other


def _order(value: Any) -> Any:
    """NaN equals NaN and is greater than every number; texts are in the order of their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[pa.DataType, Any, Any], bool]:
    return lambda kind, one, other: holds(_order(one), _order(other))


def _substring(kind: pa.DataType, text: str, start: int, length: int = 2**31 - 1) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)] if length > 0 else ""


def _as_time(kind: pa.DataType, value: Any) -> Any:
    if is_.is_date(kind):
        return value.date() if isinstance(value, datetime) else value
    zone = None if kind.tz is None else UTC
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=zone)


def _truncated(kind: pa.DataType, unit: str, time: datetime) -> datetime:
    fields: dict[str, Any] = {"microsecond": 0 if unit != "millisecond" else time.microsecond // 1000 * 1000}
    for n, (name, least) in enumerate((("second", 0), ("minute", 0), ("hour", 0), ("day", 1), ("month", 1))):
        if unit in ("minute", "hour", "day", "month", "year")[n:] or (unit in ("week", "quarter") and n < 3):
            fields[name] = least
    if unit == "week":
        return time.replace(**fields) - timedelta(days=time.weekday())
    if unit == "quarter":
        fields |= {"day": 1, "month": (time.month - 1) // 3 * 3 + 1}
    return time.replace(**fields)


def _pattern(pattern: str) -> str:
    """Return a pattern of Java's for Python: other line ends, and `$` before the last of them."""
    line_end = "(?:\r\n|[\n\r\u0085\u2028\u2029])"
    return pattern.replace(".", "[^\n\r\u0085\u2028\u2029]").replace("$", f"(?={line_end}?\\Z)")


def _like(kind: pa.DataType, text: str, pattern: str, escape: str = "\\") -> bool:
    parts = re.findall(f"{re.escape(escape)}?.", pattern, flags=re.S)
    wild = {"%": ".*", "_": "."}
    return re.fullmatch("".join(wild.get(part) or re.escape(part[-1]) for part in parts), text, flags=re.S) is not None


def _cast(kind: pa.DataType, value: Any) -> Any:
    if is_.is_temporal(kind):
        return _as_time(kind, value)
    if isinstance(value, bool):
        return str(value).lower() if is_.is_string(kind) else int(value)
    if isinstance(value, int) and not is_.is_floating(kind):
        return str(value) if is_.is_string(kind) else value != 0 if is_.is_boolean(kind) else _fitting(kind, value)
    if isinstance(value, float) and is_.is_integer(kind):
        return _whole(kind, value, math.trunc)
    if isinstance(value, str) and (is_.is_integer(kind) or is_.is_boolean(kind)):
        text = value.strip(SPACES)
        if is_.is_boolean(kind):
            if text.lower() in ("t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"):
                return text.lower() in ("t", "true", "y", "yes", "1")
        elif re.fullmatch("[+-]?[0-9]+", text):
            return _fitting(kind, int(text))
        raise RowError(f"{value!r} is no {kind}")
    if is_.is_float64(kind) and isinstance(value, int):
        return float(value)
    raise UnmodelledError(f"CAST AS {kind}")


def _widened(kind: pa.DataType, value: Any) -> Any:
    if is_.is_timestamp(kind):
        return _as_time(kind, value)
    return float(value) if is_.is_floating(kind) else value


def _ascii(change: Callable[[str], str]) -> Callable[[pa.DataType, str], str]:
    def changed(kind: pa.DataType, text: str) -> str:
        if not text.isascii():
            raise UnmodelledError("letters beyond ASCII")
        return change(text)

    return changed


_STRICT: dict[str, Callable[..., Any]] = {
    "add": lambda kind, a, b: _fitting(kind, a + b),
    "subtract": lambda kind, a, b: _fitting(kind, a - b),
    "multiply": lambda kind, a, b: _fitting(kind, _times(a, b)),
    "divide": lambda kind, a, b: _divided(kind, a, b, lambda x, y: x / y),
    "int_divide": lambda kind, a, b: _divided(kind, a, b, _quotient),
    "mod": lambda kind, a, b: _divided(kind, a, b, _remainder),
    "negate": lambda kind, a: _fitting(kind, -a),
    "abs": lambda kind, a: _fitting(kind, abs(a)),
    "not": lambda kind, a: not a,
    "eq": _compared(lambda a, b: bool(a == b)), "ne": _compared(lambda a, b: bool(a != b)),
    "lt": _compared(lambda a, b: bool(a < b)), "le": _compared(lambda a, b: bool(a <= b)),
    "gt": _compared(lambda a, b: bool(a > b)), "ge": _compared(lambda a, b: bool(a >= b)),
    "length": lambda kind, a: len(a),
    "instr": lambda kind, a, b: a.find(b) + 1,
    "substring": _substring,
    "replace": lambda kind, a, b, c: a.replace(b, c) if b else a,
    "startswith": lambda kind, a, b: a.startswith(b),
    "endswith": lambda kind, a, b: a.endswith(b),
    "contains": lambda kind, a, b: b in a,
    "trim": lambda kind, a: a.strip(" "),
    "ltrim": lambda kind, a: a.lstrip(" "), "rtrim": lambda kind, a: a.rstrip(" "),
    "upper": _ascii(str.upper), "lower": _ascii(str.lower),
    "cast": _cast, "widen": _widened, "like": _like, "date_trunc": _truncated,
    "rlike": lambda kind, a, b: re.search(_pattern(b), a) is not None,
    **{part: (lambda kind, a, part=part: getattr(a, part)) for part in ("year", "month", "day", "hour", "minute",
                                                                        "second")},
    "sqrt": lambda kind, a: math.sqrt(a) if a >= 0 else math.nan,
    "ln": lambda kind, a: None if a <= 0 else math.log(a),
    "floor": lambda kind, a: 0 if a != a else _whole(kind, a, math.floor),  # Java's (long) NaN is 0
    "ceil": lambda kind, a: 0 if a != a else _whole(kind, a, math.ceil),
}  # fmt: skip


def _junction(ends: bool) -> Callable[[Call, Mapping[str, Any]], Any]:
    def value(call: Call, row: Mapping[str, Any]) -> Any:
        one = value_of(call.arguments[0], row)
        if one is ends:
            return ends
        other = value_of(call.arguments[1], row)
        return ends if other is ends else None if one is None or other is None else not ends

    return value


def _case(call: Call, row: Mapping[str, Any]) -> Any:
    *branches, otherwise = call.arguments
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        if value_of(condition, row):
            return value_of(value, row)
    return value_of(otherwise, row)


def _in(call: Call, row: Mapping[str, Any]) -> Any:
    one, unknown = value_of(call.arguments[0], row), False
    if one is None:
        return None
    for argument in call.arguments[1:]:
        other = value_of(argument, row)
        if other is None:
            unknown = True
        elif _order(one) == _order(other):
            return True
    return None if unknown else False


def _extreme(choose: Callable[..., Any]) -> Callable[[Call, Mapping[str, Any]], Any]:
    def value(call: Call, row: Mapping[str, Any]) -> Any:
        known = [each for each in [value_of(part, row) for part in call.arguments] if each is not None]
        return choose(known, key=_order) if known else None

    return value


def _coalesce(call: Call, row: Mapping[str, Any]) -> Any:
    for argument in call.arguments:
        if (value := value_of(argument, row)) is not None:
            return value
    return None


def _concat(call: Call, row: Mapping[str, Any]) -> Any:
    values = [value_of(part, row) for part in call.arguments]
    return None if None in values else "".join(values)


def _same(call: Call, row: Mapping[str, Any]) -> bool:
    one, other = (value_of(part, row) for part in call.arguments)
    return one is other if one is None or other is None else bool(_order(one) == _order(other))


_LAZY: dict[str, Callable[[Call, Mapping[str, Any]], Any]] = {
    "and": _junction(False), "or": _junction(True), "case": _case, "in": _in, "coalesce": _coalesce,
    "greatest": _extreme(max), "least": _extreme(min), "concat": _concat, "same": _same,
    "is_null": lambda call, row: value_of(call.arguments[0], row) is None,
}  # fmt: skip
"""Functions that decide themselves which of their arguments they evaluate."""
