"""Small streams with nasty values, and the same rows in DuckDB."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

import thalweg as tw

START = datetime(2026, 1, 1)


def at(*seconds: int) -> pa.Array:
    """Times after the start."""
    return pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us"))


TCP = pa.table(
    {
        "ts": at(0, 10, 20, 61, 62, 130, 190, 200),
        "size": pa.array([40, 1500, None, 7, 40, -3, 0, 1500], pa.int32()),
        "host": ["ann", "bob", None, "Ann", "b%b", "", "ann", "eve"],
        "ratio": [0.5, float("nan"), None, -1.25, 3.0, 0.0, 2.5, 1e10],
        "isRobot": [True, False, None, True, False, True, None, False],
        "big": pa.array([1, 2**40, None, -5, 8, 0, 3, 9], pa.int64()),
        "price": pa.array(["1.50", "2.25", None, "0.00", "7.10", "-3.00", "9.99", "1.50"]).cast(pa.decimal128(10, 2)),
        "day": pa.array([date(2026, 1, d) for d in (1, 1, 2, 2, 3, 3, 31, 1)], pa.date32()),
    }
)  # fmt: skip
UDP = pa.table(
    {"ts": at(5, 15, 25, 70, 140), "size": pa.array([40, 7, 1500, 40, 0], pa.int32()), "host": list("abcde")}
)
HOSTS = pa.table({"host": ["ann", "bob", "ann"], "kind": ["person", "robot", "double"]})


def starts_with_a(text: str | None) -> bool | None:
    """A function of the user's."""
    return None if text is None else text[:1] == "a"


def small_session() -> Any:
    """Of this process, with all of them."""
    s = tw.session()
    s.stream("tcp", TCP, time="ts")
    s.stream("udp", UDP, time="ts")
    s.table("hosts", HOSTS)
    s.function("probe", starts_with_a, returns="boolean")
    return s


def oracle() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB that has the same rows."""
    found = duckdb.connect()
    found.execute("SET TimeZone = 'UTC'")
    for name, table in (("tcp", TCP), ("udp", UDP), ("hosts", HOSTS)):
        found.register(name, table)
    special: Any = "special"  # its types allow only an enum
    found.create_function("probe", starts_with_a, ["VARCHAR"], "BOOLEAN", null_handling=special)
    return found


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """As a multiset that can be compared: sorted by how they look, NaN as a word, floats to nine digits."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return "nan" if value != value else float(f"{value:.9g}")
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
