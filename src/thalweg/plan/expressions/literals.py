"""Literals: the typed value of what is written in a query, or passed for a `:parameter`.

>>> value_of(5), value_of("x").type, value_of(2**40).type
(Value(value=5, type=DataType(int32)), DataType(string), DataType(int64))
>>> number("0.25").type, number("25e-2").type
(Decimal128Type(decimal128(2, 2)), DataType(double))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa

from thalweg.plan.expressions.expression import Scalar, Value
from thalweg.plan.expressions.type_rules import sql_name

_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_LETTERS = 1000
"""The maximum length of a number as it is written. No number that is needed is longer, even with zeros."""


def is_number_text(text: str) -> bool:
    """Whether a text is a number, of any size.

    >>> is_number_text("1e5"), is_number_text("1e"), is_number_text("\u00b2")
    (True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def number(text: str) -> Value | None:
    """Return a number as Spark reads it: 0.2 is a decimal, 2e-1 is a double. Return None if the text is not a number or
    if Spark cannot represent it."""
    if not is_number_text(text) or len(text) > _MOST_LETTERS:
        return None
    if "e" in text.lower():
        return Value(float(text), pa.float64()) if math.isfinite(float(text)) else None
    return _whole(int(text)) if text.isdigit() else _decimal(Decimal(text))


def is_whole_text(text: str) -> bool:
    """Whether a text contains no half of a surrogate pair, which is not a character: neither Arrow nor Spark can
    represent it."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def value_of(given: object) -> Value | None:
    """Return the literal of a Python value, or None if there is no such literal."""
    if isinstance(given, np.generic) and not isinstance(given, np.datetime64 | np.timedelta64):
        given = given.item()
    if given is None:
        return Value(None, pa.null())
    if isinstance(given, bool):
        return Value(given, pa.bool_())
    if isinstance(given, int):
        return _whole(given)
    if isinstance(given, float):
        return Value(given, pa.float64())
    if isinstance(given, Decimal):
        return _decimal(given)
    if isinstance(given, str):
        return Value(given, pa.string()) if is_whole_text(given) else None
    if isinstance(given, datetime):
        if given.tzinfo is None:
            return Value(given, pa.timestamp("us"))
        try:
            return Value(given.astimezone(UTC), pa.timestamp("us", "UTC"))
        except OverflowError:  # in UTC it is before the year 1 or after 9999
            return None
    if isinstance(given, date):
        return Value(given, pa.date32())
    if isinstance(given, timedelta):
        fits = abs(given // timedelta(microseconds=1)) < 2**63
        return Value(given, pa.duration("us")) if fits else None
    return None


def time_of(text: str, kind: pa.DataType, refuse: Callable[[str], object]) -> Value:
    """Return a text as a time or date. A time without a zone is in UTC."""
    made: Scalar = None
    zoneless = False
    try:
        if pa.types.is_date(kind):
            made = date.fromisoformat(text.strip())
        else:
            made = datetime.fromisoformat(text.strip())
            zone = kind.tz is not None
            zoneless = made.tzinfo is not None and not zone
            if made.tzinfo is not None:
                made = made.astimezone(UTC)
            made = made.replace(tzinfo=UTC if zone else None)
            if not pa.types.is_timestamp(kind) or kind.unit != "us":
                kind = pa.timestamp("us", kind.tz)
    except (ValueError, OverflowError):
        made = None
    if made is None:
        way = "'2026-01-31'" if pa.types.is_date(kind) else "'2026-01-31 12:30:00'"
        refuse(f"{text!r} is not a {sql_name(kind)} in the years 1 to 9999; write it as {way}")
    if zoneless:
        refuse(f"{text!r} has a time zone, but is compared with a TIMESTAMP_NTZ, which has none; remove the time zone")
    return Value(made, kind)


def _whole(value: int) -> Value | None:
    if -(2**31) <= value < 2**31:
        return Value(value, pa.int32())
    if -(2**63) <= value < 2**63:
        return Value(value, pa.int64())
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Value | None:
    if not value.is_finite():
        return None
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    count = max(len(digits) + max(exponent, 0), scale)
    return Value(value, pa.decimal128(count, scale)) if count <= 38 else None
