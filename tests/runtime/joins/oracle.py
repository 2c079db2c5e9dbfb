"""The expected results of a join: DuckDB over the finished data, with the window condition in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

TICKS = "ticks__"
CONFIG: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "memory_limit": "1GB"}
"""More than that is a question to be asked in another way: a test must fit beside others."""


def within_windows(ticks: Mapping[str, str], windows: Mapping[str, int]) -> list[str]:
    """That no row is older than the newest by more than its window, pair by pair: DuckDB then leaves out pairs while it
    joins two streams, instead of building all of their combinations first."""
    return [
        f"{ticks[newer]} <= {ticks[alias]} + {windows[alias]}"
        for alias in windows
        for newer in windows
        if newer != alias
    ]


def expected(tables: Mapping[str, pa.Table], on: str, windows: Mapping[str, int], time: str = "t") -> pa.Table:
    """Times are whole numbers, or timestamps of microseconds; windows are in the same unit."""
    connection = duckdb.connect(":memory:", config=CONFIG)
    for alias, table in tables.items():
        connection.register(alias, table)
    ticks = {}
    for alias, table in tables.items():
        column = f'{alias}."{time}"'
        ticks[alias] = column if pa.types.is_integer(table.schema.field(time).type) else f"epoch_us({column})"
    within = within_windows(ticks, {alias: windows[alias] for alias in tables})
    known = [f'{alias}."{time}" IS NOT NULL' for alias in tables]
    columns = [
        f'{alias}."{name}" AS "{alias}_{name}"' for alias, table in tables.items() for name in table.column_names
    ]
    times = ", ".join(f'{alias}."{time}"' for alias in tables)
    sql = (
        f"SELECT {', '.join(columns)}, greatest({times}) AS event_time FROM {', '.join(tables)} "
        f"WHERE ({on}) AND {' AND '.join(within + known)}"
    )
    return connection.sql(sql).to_arrow_table()


def rows(table: pa.Table) -> list[str]:
    """Return a multiset as a sorted list that can be compared for all types."""
    return sorted(map(repr, (tuple(row.values()) for row in table.to_pylist())))


def expected_ids(
    tables: Mapping[str, pa.Table], ticks: Mapping[str, Sequence[int | None]], on: str, windows: Mapping[str, int]
) -> list[tuple[int, ...]]:
    """The row numbers that make a result, one per stream, and its largest time; sorted. DuckDB sees the columns of `on`
    and the times in ticks, all of one unit; so payloads may be of types it does not have. What has no window is a
    table, whose rows have no time."""
    connection = duckdb.connect(":memory:", config=CONFIG)
    for alias, table in tables.items():
        named = [name for name in table.column_names if f"{alias}.{name}" in on]
        columns = {name: _told(table[name].combine_chunks()) for name in named}
        columns |= {"id__": pa.array(range(table.num_rows), pa.int64()), TICKS: pa.array(ticks[alias], pa.int64())}
        connection.register(alias, pa.table(columns))
    latest = f"greatest({', '.join(f'{alias}.{TICKS}' for alias in windows)})"
    times = {alias: f"{alias}.{TICKS}" for alias in windows}
    within = [*(f"{time} IS NOT NULL" for time in times.values()), *within_windows(times, windows)]
    ids = ", ".join(f"{alias}.id__" for alias in tables)
    sql = f"SELECT {ids}, {latest} FROM {', '.join(tables)} WHERE ({on}) AND {' AND '.join(within)}"
    found: list[tuple[int, ...]] = connection.execute(sql).fetchall()
    connection.close()
    return sorted(found)


def _told(array: pa.Array) -> pa.Array:
    """Convert to a type that DuckDB has, with the same values."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return array.cast(kind.value_type)
    if pa.types.is_decimal256(kind):
        return array.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_date64(kind):
        return array.cast(pa.date32())
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    return array
