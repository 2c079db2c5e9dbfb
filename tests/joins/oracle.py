"""What a join must give, by DuckDB over the finished data with the window condition in SQL."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa


def expected(tables: Mapping[str, pa.Table], on: str, windows: Mapping[str, int], time: str = "t") -> pa.Table:
    """Times are whole numbers, or timestamps of microseconds; windows are in the same unit."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for alias, table in tables.items():
        connection.register(alias, table)
    ticks = {}
    for alias, table in tables.items():
        column = f'{alias}."{time}"'
        ticks[alias] = column if pa.types.is_integer(table.schema.field(time).type) else f"epoch_us({column})"
    latest = f"greatest({', '.join(ticks.values())})" if len(ticks) > 1 else next(iter(ticks.values()))
    within = [f"{latest} - {ticks[alias]} <= {windows[alias]}" for alias in tables]
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
    """As a multiset: sorted, comparable whatever the types."""
    return sorted(map(repr, (tuple(row.values()) for row in table.to_pylist())))
