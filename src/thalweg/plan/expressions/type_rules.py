"""Which types may be combined in an expression, and with what result: Spark's ANSI mode over Arrow's types.

This is stricter than Spark in one point: text is combined only with text. Spark would cast it to the other type, and
fail on the first row for which that is impossible; here the query must have a CAST. (A text literal next to a time is
an exception: it is read as a time.)

>>> common(pa.int32(), pa.int64()), common(pa.int64(), pa.float32()), common(pa.string(), pa.int32())
(DataType(int64), DataType(double), None)
>>> common(pa.decimal128(4, 2), pa.int32()), arithmetic("multiply", pa.decimal128(4, 2), pa.decimal128(3, 1))
(Decimal128Type(decimal128(12, 2)), Decimal128Type(decimal128(8, 3)))

Reference: Spark SQL guide, "ANSI Compliance", type promotion and precedence; the precision of decimals is that of its
`DecimalPrecision` rule.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa

is_ = pa.types
MOST_DIGITS = 38
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_UNITS = ("s", "ms", "us", "ns")
_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""The number of digits of a whole number as a decimal, in Spark."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in expressions: without encodings, views, unsigned numbers and narrow decimals, which
    Spark lacks, and for which Arrow lacks functions.

    >>> plain_type(pa.decimal32(5, 2)), plain_type(pa.uint32()), plain_type(pa.decimal256(50, 2))
    (Decimal128Type(decimal128(5, 2)), DataType(int64), Decimal256Type(decimal256(50, 2)))
    """
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):  # which may not be hashable
        return kind
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if is_.is_large_string(kind) or kind == pa.string_view():
        return pa.string()
    if is_.is_large_binary(kind) or kind == pa.binary_view() or is_.is_fixed_size_binary(kind):
        return pa.binary()
    if is_.is_float16(kind):
        return pa.float32()
    if is_.is_date64(kind):
        return pa.date32()
    if is_.is_decimal(kind) and (digits := kind.precision - min(kind.scale, 0)) <= 2 * MOST_DIGITS:
        return (pa.decimal128 if digits <= MOST_DIGITS else pa.decimal256)(digits, max(kind.scale, 0))
    if is_.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if (is_.is_struct(kind) or is_.is_list(kind)) and not can_be_chosen(kind):
        inner = [kind.field(n).with_type(plain_type(kind.field(n).type)) for n in range(kind.num_fields)]
        return pa.struct(inner) if is_.is_struct(kind) else pa.list_(*inner)
    return kind


def finer(one: str, other: str) -> str:
    """Return the finer of two units of time."""
    return max(one, other, key=_UNITS.index)


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is a number: whole, decimal or floating."""
    return bool(is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind))


def has_order(kind: pa.DataType) -> bool:
    """Whether values of a type can be compared. Lists, intervals of months, and types of extensions cannot.

    >>> has_order(pa.duration("us")), has_order(pa.month_day_nano_interval()), has_order(pa.uuid())
    (True, False, False)
    """
    plain = is_number(kind) or is_.is_string(kind) or is_.is_binary(kind) or is_.is_null(kind)
    return bool(plain or (is_.is_primitive(kind) and not is_.is_interval(kind)))


def can_be_grouped(kind: pa.DataType) -> bool:
    """Whether rows can be grouped by values of a type."""
    return not (is_.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def can_be_chosen(kind: pa.DataType) -> bool:
    """Whether Arrow can choose among values of a type, as CASE does: not of unions, extensions, and runs in lists."""
    if is_.is_union(kind) or is_.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType):
        return False
    return all(can_be_chosen(kind.field(n).type) for n in range(kind.num_fields))


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds all values of a whole number type."""
    return kind if is_.is_decimal(kind) else pa.decimal128(_DIGITS[kind], 0)


def common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that can represent values of both types, or None if there is none."""
    if one == other or is_.is_null(other):
        return one
    if is_.is_null(one):
        return other
    if is_number(one) and is_number(other):
        return _number(one, other)
    if is_.is_timestamp(one) and is_.is_timestamp(other):
        if (one.tz is None) != (other.tz is None):
            return None
        return pa.timestamp(finer(one.unit, other.unit), one.tz)
    for a, b in ((one, other), (other, one)):
        if is_.is_timestamp(a) and is_.is_date(b):
            return a
    if is_.is_duration(one) and is_.is_duration(other):
        return pa.duration(finer(one.unit, other.unit))
    return None


def common_of(kinds: list[pa.DataType]) -> pa.DataType | None:
    """Return the common type of several types, or None if there is none."""

    def meet(one: pa.DataType | None, other: pa.DataType) -> pa.DataType | None:
        return None if one is None else common(one, other)

    found: pa.DataType | None = reduce(meet, kinds)
    return found


def arithmetic(function: str, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the result type for two numbers of one family (whole, decimal, floating), or None if it has more digits
    than a decimal can have."""
    if not is_.is_decimal(one):
        return one
    p1, s1, p2, s2 = one.precision, one.scale, other.precision, other.scale
    if function in ("add", "subtract"):
        scale = max(s1, s2)
        digits = max(p1 - s1, p2 - s2) + scale + 1
    elif function == "multiply":
        scale, digits = s1 + s2, p1 + p2 + 1
    else:
        return None
    return pa.decimal128(digits, scale) if digits <= MOST_DIGITS else None


def _number(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if is_.is_floating(one) or is_.is_floating(other):
        both = is_.is_floating(one) and is_.is_floating(other)
        return pa.float32() if both and pa.float64() not in (one, other) else pa.float64()
    if is_.is_decimal(one) or is_.is_decimal(other):
        a, b = as_decimal(one), as_decimal(other)
        scale = max(a.scale, b.scale)
        digits = max(a.precision - a.scale, b.precision - b.scale) + scale
        return pa.decimal128(digits, scale) if digits <= MOST_DIGITS else None
    return max(one, other, key=lambda kind: kind.bit_width)


def can_cast(have: pa.DataType, kind: pa.DataType) -> bool:
    """Whether CAST supports this conversion: only if the runtimes give the same results. (A text literal can also be
    cast to a time.)

    >>> can_cast(pa.string(), pa.float64()), can_cast(pa.float64(), pa.string()), can_cast(pa.string(), pa.date32())
    (True, False, False)
    """
    if have == kind or is_.is_null(have):
        return True
    if is_number(have) and is_number(kind):
        return True
    if is_.is_string(kind):
        return bool(is_.is_integer(have) or is_.is_boolean(have) or is_.is_date(have))
    if is_.is_string(have):
        return is_number(kind) or bool(is_.is_boolean(kind))
    if is_.is_timestamp(have) and is_.is_timestamp(kind):
        return (have.tz is None) == (kind.tz is None)
    if is_.is_timestamp(have) or is_.is_date(have):
        return bool(is_.is_timestamp(kind) or is_.is_date(kind))
    return bool(
        (is_.is_boolean(have) and is_.is_integer(kind)) or (is_.is_integer(have) and is_.is_boolean(kind))
    )  # fmt: skip


_NAMES = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.binary(): "BINARY", pa.date32(): "DATE",
    pa.null(): "VOID",
}  # fmt: skip


def sql_name(kind: pa.DataType) -> str:
    """Return the name of a type in Spark SQL.

    >>> sql_name(pa.timestamp("us")), sql_name(pa.timestamp("us", "UTC")), sql_name(pa.decimal128(4, 2))
    ('TIMESTAMP_NTZ', 'TIMESTAMP', 'DECIMAL(4, 2)')
    >>> sql_name(pa.list_(pa.struct([("x", pa.int32()), ("m", pa.map_(pa.string(), pa.date32()))])))
    'ARRAY<STRUCT<x: INT, m: MAP<STRING, DATE>>>'
    """
    if is_.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if is_.is_timestamp(kind):
        return "TIMESTAMP_NTZ" if kind.tz is None else "TIMESTAMP"
    if is_.is_duration(kind):
        return "INTERVAL DAY TO SECOND"
    if is_.is_time(kind):
        return "TIME"
    if isinstance(kind, pa.BaseExtensionType):  # which may not be hashable
        return str(kind).upper()
    if is_.is_map(kind):
        return f"MAP<{sql_name(kind.key_type)}, {sql_name(kind.item_type)}>"
    if is_.is_list(kind) or is_.is_large_list(kind):
        return f"ARRAY<{sql_name(kind.value_type)}>"
    if is_.is_struct(kind):
        if any(b"variant" in (field.metadata or {}) for field in kind):
            return "VARIANT"
        return f"STRUCT<{', '.join(f'{field.name}: {sql_name(field.type)}' for field in kind)}>"
    return _NAMES.get(kind, str(kind).upper())


def type_of(given: object) -> pa.DataType | None:
    """Return the type for a name, an Arrow type or a Spark type, or None if expressions do not support it.

    >>> type_of("bool"), type_of(pa.int32()), type_of(5)
    (DataType(bool), DataType(int32), None)
    """
    if hasattr(given, "simpleString"):  # a Spark type; Spark need not be installed
        given = (given() if isinstance(given, type) else given).simpleString()
    if isinstance(given, pa.DataType):
        given = sql_name(plain_type(given))
    return type_named("boolean" if given.lower() == "bool" else given) if isinstance(given, str) else None


def type_named(text: str) -> pa.DataType | None:
    """Return the Arrow type for the name of a Spark SQL type, or None if expressions do not support it.

    >>> type_named("decimal(4, 2)"), type_named("boolean"), type_named("string"), type_named("array<int>")
    (Decimal128Type(decimal128(4, 2)), DataType(bool), DataType(string), None)
    """
    import re

    word = re.sub(r"\s+", " ", text.strip().lower())
    if found := re.fullmatch(r"(?:decimal|dec|numeric)(?: ?\( ?(\d+) ?(?:, ?(\d+) ?)?\))?", word):
        digits, scale = int(found[1] or 10), int(found[2] or 0)
        return pa.decimal128(digits, scale) if 0 < digits <= MOST_DIGITS and scale <= digits else None
    return {
        "boolean": pa.bool_(), "tinyint": pa.int8(), "byte": pa.int8(), "smallint": pa.int16(), "short": pa.int16(),
        "int": pa.int32(), "integer": pa.int32(), "bigint": pa.int64(), "long": pa.int64(), "float": pa.float32(),
        "real": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
        "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ltz": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }.get(word)  # fmt: skip
