"""All types that columns of Spark can have, with values that are easily changed on the way: at both ends, null, and
what Python has no value for."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

NAN, LEAST = "double('NaN')", "double('4.9E-324')"
FIRST, LAST = "timestamp_micros(-9223372036854775808L)", "timestamp_micros(9223372036854775807L)"
TEXTS = ("''", "'x'", "concat('a', char(0), 'b')", "'\U0001f30a é ß'", "cast(X'FFFE41' as string)")
NUMBERS = (NAN, "-0.0D", "0.0D", "double('Infinity')", "double('-Infinity')", LEAST, "1.7976931348623157E308D")
TIMES = (
    "timestamp'0001-01-01 00:00:00Z'", "timestamp'9999-12-31 23:59:59.999999Z'", FIRST, LAST, "timestamp_micros(-1)",
    "timestamp'2024-03-10 02:30:00Z'",
)  # fmt: skip
LONGEST = "make_dt_interval(106751991, 4, 0, 54.775807)"
LAST_NTZ = f"(timestamp_ntz'1970-01-01 00:00:00' + {LONGEST})"
DAYS = (
    "date'0001-01-01'", "date'9999-12-31'", "date_from_unix_date(-2147483648)", "date_from_unix_date(2147483647)",
    "date_from_unix_date(-1)", "date_from_unix_date(-800000)",
)  # fmt: skip

TYPES: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128Y", "127Y", "0Y"),
    "SMALLINT": ("-32768S", "32767S", "0S"),
    "INT": ("-2147483648", "2147483647", "0"),
    "BIGINT": ("-9223372036854775808L", "9223372036854775807L", "0L"),
    "FLOAT": tuple(f"float({x})" for x in (*NUMBERS[:5], "'1.4E-45'", "'3.4028235E38'")),
    "DOUBLE": NUMBERS,
    "DECIMAL(1, 0)": ("-9BD", "9BD", "0BD"),
    "DECIMAL(18, 18)": ("-0.999999999999999999BD", "0.000000000000000001BD"),
    "DECIMAL(38, 0)": (f"-{'9' * 38}BD", f"{'9' * 38}BD", "cast(0 as decimal(38, 0))"),
    "STRING": TEXTS,
    "STRING COLLATE UTF8_LCASE": ("'Ab' collate UTF8_LCASE", "'aB' collate UTF8_LCASE"),
    "BINARY": ("X''", "X'00FF'"),
    "DATE": DAYS,
    "TIMESTAMP": TIMES,
    "TIMESTAMP_NTZ": (
        "timestamp_ntz'0001-01-01 00:00:00'", "timestamp_ntz'9999-12-31 23:59:59.999999'", LAST_NTZ,
        f"(timestamp_ntz'1970-01-01 00:00:00' - {LONGEST})", "timestamp_ntz'2024-03-10 02:30:00'",
    ),
    "TIME": ("time'00:00:00'", "time'23:59:59.999999'"),
    "INTERVAL DAY TO SECOND": (LONGEST, f"-{LONGEST}", "make_dt_interval(0)"),
    "INTERVAL YEAR TO MONTH": ("interval '178956970-7' year to month", "interval '-178956970-8' year to month"),
    "INTERVAL": ("make_interval(1, 2, 3, 4, 5, 6, 7.5)",),
    "VOID": ("null",),
    "VARIANT": ("""parse_json('{"a": [1, null]}')""", "parse_json('null')"),
    "GEOMETRY": ("st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')",),
    "ARRAY<DOUBLE>": (f"array({NAN}, -0.0D, null)", "cast(array() as array<double>)"),
    "ARRAY<STRING>": (f"array({', '.join(TEXTS)}, null)",),
    "ARRAY<TIMESTAMP>": (f"array({', '.join(TIMES)}, null)",),
    "ARRAY<DATE>": (f"array({', '.join(DAYS)}, null)",),
    "ARRAY<INTERVAL DAY TO SECOND>": (f"array({LONGEST}, null)",),
    "ARRAY<VOID>": ("array(null)",),
    "ARRAY<ARRAY<FLOAT>>": ("array(array(float('NaN'), null), null, array())",),
    "ARRAY<STRUCT>": (f"array(named_struct('x', {NAN}, 'y', if(rand() < 2, null, 1)), null)",),
    "ARRAY<MAP>": (f"array(map('k', {NAN}), null, map())",),
    "ARRAY<VARIANT>": ("array(parse_json('1'), null)",),
    "STRUCT of nullable fields": (
        f"named_struct('x', if(rand() < 2, {NAN}, null), 'y', if(rand() < 2, null, 'b'))",
    ),
    "STRUCT without nulls": (f"named_struct('x', 1, 'y', {TEXTS[-1]}, 't', {LAST})",),
    "STRUCT<STRUCT>": (
        f"named_struct('s', if(rand() < 2, named_struct('x', {NAN}, 'n', {LAST_NTZ}), null))",
        "named_struct('s', if(rand() < 2, null, named_struct('x', 0.0D, 'n', cast(null as timestamp_ntz))))",
    ),
    "STRUCT<ARRAY, MAP>": (f"named_struct('a', array(array({NAN})), 'm', map(1, array(-0.0D)))",),
    "STRUCT with names that differ by case": ("named_struct('x', 1, 'X', 2)",),
    "STRUCT with equal names": ("named_struct('x', 1, 'x', 2)",),
    "STRUCT<>": ("struct()",),
    "MAP<STRING, DOUBLE>": (f"map('k', {NAN}, {TEXTS[-1]}, null)", "cast(map() as map<string, double>)"),
    "MAP<DOUBLE, INT>": (f"map({NAN}, 1, 0.0D, 2)",),
    "MAP<ARRAY, INT>": (f"map(array({NAN}, null), 1, array(0.0D), 2)",),
    "MAP<STRUCT, ARRAY>": (f"map(named_struct('x', 1, 'y', 'a'), array(named_struct('b', {NAN})))",),
    "MAP<TIMESTAMP, MAP>": (f"map({LAST}, map({DAYS[3]}, {NAN}))",),
}  # fmt: skip
"""Expressions of values by type. Those with `rand()` only make a field nullable."""

COLUMNS = {name: f"c{n}" for n, name in enumerate(TYPES)}
"""The name of the column of a type."""
NO_ARROW = ("INTERVAL YEAR TO MONTH", "INTERVAL", "STRUCT with equal names")
"""Types that PySpark cannot send to Python."""
NO_PARQUET = ("INTERVAL", "STRUCT<>")
"""Types that Spark cannot store in Parquet files."""
ROWS = max(map(len, TYPES.values())) + 1
"""In the last row, all columns are null."""


def value(name: str) -> Column:
    """Return a column of values of a type, from the number `id` of the row."""
    return F.expr(f"get(array({', '.join((*TYPES[name], 'null'))}), cast(id as int))")
